//! Files that redis-server has written, and files for it.

use super::{Directory, Keeper, Kept, ask, await_rewrite, is_checked};

/// Changes that both servers know, with the last one of each round.
fn write(kept: &Kept, round: usize) {
    let mut client = kept.client();
    for line in [
        "SET a {} EX 1000",
        "SADD s x{} y z",
        "SELECT 5",
        "RPUSH l {}",
        "HSET h f{} v",
        "ZADD z {} m",
        "XADD x * f {}",
        "XADD y MAXLEN ~ 1 LIMIT 5 * f {}",
        "EVAL 'return redis.call([[RESTORE]], KEYS[2], 0, redis.call([[DUMP]], KEYS[1]), [[REPLACE]])' 2 h r",
        "SELECT 0",
        "MULTI",
        "INCR n",
        "APPEND t {}",
        "EXEC",
        "EVAL 'redis.call([[INCR]], KEYS[1]) return redis.call([[INCR]], KEYS[1])' 1 e",
    ] {
        let reply = ask(&mut client, &line.replace("{}", &round.to_string()));
        assert!(!reply.starts_with('-'), "{line}: {reply}");
    }
}

#[test]
fn both_servers_go_on_with_the_file_of_the_other() {
    go_on_in_turns(Keeper::Redis);
}

#[test]
fn valkey_and_this_server_go_on_with_the_file_of_the_other() {
    go_on_in_turns(Keeper::Valkey);
}

fn go_on_in_turns(other: Keeper) {
    for options in [&[][..], &["--aof-use-rdb-preamble", "no"], &["--aof-timestamp-enabled", "yes"]] {
        let directory = Directory::new();
        let mut digest = None;
        for round in 0..6 {
            let keeper = if round % 2 == 0 { Keeper::Ours } else { other };
            let Some(kept) = Kept::of(keeper, &directory, options) else { return };
            let mut client = kept.client();
            if let Some(before) = digest {
                assert_eq!(
                    ask(&mut client, "DEBUG DIGEST"),
                    before,
                    "{keeper:?} in round {round}, {options:?}"
                );
            }
            write(&kept, round);
            if round % 3 == 1 {
                ask(&mut client, "BGREWRITEAOF");
                await_rewrite(&mut client);
                write(&kept, round + 10);
            }
            digest = Some(ask(&mut client, "DEBUG DIGEST"));
            kept.shut_down();
            // Valkey has a format of its own for saves, which redis-check-aof does not know.
            if other == Keeper::Redis {
                assert_ne!(is_checked(&directory), Some(false), "{keeper:?} in round {round}");
            }
        }
    }
}

/// The lines of the log about the file, without what differs from run to run.
fn told(log: &[String]) -> Vec<String> {
    let is_told = |text: &str| {
        ["AOF", "append only", "append-only", "DB loaded", "fsync"].iter().any(|word| text.contains(word))
    };
    let texts = log.iter().filter_map(|line| {
        let text = line.split_once(" * ").or_else(|| line.split_once(" # "))?.1;
        let text = text.split(": 0.").next().unwrap_or(text);
        let text = text.split(" by pid ").next().unwrap_or(text);
        let text: String = match text.find("rewriteaof-bg-") {
            Some(at) => text[..at].to_owned() + text[at..].trim_start_matches(|byte: char| byte != ' '),
            None => text.to_owned(),
        };
        (is_told(&text) && !text.contains("CoW") && !text.contains("Removing")).then_some(text)
    });
    texts.collect()
}

#[test]
fn both_servers_tell_the_same() {
    let mut logs = Vec::new();
    for keeper in [Keeper::Ours, Keeper::Redis] {
        let directory = Directory::new();
        let mut log = Vec::new();
        for _ in 0..2 {
            let Some(kept) = Kept::of(keeper, &directory, &[]) else { return };
            let mut client = kept.client();
            write(&kept, 1);
            ask(&mut client, "BGREWRITEAOF");
            await_rewrite(&mut client);
            ask(&mut client, "CONFIG SET appendonly no");
            ask(&mut client, "CONFIG SET appendonly yes");
            await_rewrite(&mut client);
            log.extend(told(&kept.shut_down()));
        }
        logs.push(log);
    }
    assert_eq!(logs[0], logs[1]);
}

//! A restart has the data: with each base, after a change of the parameter, and with a file of a version before 7.0.

use super::{Directory, Keeper, Kept, NotStarted, ask, await_rewrite, info, is_checked, request};
use lockwheel::{Config, Server};
use lockwheel_tests::client::Client;
use lockwheel_tests::program;
use std::fs;
use std::time::{Duration, Instant};

/// Requests whose effects differ from what they say, and changes of all types of values.
const REQUESTS: &[&str] = &[
    "SET a 1 EX 1000",
    "INCRBYFLOAT f 1.5",
    "SADD s x y z",
    "SPOP s",
    "SELECT 3",
    "RPUSH l a b c",
    "LPOP l",
    "ZADD z 1 a 2 b",
    "HSET h f v g w",
    "HINCRBYFLOAT h n 2.5",
    "XADD x * f v",
    "XGROUP CREATE x g $ MKSTREAM",
    "XADD x * f w",
    "XREADGROUP GROUP g c STREAMS x >",
    "SETBIT b 7 1",
    "PFADD p a b c",
    "COPY a a2",
    "MULTI",
    "SET m 1",
    "SELECT 0",
    "SET n 2",
    "EXEC",
    "EVAL 'redis.call([[SET]], [[e1]], 1) redis.call([[SET]], [[e2]], 2)' 0",
    "GETEX a PX 500000",
    "EXPIRE n 1000",
    "FUNCTION LOAD '#!lua name=lib\nredis.register_function([[fn]], function() return 1 end)'",
    "LOCK.ACQUIRE lock owner EX 1000",
    "SEM.SET sem 3",
];

pub(super) fn run_all(kept: &Kept) {
    let mut client = kept.client();
    for line in REQUESTS {
        let reply = ask(&mut client, line);
        assert!(!reply.starts_with('-') || line.starts_with("SEM"), "{line}: {reply}");
    }
}

/// Returns the digest of the data, and the names of the libraries.
pub(super) fn state(kept: &Kept) -> (String, String) {
    let mut client = kept.client();
    (ask(&mut client, "DEBUG DIGEST"), ask(&mut client, "FUNCTION LIST"))
}

#[test]
fn a_restart_has_the_data() {
    for options in [&[][..], &["--aof-use-rdb-preamble", "no"], &["--aof-timestamp-enabled", "yes"]] {
        let directory = Directory::new();
        let kept = Kept::ours(&directory, options);
        run_all(&kept);
        let before = state(&kept);
        kept.kill();
        let kept = Kept::ours(&directory, options);
        assert_eq!(state(&kept), before, "{options:?}");
        let mut client = kept.client();
        assert_eq!(ask(&mut client, "BGREWRITEAOF"), "+Background append only file rewriting started");
        await_rewrite(&mut client);
        assert_eq!(info(&mut client, "aof_last_bgrewrite_status"), "ok");
        assert_eq!(ask(&mut client, "SET after 1"), "+OK");
        let before = state(&kept);
        kept.kill();
        assert_ne!(is_checked(&directory), Some(false), "{options:?}");
        let kept = Kept::ours(&directory, options);
        assert_eq!(state(&kept), before, "{options:?}");
    }
}

#[test]
fn tokens_go_on_after_a_restart() {
    let directory = Directory::new();
    let mut last = 0;
    for round in 0..4 {
        let kept = Kept::ours(&directory, &[]);
        let mut client = kept.client();
        for n in 0..3 {
            let grant = client.line(&format!("LOCK.ACQUIRE l{round}-{n} owner EX 1000"));
            let elements = grant.into_elements().expect("a map");
            let token = elements[1].as_int().expect("a token");
            assert!(token > last, "{token} after {last}");
            last = token;
        }
        if round == 1 {
            ask(&mut client, "BGREWRITEAOF");
            await_rewrite(&mut client);
        }
        kept.kill();
    }
}

#[test]
fn the_file_is_switched_on_and_off_while_clients_write() {
    let directory = Directory::new();
    let kept = Kept::ours(&directory, &[]);
    let (mut writer, mut client) = (kept.client(), kept.client());
    for round in 0..5 {
        for n in 0..50 {
            assert_eq!(ask(&mut writer, &format!("SET off-{round}-{n} 1")), "+OK");
            if n == 10 {
                assert_eq!(ask(&mut client, "CONFIG SET appendonly no"), "+OK");
                assert_eq!(info(&mut client, "aof_enabled"), "0");
            }
            if n == 30 {
                assert_eq!(ask(&mut client, "CONFIG SET appendonly yes"), "+OK");
                assert_eq!(info(&mut client, "aof_enabled"), "1");
            }
        }
        await_rewrite(&mut client);
    }
    let before = ask(&mut client, "DEBUG DIGEST");
    kept.kill();
    assert_ne!(is_checked(&directory), Some(false));
    let kept = Kept::ours(&directory, &[]);
    let mut client = kept.client();
    assert_eq!(ask(&mut client, "DEBUG DIGEST"), before);
    assert_eq!(ask(&mut client, "DEBUG LOADAOF"), "+OK");
    assert_eq!(ask(&mut client, "DEBUG DIGEST"), before);
}

#[test]
fn files_can_be_read_again_while_the_file_is_off() {
    for keeper in [Keeper::Ours, Keeper::Redis] {
        let directory = Directory::new();
        let Some(kept) = Kept::of(keeper, &directory, &["--appendonly", "no"]) else { return };
        let mut client = kept.client();
        assert_eq!(ask(&mut client, "SET a 1"), "+OK");
        assert_eq!(ask(&mut client, "BGREWRITEAOF"), "+Background append only file rewriting started");
        await_rewrite(&mut client);
        assert_eq!(ask(&mut client, "SET b 1"), "+OK");
        assert_eq!(ask(&mut client, "DEBUG LOADAOF"), "+OK");
        assert_eq!(ask(&mut client, "KEYS *"), "[\"a\"]", "{keeper:?}");
        assert_eq!(info(&mut client, "aof_enabled"), "0", "{keeper:?}");
    }
}

#[test]
fn a_flush_may_begin_with_a_pause() {
    const PAUSE: Duration = Duration::from_millis(50);
    for keeper in [Keeper::Ours, Keeper::Redis] {
        let directory = Directory::new();
        let Some(kept) = Kept::of(keeper, &directory, &[]) else { return };
        let mut client = kept.client();
        assert_eq!(ask(&mut client, &format!("DEBUG AOF-FLUSH-SLEEP {}", PAUSE.as_micros())), "+OK");
        let began = Instant::now();
        assert_eq!(ask(&mut client, "SET a 1"), "+OK");
        assert!(began.elapsed() >= PAUSE, "{keeper:?}: {:?}", began.elapsed());
        assert_eq!(ask(&mut client, "DEBUG AOF-FLUSH-SLEEP none"), "+OK");
    }
}

#[test]
fn a_file_of_an_older_version_is_taken_over() {
    let directory = Directory::new();
    let text = [request("SELECT 2"), request("SET a 1"), request("RPUSH l x y")].concat();
    fs::write(directory.0.join("appendonly.aof"), text).expect("it can be written");
    let kept = Kept::ours(&directory, &[]);
    let line = "Successfully migrated an old-style AOF configuration (appendonly.aof) into the AOF directory \
                (appendonlydir).";
    assert!(kept.log.iter().any(|log| log.ends_with(line)), "{:#?}", kept.log);
    let mut client = kept.client();
    ask(&mut client, "SELECT 2");
    assert_eq!(ask(&mut client, "GET a"), "\"1\"");
    assert_eq!(ask(&mut client, "LLEN l"), ":2");
    kept.shut_down();
    let manifest = directory.read("appendonly.aof.manifest");
    let expected = "file appendonly.aof seq 1 type b\nfile appendonly.aof.1.incr.aof seq 1 type i\n";
    assert_eq!(String::from_utf8_lossy(&manifest), expected);
}

#[test]
fn with_the_file_on_the_saved_file_is_not_read() {
    let directory = Directory::new();
    let kept = Kept::ours(&directory, &[]);
    assert_eq!(ask(&mut kept.client(), "SET a saved"), "+OK");
    assert_eq!(ask(&mut kept.client(), "SAVE"), "+OK");
    assert_eq!(ask(&mut kept.client(), "SET a appended"), "+OK");
    kept.kill();
    let kept = Kept::ours(&directory, &[]);
    assert_eq!(ask(&mut kept.client(), "GET a"), "\"appended\"");
}

#[test]
fn a_key_that_is_due_lives_until_the_file_has_been_read() {
    let directory = Directory::new();
    let text = [request("SET k v PXAT 1000"), request("SET gone v PXAT 1000"), request("PERSIST k")].concat();
    directory.write("appendonly.aof.1.incr.aof", text);
    directory.write("appendonly.aof.manifest", "file appendonly.aof.1.incr.aof seq 1 type i\n");
    let kept = Kept::ours(&directory, &[]);
    assert_eq!(ask(&mut kept.client(), "GET k"), "\"v\"");
    assert_eq!(ask(&mut kept.client(), "EXISTS gone"), ":0");
}

#[test]
fn embedded_servers_keep_no_file() {
    let directory = Directory::new();
    let mut config = Config::default();
    config.dir = directory.0.to_string_lossy().into_owned();
    config.append_only.enabled = true;
    let server = Server::builder().config(config).port(0).start().expect("loopback has a free port");
    let mut client = Client::connect(server.addr());
    assert_eq!(ask(&mut client, "SET a 1"), "+OK");
    assert_eq!(ask(&mut client, "BGREWRITEAOF"), "+Background append only file rewriting started");
    assert_eq!(ask(&mut client, "CONFIG SET appendonly no"), "+OK");
    assert_eq!(ask(&mut client, "CONFIG SET appendonly yes"), "+OK");
    assert_eq!(info(&mut client, "aof_enabled"), "0");
    assert_eq!(fs::read_dir(&directory.0).expect("it is there").count(), 0);
}

#[test]
fn a_directory_that_cannot_be_written_ends_the_start() {
    let directory = Directory::new();
    fs::write(directory.0.join("appendonlydir"), "a file").expect("it can be written");
    let started = Kept::try_start(&program::path(), &directory, &[]);
    let Err(NotStarted { log }) = started else { panic!("it has started") };
    let line = "Can't open or create append-only dir appendonlydir: ";
    assert!(log.iter().any(|log| log.contains(line)), "{log:#?}");
}

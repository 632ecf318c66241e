//! Random lines of clients in all modes on few keys.

use crate::tracking::frames::ServerPair;
use lockwheel_tests::client::Protocol;
use lockwheel_tests::differential::{rounds, seed};
use lockwheel_tests::rng::Rng;

const KEYS: &[&str] = &["a", "a:1", "a:2", "b", "b:1", "c"];
const PREFIXES: &[&str] = &["a", "a:", "b", "b:1", "", "x"];

const READS: &[&str] = &[
    "GET 1",
    "MGET 3",
    "EXISTS 2",
    "HGETALL 1",
    "LRANGE 1 0 -1",
    "SUNION 2",
    "STRLEN 1",
    "HLEN 1",
    "TYPE 1",
];
const WRITES: &[&str] = &[
    "SET 1 v",
    "SET 1 w",
    "MSET 1 v",
    "DEL 2",
    "APPEND 1 x",
    "EXPIRE 1 1000",
    "PERSIST 1",
    "RENAME 2",
    "COPY 2 REPLACE",
    "LPUSH 1 x",
    "LPOP 1",
    "HSET 1 f v",
    "HDEL 1 f",
    "SADD 1 x",
    "SREM 1 x",
    "SUNIONSTORE 3",
    "UNLINK 3",
    "GETDEL 1",
    "INCR 1",
    "SETRANGE 1 0 x",
    "ZADD 1 1 m",
    "ZREM 1 m",
    "XADD 1 1-1 f v",
    "GETEX 1 EX 100",
    "SETNX 1 v",
];
const SCRIPTS: &[&str] = &[
    "EVAL \"return redis.pcall('get', KEYS[1])\" 2",
    "EVAL \"return redis.pcall('set', KEYS[2], 'x')\" 2",
    "EVAL \"redis.pcall('get', KEYS[2]) redis.pcall('del', KEYS[1]) return redis.pcall('exists', KEYS[1])\" 2",
    "EVAL_RO \"return redis.pcall('exists', KEYS[1])\" 2",
    "EVAL_RO \"return 1\" 2",
];

/// A command with random keys in place of the number behind its name.
fn with_keys(rng: &mut Rng, template: &str) -> String {
    let mut words: Vec<String> = template.split(' ').map(str::to_owned).collect();
    let keys: usize = words[1].parse().expect("a number of keys");
    words[1] = (0..keys).map(|_| *rng.pick(KEYS)).collect::<Vec<_>>().join(" ");
    words.join(" ")
}

fn tracking(rng: &mut Rng, clients: usize) -> String {
    let mut line = String::from("CLIENT TRACKING on");
    // The line goes to the last client and changes nothing: redis-server writes its messages into the middle of its
    // replies.
    if rng.chance(25) {
        line.push_str(&format!(" REDIRECT ${}", clients - 1));
    }
    if rng.chance(40) {
        line.push_str(" BCAST");
        // More prefixes could overlap, and redis-server answers some of those with an error and with OK.
        if rng.chance(70) {
            line.push_str(&format!(" PREFIX \"{}\"", rng.pick(PREFIXES)));
        }
    }
    for option in ["OPTIN", "OPTOUT", "NOLOOP"] {
        if rng.chance(20) {
            line.push_str(&format!(" {option}"));
        }
    }
    line
}

fn line(rng: &mut Rng, clients: usize) -> String {
    match rng.below(100) {
        0..30 => {
            let read = *rng.pick(READS);
            with_keys(rng, read)
        }
        30..65 => {
            let write = *rng.pick(WRITES);
            with_keys(rng, write)
        }
        65..72 => {
            let script = *rng.pick(SCRIPTS);
            format!("{script} {} {}", rng.pick(KEYS), rng.pick(KEYS))
        }
        72..80 => tracking(rng, clients),
        80..83 => "CLIENT TRACKING off".to_owned(),
        83..87 => format!("CLIENT CACHING {}", rng.pick(&["yes", "no"])),
        87..89 => rng.pick(&["CLIENT TRACKINGINFO", "CLIENT GETREDIR"]).to_string(),
        89..92 => rng.pick(&["MULTI", "DISCARD"]).to_string(),
        92..95 => "EXEC".to_owned(),
        95..97 => format!("SELECT {}", rng.below(2)),
        97 => rng.pick(&["FLUSHDB", "FLUSHALL", "SWAPDB 0 1"]).to_string(),
        98 => "SUBSCRIBE __redis__:invalidate".to_owned(),
        _ => rng.pick(&["UNSUBSCRIBE", "FLUSHALL"]).to_string(),
    }
}

#[test]
fn random_sequences_give_the_invalidations_of_redis() {
    for protocols in [
        [Protocol::Resp3, Protocol::Resp3, Protocol::Resp3, Protocol::Resp3],
        [Protocol::Resp2, Protocol::Resp2, Protocol::Resp2, Protocol::Resp2],
        // The opposite case is excluded: redis-server writes a null of RESP3 to a client in RESP2.
        [Protocol::Resp2, Protocol::Resp3, Protocol::Resp2, Protocol::Resp3],
    ] {
        let Some(mut servers) = ServerPair::start(&protocols) else { return };
        let mut rng = Rng::new(seed());
        let mut subscribed = [false; 4];
        for _ in 0..2000 * rounds() {
            let client = rng.below(protocols.len());
            let line = line(&mut rng, protocols.len());
            if client == protocols.len() - 1 && !line.contains("SUBSCRIBE") {
                continue;
            }
            let is_queueing = servers.is_queueing(client);
            let is_left_out = match line.as_str() {
                "MULTI" => is_queueing || subscribed[client],
                line => {
                    is_queueing
                        && ["SUBSCRIBE", "UNSUBSCRIBE", "CLIENT"].iter().any(|word| line.starts_with(word))
                }
            };
            if is_left_out {
                continue;
            }
            match line.as_str() {
                "UNSUBSCRIBE" => subscribed[client] = false,
                line if line.starts_with("SUBSCRIBE") => subscribed[client] = true,
                _ => {}
            }
            servers.same(client, &line);
        }
    }
}

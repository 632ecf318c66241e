//! Every command that Redis has too, in random sequences, against the real servers.
//!
//! `LOCKWHEEL_SEED=n` replays a failure, `LOCKWHEEL_ROUNDS=n` makes the runs n times as long.

use lockwheel_tests::client::Protocol;
use lockwheel_tests::differential::{Commands, Family, Measure, compare_messages, differ};
use lockwheel_tests::redis_server::Kind;

/// Compares with redis-server in each protocol, and with valkey-server.
const USUAL: Measure = Measure { redis: 150, valkey: 50 };

#[track_caller]
fn group(name: &str) {
    let commands = Commands::all();
    differ(&commands, &Family::of_group(&commands, name), USUAL);
}

#[test]
fn strings() {
    group("string");
}

#[test]
fn bitmaps() {
    group("bitmap");
}

#[test]
fn hyperloglogs() {
    group("hyperloglog");
}

#[test]
fn keys() {
    group("generic");
}

#[test]
fn hashes() {
    group("hash");
}

/// The deadlines of fields, and other commands that only Valkey has.
#[test]
fn newer() {
    let commands = Commands::all();
    differ(&commands, &Family::newer(&commands), Measure { redis: 0, valkey: 300 });
}

#[test]
fn lists() {
    group("list");
}

#[test]
fn sets() {
    group("set");
}

#[test]
fn sorted_sets() {
    group("sorted-set");
}

#[test]
fn streams() {
    group("stream");
}

#[test]
fn geo() {
    group("geo");
}

#[test]
fn server() {
    group("server");
}

#[test]
fn connection() {
    group("connection");
}

#[test]
fn messages() {
    group("pubsub");
    let runs = [
        (Kind::Redis, Protocol::Resp2),
        (Kind::Redis, Protocol::Resp3),
        (Kind::Valkey, Protocol::Resp2),
        (Kind::Valkey, Protocol::Resp3),
    ];
    for (kind, protocol) in runs {
        compare_messages(kind, protocol, 1, 1500);
    }
}

#[test]
fn scripting() {
    group("scripting");
}

#[test]
fn transactions() {
    group("transactions");
}

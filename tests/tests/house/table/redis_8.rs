//! The additions of `--compat 8.8`: commands and options of Redis 8.4 and 8.8, according to their public documentation.
//! No server of these versions is at hand, so there is no comparison.

use crate::table::disagreement;
use lockwheel::Time;
use lockwheel_engine::spec::Version;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;

/// The commands that only this version has.
const ADDED: [&str; 3] = ["delex", "digest", "increx"];

const HELLO_WORLD: &str = "b6acb9d84a38ff74";

/// Sends each line to one server of version 8.8, in this protocol, and compares the replies.
#[track_caller]
fn check(protocol: u8, lines: &[(&str, &str)]) {
    let server = ours::builder().compat(Version::V8_8).time(Time::Manual).start().expect("a free port");
    let mut client = Client::connect(server.addr());
    client.line(&format!("HELLO {protocol}"));
    for (line, expected) in lines {
        assert_eq!(client.line(line).to_string(), *expected, "{line}");
    }
}

#[test]
fn only_version_8_8_has_the_commands_of_redis_8() {
    let (newest, with_8) = (ours::commands(), ours::commands_of(Version::V8_8));
    let names = |table: &lockwheel_engine::spec::CommandTable| -> Vec<String> {
        table.iter_all().map(|command| command.name.clone()).collect()
    };
    let (newest, with_8) = (names(&newest), names(&with_8));
    let mut added: Vec<_> = with_8.iter().filter(|name| !newest.contains(name)).collect();
    added.sort();
    assert_eq!(added, ADDED.each_ref());
    assert!(newest.iter().all(|name| with_8.contains(name)));
    for command in ours::commands_of(Version::V8_8).iter_all() {
        if ADDED.contains(&&*command.name) || command.name == "set" {
            assert_eq!(disagreement(1, command.spec.arity, command.spec.syntax), None, "{}", command.name);
        }
    }
}

#[test]
fn set_compares_by_values_and_digests() {
    let wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    check(
        2,
        &[
            ("SET k v IFNE w", "+OK"),
            ("SET k w IFNE v", "(nil)"),
            ("SET k 'Hello world' IFEQ v", "+OK"),
            ("DIGEST k", "\"b6acb9d84a38ff74\""),
            ("DIGEST none", "(nil)"),
            (&format!("SET k w IFDNE {HELLO_WORLD}"), "(nil)"),
            (&format!("SET k w IFDEQ {HELLO_WORLD} GET PX 5000"), "\"Hello world\""),
            ("SET k x IFDEQ 0000000000000000", "(nil)"),
            ("SET k x IFDEQ 00", "-ERR must be exactly 16 hexadecimal characters"),
            ("SET none x IFDEQ 0000000000000000", "(nil)"),
            ("SET new x IFDNE 0000000000000000", "+OK"),
            ("SET k x IFEQ w IFNE w", "-ERR syntax error"),
            ("SET k x IFDEQ", "-ERR syntax error"),
            ("GET k", "\"w\""),
            ("RPUSH l a", ":1"),
            ("SET l x IFNE a", wrong_type),
            ("DIGEST l", wrong_type),
        ],
    );
}

#[test]
fn delex_deletes_a_key_if_its_condition_holds() {
    check(
        2,
        &[
            ("DELEX k", ":0"),
            ("DELEX k IFEQ", "-ERR wrong number of arguments for 'delex' command"),
            ("DELEX k NOPE v", ":0"),
            ("SET k 'Hello world'", "+OK"),
            ("DELEX k NOPE v", "-ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE"),
            ("DELEX k IFEQ v", ":0"),
            ("DELEX k IFDNE b6acb9d84a38ff74", ":0"),
            ("DELEX k IFDEQ b6acb9d84a38ff7", "-ERR must be exactly 16 hexadecimal characters"),
            ("DELEX k IFDEQ B6ACB9D84A38FF74", ":1"),
            ("SET k v", "+OK"),
            ("DELEX k IFNE v", ":0"),
            ("DELEX k ifeq v", ":1"),
            ("RPUSH l a", ":1"),
            ("DELEX l IFEQ a", "-ERR Key should be of string type if conditions are specified"),
            ("DELEX l", ":1"),
            ("EXISTS k l", ":0"),
        ],
    );
}

#[test]
fn increx_keeps_within_bounds() {
    check(
        2,
        &[
            ("INCREX n", "[:1, :1]"),
            ("INCREX n BYINT -10", "[:-9, :-10]"),
            ("INCREX n BYINT 15 UBOUND 5", "[:-9, :0]"),
            ("INCREX n BYINT 15 UBOUND 5 SATURATE", "[:5, :14]"),
            ("INCREX n BYINT 9223372036854775807", "[:5, :0]"),
            ("INCREX n BYINT 9223372036854775807 SATURATE", "[:9223372036854775807, :9223372036854775802]"),
            ("INCREX n UBOUND -9223372036854775808 SATURATE", "-ERR applied increment would overflow"),
            ("INCREX none BYINT 5 LBOUND 10", "[:0, :0]"),
            ("EXISTS none", ":0"),
            ("SET f 1.5", "+OK"),
            ("INCREX f", "-ERR value is not an integer or out of range"),
            ("INCREX f BYFLOAT 0.25", "[\"1.75\", \"0.25\"]"),
            ("INCREX f BYFLOAT 100 UBOUND 42.5", "[\"1.75\", \"0\"]"),
            ("INCREX f BYFLOAT 100 UBOUND 42.5 SATURATE", "[\"42.5\", \"40.75\"]"),
            ("INCREX f BYFLOAT -100 LBOUND -5.5 SATURATE", "[\"-5.5\", \"-48\"]"),
            ("GET f", "\"-5.5\""),
            ("INCREX n BYINT x", "-ERR Increment is not an integer or out of range"),
            ("INCREX n UBOUND 1.5", "-ERR UBOUND is not an integer or out of range"),
            ("INCREX n BYFLOAT inf", "-ERR Increment is not a valid float"),
            ("INCREX n LBOUND 2 UBOUND 1", "-ERR LBOUND can't be greater than UBOUND"),
            ("INCREX n BYINT 1 BYFLOAT 1", "-ERR syntax error"),
            ("INCREX n BYINT 1 BYINT 1", "-ERR syntax error"),
            ("INCREX n SATURATE SATURATE", "-ERR syntax error"),
            ("INCREX n LBOUND", "-ERR syntax error"),
        ],
    );
    check(3, &[("INCREX f BYFLOAT 0.5", "[,0.5, ,0.5]"), ("INCREX n", "[:1, :1]")]);
}

#[test]
fn increx_sets_keeps_and_clears_a_deadline() {
    check(
        2,
        &[
            ("INCREX n EX 100 ENX", "[:1, :1]"),
            ("EXPIRETIME none", ":-2"),
            ("TTL n", ":100"),
            ("INCREX n EX 500 ENX", "[:2, :1]"),
            ("TTL n", ":100"),
            ("INCREX n UBOUND 2 EX 500", "[:2, :0]"),
            ("TTL n", ":100"),
            ("INCREX n PX 500000", "[:3, :1]"),
            ("TTL n", ":500"),
            ("INCREX n", "[:4, :1]"),
            ("TTL n", ":500"),
            ("INCREX n PERSIST", "[:5, :1]"),
            ("TTL n", ":-1"),
            ("INCREX n EXAT 1", "[:6, :1]"),
            ("EXISTS n", ":0"),
            ("INCREX n ENX", "-ERR ENX flag requires an expiration"),
            ("INCREX n PERSIST ENX", "-ERR syntax error"),
            ("INCREX n EX 5 PX 5", "-ERR syntax error"),
            ("INCREX n EX 5 EX 5", "-ERR syntax error"),
            ("INCREX n EX 0", "-ERR invalid expire time in 'increx' command"),
            ("INCREX n EX x", "-ERR value is not an integer or out of range"),
        ],
    );
}

/// A lock that these commands compare is released by its owner; that is not a bare deletion.
#[test]
fn the_history_of_locks_knows_comparisons_by_digest() {
    let server = ours::builder().compat(Version::V8_8).time(Time::Manual).start().expect("a free port");
    let mut client = Client::connect(server.addr());
    for line in [
        "CONFIG SET lock-history yes",
        "SET l 'Hello world' NX PX 100",
        &format!("DELEX l IFDEQ {HELLO_WORLD}"),
        "SET l me NX PX 100",
        "CLOCK.ADVANCE 100",
        "SET l you NX PX 100",
        "DELEX l IFEQ me",
        "DELEX l IFEQ you",
    ] {
        assert!(!client.line(line).is_error(), "{line}");
    }
    let history = client.line("LOCK.HISTORY KEY l FORMAT JSON").to_string();
    let events: Vec<&str> = history
        .split("\\\"event\\\":\\\"")
        .skip(1)
        .map(|entry| entry.split('\\').next().unwrap_or_default())
        .collect();
    assert_eq!(
        events,
        ["acquired", "released", "acquired", "lost", "acquired", "release-refused", "released"],
        "{history}"
    );
}

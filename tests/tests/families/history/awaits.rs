//! `AWAIT.*` of a simulated server: the events that end a wait, and those that do not.

use lockwheel::Config;
use lockwheel_engine::core::Simulation;
use std::time::Duration;

const NULL: &str = "$-1\r\n";
const DONE: &str = ":1\r\n";

fn simulation() -> Simulation {
    Simulation::new(Config::default(), 7)
}

/// A server with a client that sends requests, and another client.
fn two() -> (Simulation, u64, u64) {
    let mut server = simulation();
    let [asker, other] = [server.connect(), server.connect()];
    (server, asker, other)
}

#[test]
fn a_count_may_be_a_minimum_an_exact_number_or_a_maximum() {
    let (mut server, asker, other) = two();
    for (words, expected) in [
        ("1", DONE),
        ("2", DONE),
        ("3", NULL),
        ("1 EXACT", NULL),
        ("2 exact", DONE),
        ("1 ATMOST", NULL),
        ("2 ATMOST", DONE),
        ("9 ATMOST", DONE),
    ] {
        server.send(asker, &format!("AWAIT.CLIENTS {words} LIMIT 10"));
        server.pass(Duration::from_millis(11));
        assert_eq!(server.read(asker), expected, "{words}");
    }
    for (words, expected) in
        [("0 EXACT", DONE), ("1", NULL), ("1 KEY q EXACT", NULL), ("0 ATMOST KEY q", DONE)]
    {
        server.send(other, &format!("AWAIT.BLOCKED {words} LIMIT 0"));
        server.pass(Duration::from_millis(1));
        assert_eq!(server.read(other), expected, "{words}");
    }
}

#[test]
fn atmost_applies_to_calls_subscribers_and_waiters() {
    let (mut server, asker, other) = two();
    let [listener, waiter] = [server.connect(), server.connect()];
    for line in ["SET k v", "GET k", "GET k", "LOCK.ACQUIRE l a"] {
        server.ask(other, line);
    }
    server.send(listener, "SUBSCRIBE c");
    server.send(other, "SUBSCRIBE c redisson_lock__channel:{l}");
    server.send(waiter, "LOCK.ACQUIRE l b BLOCK 0");
    for what in ["CALLS get", "SUBSCRIBERS c", "WAITERS l"] {
        for (words, expected) in
            [("1 ATMOST", NULL), ("2 atmost", DONE), ("3 ATMOST", DONE), ("3 EXACT", NULL), ("2 EXACT", DONE)]
        {
            server.send(asker, &format!("AWAIT.{what} {words} LIMIT 10"));
            server.pass(Duration::from_millis(11));
            assert_eq!(server.read(asker), expected, "{what} {words}");
        }
    }
    // The count of calls falls when it is reset, the other counts when a client leaves.
    server.send(asker, "AWAIT.CALLS get 1 ATMOST");
    assert_eq!(server.read(asker), "");
    let resetter = server.connect();
    server.ask(resetter, "CONFIG RESETSTAT");
    assert_eq!(server.read(asker), DONE);
    for (what, leaver) in [("SUBSCRIBERS c", listener), ("WAITERS l", waiter)] {
        server.send(asker, &format!("AWAIT.{what} 1 ATMOST"));
        assert_eq!(server.read(asker), "", "{what}");
        server.close(leaver);
        server.notice();
        assert_eq!(server.read(asker), DONE, "{what}");
    }
}

#[test]
fn a_wait_with_atmost_ends_when_clients_leave() {
    let (mut server, asker, other) = two();
    let third = server.connect();
    server.send(other, "BLPOP q 0");
    server.send(third, "BLPOP q 0");
    server.send(asker, "AWAIT.BLOCKED 1 ATMOST KEY q");
    assert_eq!(server.read(asker), "");
    server.close(other);
    server.notice();
    assert_eq!(server.read(asker), DONE);
    server.send(asker, "AWAIT.WAITERS q 0 EXACT");
    assert_eq!(server.read(asker), "");
    let pusher = server.connect();
    server.send(pusher, "RPUSH q v");
    assert_eq!(server.read(asker), DONE);
}

#[test]
fn await_clients_follows_connections_and_renames() {
    let (mut server, asker, other) = two();
    server.send(asker, "AWAIT.CLIENTS 3");
    let third = server.connect();
    server.pass(Duration::ZERO);
    assert_eq!(server.read(asker), DONE);
    server.send(asker, "AWAIT.CLIENTS 2 NAME worker-*");
    server.send(other, "CLIENT SETNAME worker-1");
    assert_eq!(server.read(asker), "");
    server.send(third, "CLIENT SETNAME worker-2");
    assert_eq!(server.read(asker), DONE);
    server.send(asker, "AWAIT.CLIENTS 0 EXACT NAME worker-*");
    for worker in [other, third] {
        assert_eq!(server.read(asker), "");
        server.close(worker);
        server.notice();
    }
    assert_eq!(server.read(asker), DONE);
}

#[test]
fn await_clients_sees_a_rename_in_a_transaction_with_resetstat() {
    let (mut server, asker, other) = two();
    server.send(other, "CLIENT SETNAME foo");
    server.send(asker, "AWAIT.CLIENTS 1 NAME bar");
    for line in ["MULTI", "CONFIG RESETSTAT", "CLIENT SETNAME bar", "EXEC"] {
        assert_eq!(server.read(asker), "", "{line}");
        server.send(other, line);
    }
    assert_eq!(server.read(asker), DONE);
    for (line, name) in [("HELLO 2 SETNAME baz", "baz"), ("RESET", "")] {
        server.send(
            asker,
            &format!("AWAIT.CLIENTS 0 EXACT NAME b{}", if name.is_empty() { "az" } else { "ar" }),
        );
        server.send(other, line);
        assert_eq!(server.read(asker), DONE, "{line}");
    }
}

#[test]
fn calls_are_those_since_the_start_or_the_last_reset() {
    let (mut server, asker, other) = two();
    server.send(asker, "AWAIT.CALLS get 2");
    server.send(other, "GET k");
    assert_eq!(server.read(asker), "");
    server.send(other, "EVAL \"return redis.call('get', 'k')\" 0");
    assert_eq!(server.read(asker), DONE);
    assert_eq!(server.ask(asker, "AWAIT.CALLS GET 2 EXACT"), DONE);
    server.send(other, "CONFIG RESETSTAT");
    assert_eq!(server.ask(asker, "AWAIT.CALLS get 0 EXACT"), DONE);
    server.send(other, "CLIENT ID");
    assert_eq!(server.ask(asker, "AWAIT.CALLS client|id 1 EXACT"), DONE);
    assert_eq!(server.ask(asker, "AWAIT.CALLS client 1"), DONE);
    assert_eq!(server.ask(asker, "AWAIT.CALLS nothing 1"), "-ERR unknown command 'nothing'\r\n");
}

#[test]
fn calls_on_a_key_are_counted_from_the_first_await_on() {
    let (mut server, asker, other) = two();
    server.send(other, "GET k1");
    assert_eq!(server.ask(asker, "AWAIT.CALLS get 0 EXACT KEY k*"), DONE);
    server.send(asker, "AWAIT.CALLS get 3 KEY k*");
    for request in ["GET k1", "GET other", "SET k1 v", "EVAL \"return redis.call('get', 'k2')\" 0"] {
        server.send(other, request);
    }
    assert_eq!(server.read(asker), "");
    server.send(other, "GET k3");
    assert_eq!(server.read(asker), DONE);
    // A waiting request has begun, and counts once. One request for several keys counts once.
    assert_eq!(server.ask(asker, "AWAIT.CALLS blpop 0 KEY l"), DONE);
    server.send(other, "BLPOP a l b 0");
    assert_eq!(server.ask(asker, "AWAIT.CALLS blpop 1 EXACT KEY l"), DONE);
    server.send(asker, "RPUSH l x");
    server.read(asker);
    assert_eq!(server.ask(asker, "AWAIT.CALLS blpop 1 EXACT KEY l"), DONE);
    server.send(other, "CONFIG RESETSTAT");
    assert_eq!(server.ask(asker, "AWAIT.CALLS blpop 0 EXACT KEY l"), DONE);
    let long = "x".repeat(4097);
    let error = "-ERR the pattern is longer than 4096 bytes\r\n";
    assert_eq!(server.ask(asker, &format!("AWAIT.CALLS get 0 KEY {long}")), error);
}

#[test]
fn await_idle_waits_for_a_period_without_commands() {
    let (mut server, asker, other) = two();
    server.send(asker, "CLOCK.FREEZE");
    server.read(asker);
    server.send(asker, "AWAIT.IDLE 100");
    for _ in 0..3 {
        server.pass(Duration::from_millis(90));
        server.send(other, "PING");
        assert_eq!(server.read(asker), "");
    }
    server.pass(Duration::from_millis(102));
    assert_eq!(server.read(asker), DONE);
}

#[test]
fn await_idle_by_name_ignores_other_clients_and_ends_at_its_limit() {
    let (mut server, asker, other) = two();
    let busy = server.connect();
    server.send(busy, "CLIENT SETNAME busy");
    server.send(asker, "AWAIT.IDLE 100 NAME busy LIMIT 250");
    for _ in 0..2 {
        server.pass(Duration::from_millis(51));
        server.send(other, "PING");
    }
    assert_eq!(server.read(asker), DONE);
    server.send(asker, "AWAIT.IDLE 100 LIMIT 250 NAME busy");
    for _ in 0..5 {
        assert_eq!(server.read(asker), "");
        server.pass(Duration::from_millis(51));
        server.send(busy, "PING");
    }
    assert_eq!(server.read(asker), NULL);
}

#[test]
fn bad_options_are_refused() {
    let (mut server, asker, _) = two();
    for request in [
        "AWAIT.BLOCKED 1 EXACT ATMOST",
        "AWAIT.BLOCKED 1 EXACT EXACT",
        "AWAIT.BLOCKED 1 KEY",
        "AWAIT.BLOCKED 1 NAME x",
        "AWAIT.WAITERS k 1 KEY k",
        "AWAIT.SUBSCRIBERS c 1 LIMIT 1 LIMIT 2",
        "AWAIT.CLIENTS 1 KEY k",
        "AWAIT.CALLS get 1 NAME x",
        "AWAIT.KEY k EXISTS EXACT",
        "AWAIT.IDLE 1 EXACT",
    ] {
        assert!(server.ask(asker, request).starts_with("-ERR syntax error: "), "{request}");
    }
    for request in ["AWAIT.IDLE -1", "AWAIT.CLIENTS -1", "AWAIT.CALLS get -1", "AWAIT.CLIENTS 1 LIMIT -1"] {
        let expected = "-ERR value is out of range, must be positive: ";
        assert!(server.ask(asker, request).starts_with(expected), "{request}");
    }
}

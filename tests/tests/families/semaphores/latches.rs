//! `LATCH.*`, line by line.

use super::{check_map, expect_map};
use lockwheel_tests::ours;

#[test]
fn a_latch_is_deleted_when_it_reaches_zero() {
    let mut s = ours::manual_scenario();
    s.check("LATCH.GET l", ":0").check("LATCH.COUNTDOWN l", ":0").check("EXISTS l", ":0");
    s.check("LATCH.SET l 3", ":1").check("GET l", "\"3\"").check("LATCH.SET l 5 NX", ":0");
    s.check("LATCH.COUNTDOWN l", ":2").check("LATCH.COUNTDOWN l 1", ":1").check("LATCH.GET l", ":1");
    check_map!(s, "LATCH.AWAIT other", "state": "\"absent\"", "waited": ":0");
    s.check("LATCH.AWAIT l", "(nil)").check("LATCH.AWAIT other ARMED", "(nil)");
    s.check("LATCH.COUNTDOWN l 7", ":0").check("EXISTS l", ":0");
    s.check("SET l 0", "+OK");
    check_map!(s, "LATCH.AWAIT l", "state": "\"zero\"", "waited": ":0");
    s.check("LATCH.COUNTDOWN l", ":0").check("EXISTS l", ":0");
    s.check("LATCH.SET l 3 nx", ":1").check("LATCH.SET l 1", ":1").check("GET l", "\"1\"");
}

#[test]
fn bad_requests_are_refused_and_change_nothing() {
    let mut s = ours::manual_scenario();
    s.run("SET text x");
    s.run("SET least -9223372036854775808");
    s.run("RPUSH list x");
    let wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    for (line, error) in [
        ("LATCH.SET l", "-ERR wrong number of arguments for 'latch.set' command"),
        ("LATCH.SET l 0", "-ERR value is out of range, must be positive: *"),
        ("LATCH.SET l -1", "-ERR value is out of range, must be positive: *"),
        ("LATCH.SET l 9223372036854775808", "-ERR value is not an integer or out of range: *"),
        ("LATCH.SET l 1 XX", "-ERR syntax error: expected NX, found 'XX'"),
        ("LATCH.SET l 1 NX NX", "-ERR syntax error: 'NX' is given twice"),
        ("LATCH.SET list 1", wrong_type),
        ("LATCH.SET list 1 NX", wrong_type),
        ("LATCH.COUNTDOWN l 0", "-ERR value is out of range, must be positive: *"),
        ("LATCH.COUNTDOWN l 1 1", "-ERR syntax error: '1' is one word too many"),
        ("LATCH.COUNTDOWN list", wrong_type),
        ("LATCH.COUNTDOWN text", "-ERR value is not an integer or out of range: *"),
        ("LATCH.GET text", "-ERR value is not an integer or out of range: *"),
        ("LATCH.GET list", wrong_type),
        ("LATCH.AWAIT list BLOCK 0", wrong_type),
        ("LATCH.AWAIT text BLOCK 0", "-ERR value is not an integer or out of range: *"),
        ("LATCH.AWAIT l BLOCK", "-ERR syntax error: expected milliseconds at the end"),
        ("LATCH.AWAIT l BLOCK -1", "-ERR timeout is negative: *"),
        ("LATCH.AWAIT l BLOCK x", "-ERR timeout is not an integer or out of range: *"),
        ("LATCH.AWAIT l BLOCK 1 BLOCK 1", "-ERR syntax error: 'BLOCK' is given twice"),
        ("LATCH.AWAIT l ARMED ARMED", "-ERR syntax error: 'ARMED' is given twice"),
        ("LATCH.AWAIT l SOON", "-ERR syntax error: expected BLOCK or ARMED, found 'SOON'"),
    ] {
        s.check(line, error);
    }
    s.check("DBSIZE", ":3").check("GET text", "\"x\"");
    s.check("LATCH.COUNTDOWN least 9223372036854775807", ":0").check("EXISTS least", ":0");
    s.check("LATCH.SET l 9223372036854775807", ":1").check("LATCH.COUNTDOWN l 9223372036854775807", ":0");
}

/// Each end of a latch, and the reply to its waiters.
#[test]
fn latch_await_returns_how_the_latch_ended() {
    for (end, state) in [
        ("LATCH.COUNTDOWN l 2", "zero"),
        ("SET l 0", "zero"),
        ("INCRBY l -5", "zero"),
        ("EVAL \"local v = redis.call('decrby', KEYS[1], 2) redis.call('del', KEYS[1])\" 1 l", "zero"),
        ("DEL l", "deleted"),
        ("FLUSHALL", "deleted"),
        ("FLUSHDB", "deleted"),
        ("RENAME l m", "deleted"),
        ("MOVE l 3", "deleted"),
        ("SWAPDB 0 3", "deleted"),
        ("CLOCK.ADVANCE 700", "expired"),
    ] {
        let mut s = ours::manual_scenario();
        s.run("LATCH.SET l 2");
        s.run("PEXPIRE l 700");
        s.on("a").send("LATCH.AWAIT l BLOCK 0");
        s.on("b").send("LATCH.AWAIT l BLOCK 1000 ARMED");
        s.check("AWAIT.WAITERS l 2", ":1");
        s.run(end);
        let waited = if state == "expired" { ":700" } else { ":0" };
        let state = format!("\"{state}\"");
        expect_map!(s.on("a"), "state": state, "waited": waited);
        if end.starts_with("SWAPDB") {
            s.run("CLOCK.ADVANCE 1000");
            s.on("b").expect("(nil)");
        } else {
            expect_map!(s.on("b"), "state": state, "waited": waited);
        }
    }
}

#[test]
fn latch_await_times_out_and_armed_waits_for_an_absent_latch() {
    let mut s = ours::manual_scenario();
    s.on("a").send("LATCH.AWAIT l BLOCK 500 ARMED");
    s.on("b").send("LATCH.AWAIT l BLOCK 0 ARMED");
    s.check("AWAIT.WAITERS l 2", ":1");
    s.run("CLOCK.ADVANCE 499");
    s.check("LATCH.SET l 1", ":1").check("AWAIT.WAITERS l 2", ":1");
    s.run("CLOCK.ADVANCE 1");
    s.on("a").expect("(nil)");
    s.check("LATCH.COUNTDOWN l", ":0");
    expect_map!(s.on("b"), "state": "\"zero\"", "waited": ":500");
    // A latch that ended before the wait does not end the awaited one.
    s.on("b").send("LATCH.AWAIT l BLOCK 10 ARMED");
    s.check("AWAIT.WAITERS l 1", ":1");
    s.run("CLOCK.ADVANCE 10");
    s.on("b").expect("(nil)");
}

/// The latch for which a client waits has reached zero, whatever the same script does to the key afterwards.
#[test]
fn a_latch_reset_by_the_same_script_still_releases_its_waiters() {
    let mut s = ours::manual_scenario();
    s.run("LATCH.SET l 1");
    s.on("a").send("LATCH.AWAIT l BLOCK 0");
    s.check("AWAIT.WAITERS l 1", ":1");
    s.run("EVAL \"redis.call('latch.countdown', 'l') redis.call('latch.set', 'l', 4) redis.call('del', 'l')\" 0");
    expect_map!(s.on("a"), "state": "\"zero\"", "waited": ":0");
    s.run("LATCH.SET l 1");
    s.on("a").send("LATCH.AWAIT l BLOCK 0");
    s.check("AWAIT.WAITERS l 1", ":1");
    // Another count of the same latch is no end.
    s.check("LATCH.SET l 2", ":1").check("LATCH.COUNTDOWN l", ":1").check("AWAIT.WAITERS l 1", ":1");
    s.run("RPUSH list x");
    s.check("RENAME list l", "+OK");
    s.on("a").expect("-WRONGTYPE Operation against a key holding the wrong kind of value");
}

#[test]
fn block_does_not_wait_in_transactions_and_scripts() {
    let mut s = ours::manual_scenario();
    s.run("LATCH.SET l 1");
    s.check("MULTI", "+OK").check("LATCH.AWAIT l BLOCK 0", "+QUEUED").check("EXEC", "[(nil)]");
    s.check("EVAL \"return redis.call('latch.await', 'l', 'BLOCK', 0)\" 0", "(nil)");
    s.on("a").send("LATCH.AWAIT l BLOCK 0");
    s.check("AWAIT.BLOCKED 1", ":1").check("CLIENT UNBLOCK 2 ERROR", ":1");
    s.on("a").expect("-UNBLOCKED client unblocked via CLIENT UNBLOCK");
}

#[test]
fn messages_and_events_are_those_of_redisson_and_redis() {
    let mut s = ours::manual_scenario();
    s.run("CONFIG SET notify-keyspace-events KA");
    s.on("w")
        .send("SUBSCRIBE redisson_countdownlatch__channel__{l} __keyspace@0__:l")
        .expect_push(r#"["subscribe", "redisson_countdownlatch__channel__{l}", :1]"#)
        .expect_push(r#"["subscribe", "__keyspace@0__:l", :2]"#);
    let message = |text: &str| format!(r#"["message", "redisson_countdownlatch__channel__{{l}}", "{text}"]"#);
    let event = |text: &str| format!(r#"["message", "__keyspace@0__:l", "{text}"]"#);
    s.run("LATCH.SET l 3");
    s.on("w").expect_push(&event("set")).expect_push(&message("1"));
    s.run("LATCH.SET l 3 NX");
    s.run("LATCH.COUNTDOWN l");
    s.on("w").expect_push(&event("incrby"));
    s.run("LATCH.COUNTDOWN l 5");
    s.on("w").expect_push(&event("incrby")).expect_push(&event("del")).expect_push(&message("0"));
    // A count that was not above zero crosses nothing.
    s.run("SET l -1");
    s.run("LATCH.COUNTDOWN l");
    s.on("w").expect_push(&event("set")).expect_push(&event("incrby")).expect_push(&event("del"));
    s.run("LATCH.SET l 1");
    s.on("w").expect_push(&event("set")).expect_push(&message("1"));
}

#[test]
fn latch_help_lists_every_command() {
    let mut s = ours::manual_scenario();
    s.check_that("LATCH.HELP", |reply| {
        let text = reply.to_string();
        ["LATCH.SET", "LATCH.COUNTDOWN", "LATCH.GET", "LATCH.AWAIT"].iter().all(|name| text.contains(name))
    });
}

//! `SEM.*`, line by line.

use super::{check_map, expect_map};
use lockwheel_tests::check::Scenario;
use lockwheel_tests::ours;
use lockwheel_tests::reply::Reply;

/// The reply of SEM.ACQUIRE without ids.
macro_rules! check_taken {
    ($on:expr, $line:expr, $permits:expr, $left:expr, $token:expr) => {
        check_map!($on, $line,
            "permits": format!(":{}", $permits), "left": format!(":{}", $left), "token": format!(":{}", $token),
            "waited": ":0", "ids": "[]")
    };
}

macro_rules! expect_taken {
    ($on:expr, $permits:expr, $left:expr, $token:expr, $waited:expr) => {
        expect_map!($on,
            "permits": format!(":{}", $permits), "left": format!(":{}", $left), "token": format!(":{}", $token),
            "waited": format!(":{}", $waited), "ids": "[]")
    };
}

const NOT_HELD: &str = "-NOTHELD this owner does not hold that many permits";

/// Requires the numbers of SEM.INFO: left, held, initial and adjustments.
fn check_account(s: &mut Scenario<lockwheel::Server>, key: &str, expected: [i64; 4]) {
    s.check_that(&format!("SEM.INFO {key}"), |reply| {
        let text = reply.to_string().replace("\": ", "\", ");
        let [left, held, initial, adjustments] = expected;
        assert_eq!(left + held, initial + adjustments);
        let wanted = format!(
            r#""left", :{left}, "held", :{held}, "initial", :{initial}, "adjustments", :{adjustments},"#
        );
        assert!(text.contains(&wanted), "{text} has not {wanted}");
        true
    });
}

#[test]
fn permits_are_taken_and_given_back() {
    let mut s = ours::manual_scenario();
    s.check("SEM.ACQUIRE k a", "(nil)");
    s.check("SEM.INIT k 3", ":1").check("SEM.INIT k 5", ":0").check("SEM.INIT k 5 NX", ":0");
    check_taken!(s, "SEM.ACQUIRE k a", 1, 2, 1);
    check_taken!(s, "SEM.ACQUIRE k b PERMITS 2", 2, 0, 2);
    s.check("SEM.ACQUIRE k c", "(nil)").check("GET k", "\"0\"");
    check_account(&mut s, "k", [0, 3, 3, 0]);
    s.check("SEM.RELEASE k a PERMITS 2", NOT_HELD).check("SEM.RELEASE k c", NOT_HELD);
    s.check("SEM.RELEASE k b", ":1").check("SEM.RELEASE k b", ":2").check("SEM.RELEASE k b", NOT_HELD);
    check_account(&mut s, "k", [2, 1, 3, 0]);
    s.check("SEM.RELEASE k b FORCE", ":3").check("SEM.RELEASE k b PERMITS 4 FORCE", ":7");
    check_account(&mut s, "k", [7, 1, 3, 5]);
    s.check("SEM.RELEASE k a", ":8").check("SEM.ADJUST k -10", ":-2").check("SEM.ACQUIRE k a", "(nil)");
    check_account(&mut s, "k", [-2, 0, 3, -5]);
    s.check("SEM.ADJUST k 4", ":2").check("SEM.DRAIN k", ":2").check("SEM.DRAIN k", ":0");
    check_account(&mut s, "k", [0, 2, 3, -1]);
    s.check("SEM.INIT k 4 FORCE", ":1");
    check_account(&mut s, "k", [4, 0, 4, 0]);
    s.check("SEM.ADJUST other 2", ":2").check("SEM.DRAIN none", ":0").check("EXISTS none", ":0");
}

#[test]
fn bad_requests_are_refused_and_change_nothing() {
    let mut s = ours::manual_scenario();
    s.run("SEM.INIT k 3");
    s.run("SET text x");
    s.run("RPUSH list x");
    s.run("SET odd 5");
    s.run("SET {odd}:timeout x");
    let wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    let number = "-ERR value is not an integer or out of range: *";
    for (line, error) in [
        ("SEM.INIT n", "-ERR wrong number of arguments for 'sem.init' command"),
        ("SEM.INIT n -1", "-ERR value is out of range, must be positive: *"),
        ("SEM.INIT n x", number),
        ("SEM.INIT n 9223372036854775808", number),
        ("SEM.INIT n 1 NX FORCE", "-ERR syntax error: 'NX' and 'FORCE' exclude each other"),
        ("SEM.INIT n 1 PX", "-ERR syntax error: expected milliseconds at the end"),
        ("SEM.INIT n 1 PX 0", "-ERR invalid expire time in 'sem.init' command: *"),
        ("SEM.INIT n 1 PX 1 PX 1", "-ERR syntax error: 'PX' is given twice"),
        ("SEM.INIT list 1", wrong_type),
        ("SEM.INIT list 1 FORCE", wrong_type),
        ("SEM.ACQUIRE k", "-ERR wrong number of arguments for 'sem.acquire' command"),
        ("SEM.ACQUIRE k \"\"", "-ERR invalid owner: *"),
        ("SEM.ACQUIRE k a PERMITS 0", "-ERR value is out of range, must be positive: *"),
        ("SEM.ACQUIRE k a PERMITS", "-ERR syntax error: expected count at the end"),
        ("SEM.ACQUIRE k a PERMITS 1 PERMITS 1", "-ERR syntax error: 'PERMITS' is given twice"),
        ("SEM.ACQUIRE k a PX 0", "-ERR invalid expire time in 'sem.acquire' command: *"),
        ("SEM.ACQUIRE k a PX 9223372036854775807", "-ERR invalid expire time in 'sem.acquire' command: *"),
        ("SEM.ACQUIRE k a BLOCK -1", "-ERR timeout is negative: *"),
        ("SEM.ACQUIRE k a PRIORITY x", number),
        ("SEM.ACQUIRE k a IDS IDS", "-ERR syntax error: 'IDS' is given twice"),
        ("SEM.ACQUIRE k a BARGE BARGE", "-ERR syntax error: 'BARGE' is given twice"),
        ("SEM.ACQUIRE k a PERMITS 10001 IDS", "-ERR PERMITS must be at most 10000 with IDS, not 10001"),
        (
            "SEM.ACQUIRE k a SOON 1",
            "-ERR syntax error: expected PERMITS, SESSION, PING, PX, IDS, BLOCK, PRIORITY or BARGE, found 'SOON'",
        ),
        ("SEM.ACQUIRE text a", number),
        ("SEM.ACQUIRE list a BLOCK 0", wrong_type),
        ("SEM.ACQUIRE odd a IDS", wrong_type),
        ("SEM.RELEASE k a PERMITS 0", "-ERR value is out of range, must be positive: *"),
        ("SEM.RELEASE k a PERMITS 1 ID 00", "-ERR syntax error: 'PERMITS' and 'ID' exclude each other"),
        ("SEM.RELEASE k a ID", "-ERR syntax error: expected id at the end"),
        ("SEM.RELEASE k a ID 00", "-ERR invalid permit id: *"),
        ("SEM.RELEASE k a ID 000102030405060708090a0b0c0d0e0f", NOT_HELD),
        ("SEM.RELEASE k a PERMITS 9223372036854775807 FORCE", "-ERR increment or decrement would overflow"),
        ("SEM.RELEASE list a FORCE", wrong_type),
        ("SEM.RELEASE k \"\" FORCE", "-ERR invalid owner: *"),
        ("SEM.ADJUST k 9223372036854775807", "-ERR increment or decrement would overflow"),
        ("SEM.ADJUST k x", number),
        ("SEM.ADJUST text 1", number),
        ("SEM.DRAIN list", wrong_type),
        ("SEM.RENEW k a EX 1", "-ERR syntax error: expected PX, found 'EX'"),
        ("SEM.RENEW k a PX 0", "-ERR invalid expire time in 'sem.renew' command: *"),
        ("SEM.RENEW list a PX 1", wrong_type),
        ("SEM.INFO list", wrong_type),
        ("SEM.INFO text", number),
    ] {
        s.check(line, error);
    }
    s.check("DBSIZE", ":5").check("GET k", "\"3\"").check("GET odd", "\"5\"");
    s.check("SEM.INIT most 9223372036854775807", ":1");
    check_taken!(s, "SEM.ACQUIRE most a PERMITS 9223372036854775807", i64::MAX, 0, 1);
    check_account(&mut s, "most", [0, i64::MAX, i64::MAX, 0]);
    s.check("SEM.RELEASE most a PERMITS 9223372036854775807", ":9223372036854775807");
    s.check("SEM.ADJUST least -9223372036854775808", ":-9223372036854775808");
}

#[test]
fn only_barge_or_a_higher_priority_passes_the_head_of_the_queue() {
    let mut s = ours::manual_scenario();
    s.run("SEM.INIT k 2");
    check_taken!(s, "SEM.ACQUIRE k h PERMITS 1", 1, 1, 1);
    s.on("a").send("SEM.ACQUIRE k a PERMITS 2 BLOCK 0");
    s.check("AWAIT.BLOCKED 1 KEY k", ":1");
    s.on("b").send("SEM.ACQUIRE k b BLOCK 0");
    s.check("AWAIT.WAITERS k 2", ":1");
    s.check("SEM.ACQUIRE k c", "(nil)");
    check_taken!(s, "SEM.ACQUIRE k c BARGE", 1, 0, 2);
    s.check("SEM.RELEASE k c", ":1");
    check_taken!(s, "SEM.ACQUIRE k d PRIORITY 1", 1, 0, 3);
    s.on("d").send("SEM.ACQUIRE k urgent PRIORITY 5 BLOCK 0");
    s.check("AWAIT.WAITERS k 3", ":1");
    s.run("CLOCK.ADVANCE 10");
    s.check("SEM.RELEASE k d", ":1");
    expect_taken!(s.on("d"), 1, 0, 4, 10);
    s.check("SEM.RELEASE k h", ":1").check("SEM.ACQUIRE k c PRIORITY -1", "(nil)");
    s.check("SEM.RELEASE k urgent", ":2");
    expect_taken!(s.on("a"), 2, 0, 5, 10);
    s.check("SEM.RELEASE k a PERMITS 2", ":2");
    expect_taken!(s.on("b"), 1, 1, 6, 10);
}

/// However the head leaves, those behind it are retried at once.
#[test]
fn when_the_head_leaves_the_next_is_served() {
    for (leave, told) in [
        ("CLIENT UNBLOCK 2", "(nil)"),
        ("CLIENT UNBLOCK 2 ERROR", "-UNBLOCKED client unblocked via CLIENT UNBLOCK"),
        ("CLIENT KILL ID 2", ""),
        ("CLOCK.ADVANCE 100", "(nil)"),
    ] {
        let mut s = ours::manual_scenario();
        s.run("SEM.INIT k 1");
        s.on("a").send("SEM.ACQUIRE k a PERMITS 2 BLOCK 100");
        s.check("AWAIT.WAITERS k 1", ":1");
        s.on("b").send("SEM.ACQUIRE k b BLOCK 0");
        s.check("AWAIT.WAITERS k 2", ":1");
        s.run(leave);
        if !told.is_empty() {
            s.on("a").expect(told);
        }
        let waited = if leave.starts_with("CLOCK") { 100 } else { 0 };
        expect_taken!(s.on("b"), 1, 0, 1, waited);
        check_account(&mut s, "k", [0, 1, 1, 0]);
    }
}

#[test]
fn permits_are_released_at_the_end_of_their_lease() {
    let mut s = ours::manual_scenario();
    s.run("SEM.INIT k 3");
    check_taken!(s, "SEM.ACQUIRE k a PERMITS 2 PX 100", 2, 1, 1);
    check_taken!(s, "SEM.ACQUIRE k b PX 50", 1, 0, 2);
    s.on("w").send("SEM.ACQUIRE k w PERMITS 3 BLOCK 0");
    s.check("AWAIT.WAITERS k 1", ":1");
    s.run("CLOCK.ADVANCE 49");
    s.check("GET k", "\"0\"").check("SEM.RENEW k a PX 60", ":1").check("SEM.RENEW k c PX 60", ":0");
    s.run("CLOCK.ADVANCE 1");
    s.check("GET k", "\"1\"").check("SEM.RELEASE k b", NOT_HELD);
    s.run("CLOCK.ADVANCE 58");
    s.check("GET k", "\"1\"");
    s.run("CLOCK.NEXT");
    expect_taken!(s.on("w"), 3, 0, 3, 109);
    check_account(&mut s, "k", [0, 3, 3, 0]);
    s.check("SEM.RELEASE k w PERMITS 3", ":3").check("CLOCK.NEXT", "(nil)");
}

/// Holds of a deleted key have no owner any more, and come back to no other key.
#[test]
fn holds_end_when_their_key_is_removed() {
    for end in [
        "DEL k",
        "UNLINK k",
        "FLUSHALL",
        "FLUSHDB ASYNC",
        "RENAME k other",
        "MOVE k 4",
        "SET k 5",
        "SEM.INIT k 5 FORCE",
        "RESTORE k 0 \"\\x00\\xc0\\x05\\x0b\\x00\\x3d\\x26\\x1e\\x5a\\x18\\x5d\\x62\\x96\" REPLACE",
        "CLOCK.ADVANCE 70",
        "PEXPIREAT k 1",
    ] {
        let mut s = ours::manual_scenario();
        s.run("SEM.INIT k 3 PX 70");
        check_taken!(s, "SEM.ACQUIRE k a PERMITS 2 PX 100", 2, 1, 1);
        let reply = s.run(end)[0].clone();
        if end.starts_with("RESTORE") && reply.is_error() {
            continue;
        }
        s.check("SEM.RELEASE k a PERMITS 2", NOT_HELD);
        s.run("SEM.INIT k 5");
        s.run("CLOCK.ADVANCE 200");
        s.check("GET k", "\"5\"").check("SEM.RELEASE k a", NOT_HELD);
        check_account(&mut s, "k", [5, 0, 5, 0]);
    }
    // The keys of two databases are exchanged, and their holds move with them.
    let mut s = ours::manual_scenario();
    s.run("SEM.INIT k 3");
    check_taken!(s, "SEM.ACQUIRE k a PERMITS 2 PX 100", 2, 1, 1);
    s.check("SWAPDB 0 1", "+OK").check("SEM.RELEASE k a", NOT_HELD).check("SELECT 1", "+OK");
    check_account(&mut s, "k", [1, 2, 3, 0]);
    s.run("CLOCK.ADVANCE 100");
    s.check("GET k", "\"3\"");
    check_account(&mut s, "k", [3, 0, 3, 0]);
}

#[test]
fn waiters_outlive_the_key_and_get_an_error_for_another_type() {
    let mut s = ours::manual_scenario();
    s.run("SEM.INIT k 1");
    s.on("a").send("SEM.ACQUIRE k a PERMITS 2 BLOCK 0");
    s.on("b").send("SEM.ACQUIRE k b PERMITS 2 BLOCK 0");
    s.check("AWAIT.WAITERS k 2", ":1");
    s.check("FLUSHALL", "+OK").check("AWAIT.WAITERS k 2", ":1");
    s.check("SEM.INIT k 2", ":1").check("AWAIT.WAITERS k 1", ":1");
    s.check("EVAL \"redis.call('del', 'k') redis.call('set', 'k', 2)\" 0", "(nil)");
    s.check("AWAIT.BLOCKED 0", ":1");
    s.on("c").send("SEM.ACQUIRE k c PERMITS 2 BLOCK 0");
    s.check("AWAIT.WAITERS k 1", ":1");
    s.run("RPUSH list x");
    s.check("RENAME list k", "+OK");
    s.on("c").expect("-WRONGTYPE Operation against a key holding the wrong kind of value");
}

/// The ids in the reply of SEM.ACQUIRE … IDS.
fn ids(reply: &Reply) -> Vec<String> {
    let text = reply.to_string();
    let (_, list) = text.split_once("\"ids\"").expect("ids");
    let is_id = |word: &&str| word.len() == 32;
    list.split(|c: char| !c.is_ascii_hexdigit()).filter(is_id).map(str::to_owned).collect()
}

#[test]
fn permits_with_ids_have_their_leases_in_the_keyspace() {
    let mut s = ours::manual_scenario();
    s.run("SEM.INIT k 3");
    let taken = s.run("SEM.ACQUIRE k a PERMITS 2 IDS PX 100").map(|reply| ids(&reply));
    // Equal seeds give equal ids.
    assert_eq!(taken[0], taken[1]);
    let [first, second] = <[String; 2]>::try_from(taken[0].clone()).expect("two");
    assert_ne!(first, second);
    s.check("ZCARD {k}:timeout", ":2").check("GET k", "\"1\"");
    check_account(&mut s, "k", [1, 2, 3, 0]);
    let held = format!("SEM.RELEASE k b ID {first}");
    s.check(&held, NOT_HELD).check(&format!("SEM.RELEASE k a ID {first} {first}"), NOT_HELD);
    s.check(&format!("SEM.RELEASE k a ID {first}"), ":2");
    s.check(&format!("SEM.RENEW k {first} PX 500"), ":0")
        .check(&format!("SEM.RENEW k {second} PX 500"), ":1");
    s.run("CLOCK.ADVANCE 499");
    s.check("SEM.ACQUIRE k b PERMITS 3 IDS", "(nil)");
    // The lease is over, and the permit comes back when a client wants one.
    s.run("CLOCK.ADVANCE 1");
    s.check("GET k", "\"2\"").check(&format!("SEM.RELEASE k a ID {second}"), NOT_HELD);
    s.check_that("SEM.ACQUIRE k b PERMITS 3 IDS", |reply| ids(reply).len() == 3);
    s.check("SEM.RELEASE k b PERMITS 2", ":2").check("ZCARD {k}:timeout", ":1");
    s.check("SEM.RELEASE k b", ":3").check("EXISTS {k}:timeout", ":0").check("SEM.RELEASE k b", NOT_HELD);
    // FORCE lets another owner release the permit.
    let taken = ids(&s.run("SEM.ACQUIRE k a IDS")[0]);
    s.check(&format!("SEM.RELEASE k b ID {} FORCE", taken[0]), ":3");
}

/// Expired permits come back by themselves for native waiters, at that instant.
#[test]
fn a_waiter_gets_a_permit_at_the_end_of_its_lease() {
    let mut s = ours::manual_scenario();
    s.run("SEM.INIT k 1");
    s.run("SEM.ACQUIRE k a IDS PX 100");
    s.on("w").send("SEM.ACQUIRE k w IDS PX 5 BLOCK 0");
    // Two connections are read in any order.
    s.check("AWAIT.WAITERS k 1", ":1");
    s.on("x").send("SEM.ACQUIRE k x IDS PX 5 BLOCK 1000");
    s.check("AWAIT.WAITERS k 2", ":1");
    s.check_that("CLOCK.NEXT", |reply| reply.to_string().contains("\"retry\", \"k\""));
    s.on("w").clients().iter_mut().for_each(|w| assert_eq!(ids(&w.read_reply()).len(), 1));
    s.run("CLOCK.ADVANCE 5");
    s.on("x").clients().iter_mut().for_each(|x| {
        let reply = x.read_reply();
        assert!(reply.to_string().contains(":105") && ids(&reply).len() == 1, "{reply}");
    });
    // Nobody waits any more.
    s.check("CLOCK.NEXT", "(nil)").check("GET k", "\"0\"");
}

#[test]
fn a_release_publishes_the_new_value_and_the_events_of_redis() {
    let mut s = ours::manual_scenario();
    s.run("CONFIG SET notify-keyspace-events KA");
    s.on("w").send("SUBSCRIBE redisson_sc:{k}").expect_push(r#"["subscribe", "redisson_sc:{k}", :1]"#);
    s.on("e").send("PSUBSCRIBE __keyspace@0__:*").expect_push(r#"["psubscribe", "__keyspace@0__:*", :1]"#);
    let message = |text: &str| format!(r#"["message", "redisson_sc:{{k}}", "{text}"]"#);
    let event = |key: &str, text: &str| {
        format!(r#"["pmessage", "__keyspace@0__:*", "__keyspace@0__:{key}", "{text}"]"#)
    };
    s.check("AWAIT.WAITERS k 1", ":1");
    s.run("SEM.INIT k 2 PX 500");
    s.run("SEM.ACQUIRE k a");
    s.run("SEM.RELEASE k a");
    s.run("SEM.ADJUST k 3");
    s.run("SEM.ACQUIRE k a PX 10");
    s.run("CLOCK.ADVANCE 10");
    for text in ["2", "2", "5", "5"] {
        s.on("w").expect_push(&message(text));
    }
    for text in ["set", "expire", "incrby", "incrby", "incrby", "incrby", "incrby"] {
        s.on("e").expect_push(&event("k", text));
    }
    s.run("SEM.ACQUIRE k a IDS");
    for (key, text) in [("k", "incrby"), ("{k}:timeout", "zadd"), ("{k}:timeout", "expire")] {
        s.on("e").expect_push(&event(key, text));
    }
    s.run("SEM.RELEASE k a");
    for (key, text) in [("{k}:timeout", "zrem"), ("{k}:timeout", "del"), ("k", "incrby")] {
        s.on("e").expect_push(&event(key, text));
    }
}

#[test]
fn block_does_not_wait_in_transactions_and_scripts() {
    let mut s = ours::manual_scenario();
    s.run("SEM.INIT k 0");
    s.check("MULTI", "+OK").check("SEM.ACQUIRE k a BLOCK 0", "+QUEUED").check("EXEC", "[(nil)]");
    s.check("EVAL \"return redis.call('sem.acquire', 'k', 'a', 'BLOCK', 0, 'IDS')\" 0", "(nil)");
    s.check_that("SEM.HELP", |reply| {
        let text = reply.to_string();
        ["INIT", "ACQUIRE", "RELEASE", "RENEW", "INFO", "ADJUST", "DRAIN"]
            .iter()
            .all(|name| text.contains(&format!("SEM.{name}")))
    });
}

#[test]
fn sem_info_shows_holders_and_waiters() {
    let mut s = ours::manual_scenario();
    s.run("SEM.INIT k 4");
    s.run("SEM.ACQUIRE k a PERMITS 2 PX 100");
    s.run("SEM.ACQUIRE k b");
    s.run("DECR k");
    s.on("w").send("SEM.ACQUIRE k w BLOCK 0");
    s.check("AWAIT.WAITERS k 1", ":1");
    s.check3(
        "SEM.INFO k",
        concat!(
            r#"["layout", "plain", "left", :0, "held", :4, "initial", :4, "adjustments", :0, "ttl", :-1, "#,
            r#""holders", [["owner", "a", "permits", :2, "kind", "native", "token", :1, "ttl", :100, "id", (nil)], "#,
            r#"["owner", "b", "permits", :1, "kind", "native", "token", :2, "ttl", :-1, "id", (nil)]], "#,
            r#""waiters", [["owner", "w", "kind", "native", "client", :2]]]"#,
        ),
        concat!(
            r#"{"layout": "plain", "left": :0, "held": :4, "initial": :4, "adjustments": :0, "ttl": :-1, "#,
            r#""holders": [{"owner": "a", "permits": :2, "kind": "native", "token": :1, "ttl": :100, "id": (nil)}, "#,
            r#"{"owner": "b", "permits": :1, "kind": "native", "token": :2, "ttl": :-1, "id": (nil)}], "#,
            r#""waiters": [{"owner": "w", "kind": "native", "client": :2}]}"#,
        ),
    );
}

/// The lease of a session is renewed while its connection lives, and its permits come back when it ends.
#[test]
fn permits_of_a_session_are_held_until_it_disconnects() {
    let mut s = ours::manual_scenario();
    s.run("SEM.INIT k 4");
    s.check(
        "SEM.ACQUIRE k a SESSION PX 99",
        "-ERR the lease of a session must be at least 100 milliseconds, not 99",
    );
    s.check("SEM.ACQUIRE k a SESSION SESSION", "-ERR syntax error: 'SESSION' is given twice");
    check_taken!(s.on("a"), "SEM.ACQUIRE k a PERMITS 2 SESSION PX 300", 2, 2, 1);
    let taken = s.on("a").run("SEM.ACQUIRE k a SESSION IDS PX 300").map(|reply| ids(&reply));
    check_taken!(s.on("b"), "SEM.ACQUIRE k b SESSION", 1, 0, 3);
    s.run("CLOCK.ADVANCE 10000");
    s.check("GET k", "\"0\"");
    check_account(&mut s, "k", [0, 4, 4, 0]);
    s.on("w").send("SEM.ACQUIRE k w PERMITS 3 BLOCK 0");
    s.check("AWAIT.WAITERS k 1", ":1");
    // A permit that has been released is not released again.
    s.check("SEM.RELEASE k a", ":1").check("SEM.RELEASE k x FORCE", ":2");
    s.check(&format!("SEM.RENEW k {} PX 900", taken[0][0]), ":1");
    s.check("CLIENT KILL ID 2", ":1");
    expect_taken!(s.on("w"), 3, 1, 4, 0);
    check_account(&mut s, "k", [1, 4, 4, 1]);
    s.check("CLIENT KILL ID 3", ":1").check("GET k", "\"2\"").check("EXISTS {k}:timeout", ":0");
    s.run("CLOCK.ADVANCE 100000");
    check_account(&mut s, "k", [2, 3, 4, 1]);
    s.check("CLOCK.NEXT", "(nil)");
}

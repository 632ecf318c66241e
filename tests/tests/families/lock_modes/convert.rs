//! Conversions: readers that become writers, and writers that become readers.

use super::{granted, scenario, served, wait};

#[test]
fn the_only_reader_converts_to_a_writer_and_back() {
    let mut s = scenario();
    s.run("LOCK.ACQUIRE l a SHARED PX 1000");
    granted(&mut s, "LOCK.CONVERT l a EXCLUSIVE PX 5000", 2, 1, 5000);
    s.check3(
        "HGETALL l",
        r#"["mode", "write", "a", "1", "a:write", "1"]"#,
        r#"{"mode": "write", "a": "1", "a:write": "1"}"#,
    );
    // A conversion to the current mode.
    granted(&mut s, "LOCK.CONVERT l a EXCLUSIVE", 2, 1, 5000);
    s.check("LOCK.ACQUIRE l b SHARED", "(nil)");
    s.on("sub").run("SUBSCRIBE redisson_rwlock:{l}");
    granted(&mut s, "LOCK.CONVERT l a SHARED TOKEN 2", 2, 1, 5000);
    s.on("sub").expect_push(r#"["message", "redisson_rwlock:{l}", "1"]"#);
    s.check3("HGETALL l", r#"["mode", "read", "a", "1"]"#, r#"{"mode": "read", "a": "1"}"#);
    granted(&mut s, "LOCK.ACQUIRE l b SHARED", 3, 1, 30000);
    s.check("LOCK.RELEASE l a TOKEN 2", ":0").check("LOCK.RELEASE l b", ":0").check("DBSIZE", ":0");
}

#[test]
fn converting_a_writer_to_a_reader_serves_waiting_readers() {
    let mut s = scenario();
    s.run("LOCK.ACQUIRE l a EXCLUSIVE PX 5000");
    s.run("LOCK.ACQUIRE l a EXCLUSIVE PX 5000");
    wait(&mut s, "b", "LOCK.ACQUIRE l b SHARED BLOCK 0", 1);
    granted(&mut s, "LOCK.CONVERT l a SHARED", 1, 2, 5000);
    served(&mut s, "b", 2, 1);
    s.check("PTTL {l}:a:rwlock_timeout:2", ":5000");
    s.check("LOCK.RELEASE l a", ":1").check("LOCK.RELEASE l a", ":0").check("LOCK.RELEASE l b", ":0");
    s.check("DBSIZE", ":0");
}

#[test]
fn a_waiting_conversion_is_served_first_and_only_one_may_wait() {
    let mut s = scenario();
    for owner in ["a", "b"] {
        s.run(&format!("LOCK.ACQUIRE l {owner} SHARED"));
    }
    s.check("LOCK.CONVERT l a EXCLUSIVE", "(nil)");
    wait(&mut s, "w", "LOCK.ACQUIRE l w EXCLUSIVE PRIORITY 9223372036854775807 BLOCK 0", 1);
    wait(&mut s, "a", "LOCK.CONVERT l a EXCLUSIVE BLOCK 0", 2);
    let deadlock =
        "-DEADLOCK another shared holder already waits for the exclusive mode: both would wait for ever";
    s.check("LOCK.CONVERT l b EXCLUSIVE BLOCK 0", deadlock).check("LOCK.CONVERT l b EXCLUSIVE", "(nil)");
    let twice = "-DEADLOCK this owner already waits for the exclusive mode";
    s.check("LOCK.CONVERT l a EXCLUSIVE BLOCK 0", twice).check("LOCK.CONVERT l a EXCLUSIVE", "(nil)");
    s.check("LOCK.ACQUIRE l c SHARED PRIORITY 5", "(nil)").check("LOCK.RELEASE l b", ":0");
    served(&mut s, "a", 3, 1);
    s.check("LOCK.RELEASE l a EXCLUSIVE", ":0").check("LOCK.RELEASE l a", ":0");
    served(&mut s, "w", 4, 1);
}

#[test]
fn convert_refuses_owners_that_do_not_hold_the_lock() {
    let mut s = scenario();
    s.check("LOCK.CONVERT l a EXCLUSIVE", "-NOTHELD this owner does not hold the lock");
    s.run("LOCK.ACQUIRE l a SHARED PX 1000");
    s.run("LOCK.ACQUIRE l b SHARED PX 9000");
    s.check("LOCK.CONVERT l c SHARED", "-NOTHELD this owner does not hold the lock");
    s.check("LOCK.CONVERT l a EXCLUSIVE TOKEN 9", "-STALE token 9 is not the current token 1");
    wait(&mut s, "a", "LOCK.CONVERT l a EXCLUSIVE BLOCK 0", 1);
    s.run("CLOCK.ADVANCE 1000");
    s.on("a")
        .expect("-LOCKLOST this owner lost the lock: grant 1 ended (expired) at 5001000, current grant 2");
    s.run("LOCK.ACQUIRE plain a");
    s.check("LOCK.CONVERT plain a SHARED", "-LOCKMODE the key holds a plain lock");
    s.check("LOCK.CONVERT l a", "-ERR wrong number of arguments for 'lock.convert' command");
    for (tail, error) in [
        ("UP", "expected SHARED or EXCLUSIVE, found 'UP'"),
        ("SHARED PX", "expected milliseconds at the end"),
        ("SHARED EX 1 PX 1", "'EX' and 'PX' exclude each other"),
        ("SHARED BLOCK 1 BLOCK 1", "'BLOCK' is given twice"),
        ("SHARED TOKEN", "expected token at the end"),
    ] {
        s.check(&format!("LOCK.CONVERT l a {tail}"), &format!("-ERR syntax error: {error}"));
    }
    s.check("LOCK.CONVERT l a SHARED BLOCK -1", "-ERR timeout is negative: *");
}

/// Nobody waits in scripts and transactions, so that nobody waits for ever there.
#[test]
fn a_conversion_in_a_script_neither_waits_nor_closes_a_cycle() {
    let mut s = scenario();
    for owner in ["a", "b"] {
        s.run(&format!("LOCK.ACQUIRE l {owner} SHARED"));
    }
    let script = "EVAL \"return redis.call('LOCK.CONVERT', 'l', 'b', 'EXCLUSIVE', 'BLOCK', 0)\" 0";
    s.check(script, "(nil)");
    wait(&mut s, "a", "LOCK.CONVERT l a EXCLUSIVE BLOCK 0", 1);
    s.check(script, "(nil)");
    s.run("MULTI");
    s.run("LOCK.CONVERT l b EXCLUSIVE BLOCK 0");
    s.check("EXEC", "[(nil)]").check("AWAIT.WAITERS l 1 EXACT", ":1");
    s.run("LOCK.RELEASE l b");
    served(&mut s, "a", 3, 1);
}

/// A reader's lease is its own, and a writer's is that of the lock, which is never shortened.
#[test]
fn the_reply_of_convert_contains_the_effective_lease() {
    let mut s = scenario();
    s.run("LOCK.ACQUIRE l a EXCLUSIVE PX 9000");
    granted(&mut s, "LOCK.ACQUIRE l a EXCLUSIVE PX 300", 1, 2, 9000);
    granted(&mut s, "LOCK.CONVERT l a SHARED PX 100", 1, 2, 100);
    granted(&mut s, "LOCK.CONVERT l a SHARED", 1, 2, 100);
    s.run("CLOCK.ADVANCE 100");
    s.check("EXISTS l", ":0");
}

/// The delay after a loss concerns the mode in which the lost hold was held.
#[test]
fn a_delay_applies_to_the_mode_of_the_lost_hold() {
    for (convert, is_read) in [("EXCLUSIVE", false), ("EXCLUSIVE PX 3000", false), ("SHARED", true)] {
        let mut s = scenario();
        let first = if is_read { "EXCLUSIVE" } else { "SHARED" };
        s.run(&format!("LOCK.ACQUIRE l a {first} PX 1000 DELAY 500"));
        s.run(&format!("LOCK.CONVERT l a {convert}"));
        s.run(&format!("CLOCK.ADVANCE {}", if convert.ends_with("3000") { 3000 } else { 1000 }));
        s.check("LOCK.ACQUIRE l w EXCLUSIVE", "(nil)");
        let reader = "LOCK.ACQUIRE l r SHARED PX 100";
        s.check_that(reader, |reply| reply.to_string().contains("token") == is_read);
        s.run("CLOCK.ADVANCE 500");
        s.check("EXISTS l", ":0");
    }
}

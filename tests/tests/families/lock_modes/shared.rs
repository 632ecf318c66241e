//! Readers and writers: sharing, waiting, and the duration of a reader's hold.

use super::{granted, scenario, served, wait};
use lockwheel::Server;
use lockwheel_tests::check::Scenario;

#[test]
fn readers_share_and_a_writer_waits_for_the_last_of_them() {
    let mut s = scenario();
    granted(&mut s, "LOCK.ACQUIRE l a SHARED PX 1000", 1, 1, 1000);
    granted(&mut s, "LOCK.ACQUIRE l b SHARED PX 2000", 2, 1, 2000);
    granted(&mut s, "LOCK.ACQUIRE l a SHARED PX 3000", 1, 2, 3000);
    s.check("LOCK.ACQUIRE l w EXCLUSIVE", "(nil)");
    s.check3(
        "HGETALL l",
        r#"["mode", "read", "a", "2", "b", "1"]"#,
        r#"{"mode": "read", "a": "2", "b": "1"}"#,
    );
    for (key, ttl) in [("l", 3000), ("{l}:a:rwlock_timeout:1", 1000), ("{l}:a:rwlock_timeout:2", 3000)] {
        s.check(&format!("PTTL {key}"), &format!(":{ttl}"));
    }
    wait(&mut s, "w", "LOCK.ACQUIRE l w EXCLUSIVE PX 500 BLOCK 0", 1);
    s.check("LOCK.RELEASE l a", ":1").check("EXISTS {l}:a:rwlock_timeout:2", ":0").check("PTTL l", ":2000");
    s.check("LOCK.RELEASE l a", ":0").check("LOCK.RELEASE l b SHARED", ":0");
    served(&mut s, "w", 3, 1);
    s.check3("HGETALL l", r#"["mode", "write", "w:write", "1"]"#, r#"{"mode": "write", "w:write": "1"}"#);
    s.check("PTTL l", ":500").check("DBSIZE", ":1");
    s.check("LOCK.RELEASE l a", "-NOTHELD this owner does not hold the lock");
    s.check("LOCK.RELEASE l w SHARED", "-NOTHELD this owner does not hold the lock");
    s.check("LOCK.RELEASE l w EXCLUSIVE", ":0").check("DBSIZE", ":0");
}

#[test]
fn no_reader_passes_a_waiting_writer_and_readers_are_served_together() {
    let mut s = scenario();
    s.run("LOCK.ACQUIRE l a SHARED");
    wait(&mut s, "w", "LOCK.ACQUIRE l w EXCLUSIVE BLOCK 0", 1);
    s.check("LOCK.ACQUIRE l b SHARED", "(nil)");
    // An owner that already holds the lock need not queue.
    granted(&mut s, "LOCK.ACQUIRE l a SHARED", 1, 2, 30000);
    wait(&mut s, "b", "LOCK.ACQUIRE l b SHARED BLOCK 0", 2);
    wait(&mut s, "c", "LOCK.ACQUIRE l c SHARED BLOCK 0", 3);
    wait(&mut s, "x", "LOCK.ACQUIRE l x EXCLUSIVE BLOCK 0", 4);
    wait(&mut s, "d", "LOCK.ACQUIRE l d SHARED BLOCK 0", 5);
    s.check("LOCK.RELEASE l a ALL", ":0");
    served(&mut s, "w", 2, 1);
    s.check("LOCK.RELEASE l w", ":0");
    served(&mut s, "b", 3, 1);
    served(&mut s, "c", 4, 1);
    s.check("AWAIT.WAITERS l 2", ":1");
    s.check("LOCK.RELEASE l b", ":0").check("LOCK.RELEASE l c", ":0");
    served(&mut s, "x", 5, 1);
    s.check("LOCK.RELEASE l x", ":0");
    served(&mut s, "d", 6, 1);
}

#[test]
fn a_writer_that_times_out_lets_the_readers_behind_it_enter() {
    let mut s = scenario();
    s.run("LOCK.ACQUIRE l a SHARED");
    wait(&mut s, "w", "LOCK.ACQUIRE l w EXCLUSIVE BLOCK 50", 1);
    wait(&mut s, "b", "LOCK.ACQUIRE l b SHARED BLOCK 0", 2);
    s.run("CLOCK.ADVANCE 50");
    s.on("w").expect("(nil)");
    served(&mut s, "b", 2, 1);
}

#[test]
fn a_reader_with_a_higher_priority_comes_before_a_writer() {
    let mut s = scenario();
    s.run("LOCK.ACQUIRE l a SHARED");
    wait(&mut s, "w", "LOCK.ACQUIRE l w EXCLUSIVE BLOCK 0", 1);
    s.check("LOCK.ACQUIRE l b SHARED PRIORITY 0", "(nil)");
    granted(&mut s, "LOCK.ACQUIRE l b SHARED PRIORITY 1", 2, 1, 30000);
}

#[test]
fn a_reader_that_acquires_exclusively_gets_deadlock_at_once() {
    let mut s = scenario();
    s.run("LOCK.ACQUIRE l a SHARED");
    let deadlock = "-DEADLOCK this owner holds the lock in shared mode: use LOCK.CONVERT";
    s.check("LOCK.ACQUIRE l a EXCLUSIVE BLOCK 0", deadlock).check("LOCK.ACQUIRE l a EXCLUSIVE", deadlock);
    // A writer may read, as with Redisson.
    granted(&mut s, "LOCK.ACQUIRE m a EXCLUSIVE", 2, 1, 30000);
    granted(&mut s, "LOCK.ACQUIRE m a SHARED", 3, 1, 30000);
    s.check("LOCK.ACQUIRE m a NOREENTER SHARED", "-REENTRANT this owner already holds the lock");
    s.check(
        "LOCK.RELEASE m a",
        "-LOCKMODE this owner holds the lock in both modes: use LOCK.RELEASE with SHARED or EXCLUSIVE",
    );
    s.check("LOCK.RELEASE m a EXCLUSIVE TOKEN 3", "-STALE token 3 is not the current token 2");
    s.check("LOCK.RELEASE m a EXCLUSIVE TOKEN 2", ":0");
    granted(&mut s, "LOCK.ACQUIRE m b SHARED", 4, 1, 30000);
    s.check("LOCK.RELEASE m a", ":0").check("LOCK.RELEASE m b", ":0").check("EXISTS m", ":0");
}

#[test]
fn the_layouts_are_not_mixed_up() {
    let mut s = scenario();
    s.run("LOCK.ACQUIRE plain a");
    s.run("LOCK.ACQUIRE rw a SHARED");
    s.run("RPUSH list x");
    for mode in ["SHARED", "EXCLUSIVE"] {
        s.check(&format!("LOCK.ACQUIRE plain b {mode}"), "-LOCKMODE the key holds a plain lock");
        s.check(&format!("LOCK.RELEASE plain a {mode}"), "-LOCKMODE the key holds a plain lock");
        s.check(
            &format!("LOCK.ACQUIRE list b {mode}"),
            "-WRONGTYPE Operation against a key holding the wrong kind of value",
        );
        let excluded = format!("-ERR syntax error: '{mode}' and 'FAIR' exclude each other");
        s.check(&format!("LOCK.ACQUIRE rw b {mode} FAIR"), &excluded);
        s.check(
            &format!("LOCK.ACQUIRE rw b {mode} LAYOUT STRING"),
            "-ERR syntax error: LAYOUT STRING excludes SHARED, EXCLUSIVE and FAIR",
        );
    }
    s.check("LOCK.ACQUIRE rw b", "-LOCKMODE the key holds a read-write lock");
    s.check(
        "LOCK.ACQUIRE rw b SHARED EXCLUSIVE",
        "-ERR syntax error: 'SHARED' and 'EXCLUSIVE' exclude each other",
    );
}

/// The lease of each hold ends by itself; with the last one the owner loses the lock.
#[test]
fn a_reader_loses_the_lock_with_its_last_lease() {
    let mut s = scenario();
    s.check("CONFIG SET notify-keyspace-events KEA", "+OK");
    s.run("LOCK.ACQUIRE l a SHARED PX 1000");
    s.run("LOCK.ACQUIRE l a SHARED PX 3000");
    s.run("LOCK.ACQUIRE l b SHARED PX 9000");
    wait(&mut s, "w", "LOCK.ACQUIRE l w EXCLUSIVE BLOCK 0", 1);
    s.run("CLOCK.ADVANCE 1000");
    s.check("HGET l a", "\"2\"").check("PTTL l", ":8000");
    s.on("events").run("SUBSCRIBE __keyspace@0__:l");
    s.run("CLOCK.ADVANCE 2000");
    s.on("events").expect_push(r#"["message", "__keyspace@0__:l", "hdel"]"#);
    s.check("HEXISTS l a", ":0");
    s.check(
        "LOCK.RELEASE l a",
        "-LOCKLOST this owner lost the lock: grant 1 ended (expired) at 5003000, current grant 2",
    );
    s.check("LOCK.RELEASE l b", ":0");
    served(&mut s, "w", 3, 1);
}

/// The released hold was the last with a lease: the others ended with theirs.
#[test]
fn a_reader_with_ended_leases_keeps_nothing_after_its_release() {
    let mut s = scenario();
    for (owner, ms) in [("a", 1000), ("a", 5000), ("b", 9000)] {
        s.run(&format!("LOCK.ACQUIRE l {owner} SHARED PX {ms}"));
    }
    wait(&mut s, "w", "LOCK.ACQUIRE l w EXCLUSIVE BLOCK 0", 1);
    s.run("CLOCK.ADVANCE 1000");
    s.check("LOCK.RELEASE l a", ":0").check("HEXISTS l a", ":0").check("PTTL l", ":8000");
    let lost = "-LOCKLOST this owner lost the lock: grant 1 ended (expired) at 5001000, current grant 2";
    s.check("LOCK.RELEASE l a", lost).check("LOCK.RELEASE l b", ":0");
    served(&mut s, "w", 3, 1);
    // A release without other readers frees the lock, as Redisson's script does; also with duplicate names.
    for (line, left) in [("LOCK.RELEASE m a", ":0"), ("LOCK.MRELEASE 2 m m a", "[:0, :0]")] {
        s.run("LOCK.ACQUIRE m a SHARED PX 1000");
        s.run("LOCK.ACQUIRE m a SHARED PX 5000");
        s.run("CLOCK.ADVANCE 1000");
        s.check(line, left).check("EXISTS m", ":0");
    }
}

#[test]
fn no_lease_key_of_a_reader_remains() {
    for end in ["LOCK.RELEASE l a ALL", "LOCK.FORCEUNLOCK l"] {
        let mut s = scenario();
        s.run("LOCK.ACQUIRE l a SHARED PX 5000");
        s.run("LOCK.ACQUIRE l a SHARED PX 1000");
        s.on("sub").run("SUBSCRIBE redisson_lock__channel:{l}");
        s.on("sub").run("SUBSCRIBE redisson_rwlock:{l}");
        s.run("CLOCK.ADVANCE 1000");
        s.run(end);
        s.check("DBSIZE", ":0");
        s.on("sub").expect_push(r#"["message", "redisson_rwlock:{l}", "0"]"#);
    }
}

#[test]
fn expired_native_readers_leave_foreign_readers_and_no_empty_lock() {
    let mut s = scenario();
    let foreign = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";
    s.run("LOCK.ACQUIRE l a SHARED PX 1000");
    s.run(&format!("HSET l {foreign} 1"));
    s.run(&format!("SET {{l}}:{foreign}:rwlock_timeout:1 1 PX 500"));
    s.run("PEXPIRE l 9000");
    s.run("CLOCK.ADVANCE 1000");
    s.check3(
        "HGETALL l",
        &format!(r#"["mode", "read", "{foreign}", "1"]"#),
        &format!(r#"{{"mode": "read", "{foreign}": "1"}}"#),
    );
    s.run("LOCK.ACQUIRE m a SHARED PX 1000");
    s.run("PEXPIRE m 9000");
    s.on("sub").run("SUBSCRIBE redisson_rwlock:{m}");
    s.run("CLOCK.ADVANCE 1000");
    s.check("EXISTS m", ":0");
    s.on("sub").expect_push(r#"["message", "redisson_rwlock:{m}", "0"]"#);
}

/// If Redisson's readers are few, each one's hold is looked up. If they are many, all readers are looked up together.
#[test]
fn a_release_leaves_the_longest_lease_of_redissons_readers() {
    for foreign in [2, 100] {
        let mut s = scenario();
        let read = |s: &mut Scenario<Server>, n: i32, hold: i32, lease_ms: i32| {
            s.check(&format!("HINCRBY l f:{n} 1"), &format!(":{hold}"));
            s.run(&format!("SET {{l}}:f:{n}:rwlock_timeout:{hold} 1 PX {lease_ms}"));
        };
        s.run("LOCK.ACQUIRE l a SHARED PX 1000");
        (0..foreign).for_each(|n| read(&mut s, n, 1, 5000 + n));
        for (owner, lease_ms) in [("b", 9000), ("c", 2000), ("d", 8000), ("e", 1000)] {
            s.run(&format!("LOCK.ACQUIRE l {owner} SHARED PX {lease_ms}"));
        }
        s.check("LOCK.RELEASE l c", ":0").check("PTTL l", ":9000");
        s.check("LOCK.RELEASE l b", ":0").check("PTTL l", ":8000");
        s.check("LOCK.RELEASE l d", ":0").check("PTTL l", &format!(":{}", 5000 + foreign - 1));
        // One of the readers enters again, releases once, and releases for good.
        read(&mut s, 1, 2, 7000);
        s.check("LOCK.RELEASE l e", ":0").check("PTTL l", ":7000");
        for line in ["DEL {l}:f:1:rwlock_timeout:2", "HINCRBY l f:1 -1", "LOCK.ACQUIRE l e SHARED PX 100"] {
            s.run(line);
        }
        s.check("LOCK.RELEASE l e", ":0").check("PTTL l", &format!(":{}", 5000 + foreign - 1));
        (0..foreign).for_each(|n| drop(s.run(&format!("HDEL l f:{n}"))));
        s.run("LOCK.ACQUIRE l e SHARED PX 500");
        s.check("LOCK.RELEASE l e", ":0").check("PTTL l", ":1000");
    }
}

#[test]
fn renewing_sets_every_lease_of_a_reader() {
    let mut s = scenario();
    s.run("LOCK.ACQUIRE l a SHARED PX 1000");
    s.run("LOCK.ACQUIRE l a SHARED PX 2000");
    s.run("LOCK.ACQUIRE l b SHARED PX 3000");
    s.check("LOCK.RENEW 1 l a PX 5000", "[:1]").check("PTTL l", ":5000");
    s.check("PTTL {l}:a:rwlock_timeout:1", ":5000").check("PTTL {l}:a:rwlock_timeout:2", ":5000");
    s.check("LOCK.RENEW 1 l a PX 4000 GT", "[:0]").check("LOCK.RENEW 1 l a PX 100", "[:1]");
    s.check("PTTL l", ":3000").check("LOCK.RENEW 1 l x PX 100", "[:0]");
    s.check("LOCK.RENEW 1 l a PX 100 TOKEN 2", "-STALE token 2 is not the current token 1");
    s.run("LOCK.ACQUIRE w a EXCLUSIVE PX 1000");
    s.check("LOCK.RENEW 1 w a PX 500", "[:1]").check("PTTL w", ":500");
    s.check("LOCK.RENEW 1 w a PX 400 GT TOKEN 3", "[:0]").check("LOCK.RENEW 1 w a PX 900 GT", "[:1]");
}

#[test]
fn lock_info_shows_the_modes_of_holders_and_waiters() {
    let mut s = scenario();
    s.run("LOCK.ACQUIRE l a EXCLUSIVE");
    s.run("LOCK.ACQUIRE l a SHARED");
    wait(&mut s, "b", "LOCK.ACQUIRE l b SHARED BLOCK 0", 1);
    wait(&mut s, "c", "LOCK.ACQUIRE l c EXCLUSIVE BLOCK 0", 2);
    s.check_that("LOCK.INFO l", |info| {
        let text = info.to_string().replace("\": ", "\", ");
        [
            r#""owner", "a", "mode", "exclusive", "holds", :1, "kind", "native", "token", :1, "grant", :1"#,
            r#""owner", "a", "mode", "shared", "holds", :1, "kind", "native", "token", :2, "grant", :2"#,
            r#""owner", "b", "mode", "shared", "kind", "native""#,
            r#""owner", "c", "mode", "exclusive", "kind", "native""#,
        ]
        .iter()
        .all(|part| text.contains(part))
    });
}

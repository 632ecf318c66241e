//! Locks whose tokens Redisson counts, and locks that are strings.

use super::{granted, scenario, served, wait};

#[test]
fn a_fenced_lock_uses_the_token_counter_of_redisson() {
    let mut s = scenario();
    s.check("SET redisson_lock_token:{l} 41", "+OK");
    granted(&mut s, "LOCK.ACQUIRE l a FENCED", 42, 1, 30000);
    granted(&mut s, "LOCK.ACQUIRE l a FENCED", 42, 2, 30000);
    s.check("GET redisson_lock_token:{l}", "\"42\"")
        .check("LOCK.CHECK l 42", ":1")
        .check("LOCK.CHECK l 1", ":0");
    s.check("LOCK.RELEASE l a TOKEN 1", "-STALE token 1 is not the current token 42");
    wait(&mut s, "b", "LOCK.ACQUIRE l b FENCED BLOCK 0", 1);
    s.check("LOCK.RELEASE l a ALL TOKEN 42", ":0");
    served(&mut s, "b", 43, 1);
    s.check_that("LOCK.INFO l", |info| {
        info.to_string().replace("\": ", "\", ").contains(r#""token", :43, "grant", :2"#)
    });
    for (value, error) in [
        ("9223372036854775807", "-ERR increment or decrement would overflow"),
        ("x", "-ERR value is not an integer or out of range: *"),
        ("-5", "-ERR value is out of range, must be positive: *"),
    ] {
        s.run(&format!("SET redisson_lock_token:{{m}} {value}"));
        s.check("LOCK.ACQUIRE m a FENCED", error).check("EXISTS m", ":0");
        s.check("GET redisson_lock_token:{m}", &format!("\"{value}\""));
    }
}

#[test]
fn a_string_lock_excludes_locks_of_other_libraries() {
    let mut s = scenario();
    granted(&mut s, "LOCK.ACQUIRE l a LAYOUT STRING PX 1000", 1, 1, 1000);
    s.check("GET l", "\"a\"").check("PTTL l", ":1000").check("SET l other NX PX 500", "(nil)");
    s.check("LOCK.ACQUIRE l b LAYOUT STRING", "(nil)");
    s.check("LOCK.ACQUIRE l a LAYOUT STRING", "-REENTRANT this owner already holds the lock");
    s.check("LOCK.RELEASE l b", "-NOTHELD this owner does not hold the lock");
    s.check("LOCK.RELEASE l a TOKEN 7", "-STALE token 7 is not the current token 1");
    s.check("LOCK.RENEW 1 l a PX 5000", "[:1]")
        .check("LOCK.RENEW 1 l b PX 5000", "[:0]")
        .check("PTTL l", ":5000");
    wait(&mut s, "b", "LOCK.ACQUIRE l b LAYOUT STRING PX 700 BLOCK 0", 1);
    s.check("LOCK.RELEASE l a", ":0");
    served(&mut s, "b", 2, 1);
    // Another library releases the lock this way: compare, then delete.
    s.run("EVAL \"if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0\" 1 l b");
    s.check("SET l token NX PX 500", "+OK");
    wait(&mut s, "c", "LOCK.ACQUIRE l c LAYOUT STRING BLOCK 0", 1);
    s.run("CLOCK.ADVANCE 500");
    served(&mut s, "c", 4, 1);
    s.check("LOCK.ACQUIRE l d", "-WRONGTYPE Operation against a key holding the wrong kind of value");
    s.run("LOCK.ACQUIRE hash a");
    s.check(
        "LOCK.ACQUIRE hash b LAYOUT STRING",
        "-WRONGTYPE Operation against a key holding the wrong kind of value",
    );
    s.check("SET text value", "+OK");
    s.check("LOCK.RELEASE text a", "-WRONGTYPE Operation against a key holding the wrong kind of value");
}

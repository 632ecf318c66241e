//! A hold that another owner's command ends or hands over: LOCK.TRANSFER, FORCEUNLOCK, MRELEASE, CANCEL.

use lockwheel_engine::config::Config;
use lockwheel_engine::core::Simulation;
use lockwheel_tests::ours;

/// Two threads of one Redisson client.
const T1: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";
const T2: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:2";

#[test]
fn a_hold_is_transferred_with_its_count_and_lease_and_a_new_token() {
    let mut s = ours::manual_scenario();
    s.run("CLOCK.SET 5000000");
    s.run("LOCK.ACQUIRE l a PX 5000");
    s.run("LOCK.ACQUIRE l a PX 5000");
    s.check("LOCK.TRANSFER l b c", "-NOTHELD this owner does not hold the lock");
    s.check("LOCK.TRANSFER l a b TOKEN 7", "-STALE token 7 is not the current token 1");
    s.check("LOCK.TRANSFER l a b TOKEN 1", ":2")
        .check("HGET l b", "\"2\"")
        .check("HLEN l", ":1")
        .check("PTTL l", ":5000");
    s.check("LOCK.CHECK l 1", ":0").check("LOCK.CHECK l 2", ":1");
    s.check(
        "LOCK.RELEASE l a",
        "-LOCKLOST this owner lost the lock: grant 1 ended (transferred) at 5000000, current grant 2",
    );
    s.check("LOCK.TRANSFER l b mode", "-ERR invalid owner: *")
        .check("LOCK.TRANSFER l b c PX 0", INVALID_LEASE);
    s.check("LOCK.TRANSFER l b c PX", "-ERR syntax error: expected milliseconds at the end")
        .check("LOCK.TRANSFER l b c FOO 1", "-ERR syntax error: expected PX or TOKEN, found 'FOO'");
    s.check("LOCK.TRANSFER l b c PX 1 PX 1", "-ERR syntax error: 'PX' is given twice");
    s.check(&format!("LOCK.TRANSFER l b {T1} PX 9000"), ":3").check("PTTL l", ":9000");
    // Redisson's own thread can now unlock it.
    let unlock = "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return nil end \
                  return redis.call('hincrby', KEYS[1], ARGV[1], -1)";
    s.check(&format!("EVAL \"{unlock}\" 1 l {T1}"), ":1");
    s.check(&format!("LOCK.TRANSFER l {T1} {T1}"), ":4").check("LOCK.CHECK l 3", ":0");
    s.check("RPUSH list x", ":1").check("LOCK.TRANSFER list a b", WRONG_TYPE);
}

const INVALID_LEASE: &str = "-ERR invalid expire time in 'lock.transfer' command: *";
const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

#[test]
fn a_read_hold_is_transferred_with_the_keys_of_its_leases() {
    let mut s = ours::manual_scenario();
    s.run(&format!("HSET l mode read {T1} 2 {T2} 1"));
    for (owner, n) in [(T1, 1), (T1, 2), (T2, 1)] {
        s.run(&format!("SET {{l}}:{owner}:rwlock_timeout:{n} 1 PX {n}000"));
    }
    // The new owner holds the lock by its own grant.
    s.check(&format!("LOCK.TRANSFER l {T1} {T2}"), ":2");
    s.check(&format!("HMGET l mode {T2}"), "[\"read\", \"3\"]").check("HLEN l", ":2");
    for (n, ttl) in [(1, 1000), (2, 1000), (3, 2000)] {
        s.check(&format!("PTTL {{l}}:{T2}:rwlock_timeout:{n}"), &format!(":{ttl}"));
    }
    s.check("DBSIZE", ":4");
    s.run("HSET w mode write a:write 1");
    s.check_that("LOCK.TRANSFER w a b", |token| token.to_string().starts_with(':'));
    s.check("HMGET w mode b:write", "[\"write\", \"1\"]").check("HLEN w", ":2");
}

#[test]
fn a_read_hold_is_transferred_after_an_older_lease_has_ended() {
    let mut s = ours::manual_scenario();
    for (owner, ms) in [("a", 1000), ("a", 5000), ("b", 9000)] {
        s.run(&format!("LOCK.ACQUIRE l {owner} SHARED PX {ms}"));
    }
    s.run("CLOCK.ADVANCE 1000");
    s.check("LOCK.TRANSFER l a c", ":3").check("HGET l c", "\"2\"");
    s.check("PTTL {l}:c:rwlock_timeout:2", ":4000").check("EXISTS {l}:a:rwlock_timeout:2", ":0");
    // The hold ends with its current lease.
    s.run("CLOCK.ADVANCE 4000");
    s.check("HEXISTS l c", ":0").check("LOCK.RELEASE l b", ":0").check("DBSIZE", ":0");
}

#[test]
fn a_transferred_hold_ignores_leases_left_by_an_earlier_lock() {
    let mut s = ours::manual_scenario();
    s.run("SET {l}:c:rwlock_timeout:1 1 PX 90000");
    for ms in [1000, 5000] {
        s.run(&format!("LOCK.ACQUIRE l a SHARED PX {ms}"));
    }
    s.run("CLOCK.ADVANCE 1000");
    s.check("LOCK.TRANSFER l a c", ":2").check("EXISTS {l}:c:rwlock_timeout:1", ":0");
    s.check("PTTL l", ":4000").check("PTTL {l}:c:rwlock_timeout:2", ":4000");
}

#[test]
fn a_transfer_serves_a_waiter_of_the_new_owner() {
    let mut server = Simulation::new(Config::default(), 7);
    let [main, waiter, other] = [0; 3].map(|_| server.connect());
    server.ask(main, "LOCK.ACQUIRE l a");
    server.send(other, "LOCK.ACQUIRE l c BLOCK 0");
    server.send(waiter, "LOCK.ACQUIRE l b BLOCK 0");
    assert_eq!(server.ask(main, "LOCK.TRANSFER l a b"), ":2\r\n");
    assert!(server.read(waiter).contains("$5\r\nholds\r\n:2"));
    assert_eq!(server.read(other), "");
}

#[test]
fn forceunlock_takes_a_lock_from_its_holders() {
    let mut s = ours::manual_scenario();
    s.run("CLOCK.SET 5000000");
    s.check("LOCK.FORCEUNLOCK l", ":0");
    s.run("LOCK.ACQUIRE l a");
    s.check("LOCK.FORCEUNLOCK l TOKEN 2", ":0").check("LOCK.FORCEUNLOCK l OWNER b", ":0");
    s.check("LOCK.FORCEUNLOCK l OWNER", "-ERR syntax error: expected owner at the end");
    s.check(
        "LOCK.FORCEUNLOCK l OWNER a TOKEN 1",
        "-ERR syntax error: 'OWNER' and 'TOKEN' exclude each other",
    );
    s.check("LOCK.FORCEUNLOCK l TOKEN x", "-ERR value is not an integer or out of range: *");
    s.on("redisson").run("SUBSCRIBE redisson_lock__channel:{l}");
    s.check("LOCK.FORCEUNLOCK l OWNER a REASON 'by hand'", ":1").check("EXISTS l", ":0");
    let told = "-LOCKLOST this owner lost the lock: grant 1 ended (forced) at 5000000, current grant none";
    s.check("LOCK.RELEASE l a", told);
    s.on("redisson").expect_push(r#"["message", "redisson_lock__channel:{l}", "0"]"#);
    s.check_that("LOCK.ACQUIRE l b", |granted| granted.to_string().contains("\"forced\""));
    s.check("LOCK.FORCEUNLOCK l TOKEN 2", ":1").check("SET text b NX PX 1000", "+OK");
    s.check("LOCK.FORCEUNLOCK text OWNER c", ":0")
        .check("LOCK.FORCEUNLOCK text", ":1")
        .check("EXISTS text", ":0");
    s.check("RPUSH list x", ":1").check("LOCK.FORCEUNLOCK list", WRONG_TYPE);
}

#[test]
fn one_reader_is_evicted_and_the_others_stay() {
    let mut s = ours::manual_scenario();
    s.run(&format!("HSET l mode read {T1} 2 {T2} 1"));
    for (owner, n) in [(T1, 1), (T1, 2), (T2, 1)] {
        s.run(&format!("SET {{l}}:{owner}:rwlock_timeout:{n} 1 PX {n}000"));
    }
    s.check(&format!("LOCK.FORCEUNLOCK l OWNER {T1}"), ":1").check("DBSIZE", ":2");
    s.check(&format!("HMGET l mode {T2}"), "[\"read\", \"1\"]").check("HLEN l", ":2");
    s.check("LOCK.FORCEUNLOCK l", ":1").check("DBSIZE", ":0");
    s.run("HSET both mode write a:write 1 a 2 b 1");
    s.check("LOCK.FORCEUNLOCK both OWNER a", ":2").check("HMGET both mode b", "[\"read\", \"1\"]");
}

#[test]
fn several_locks_are_released_together_or_not_at_all() {
    let mut s = ours::manual_scenario();
    for lock in ["x", "y", "y"] {
        s.run(&format!("LOCK.ACQUIRE {lock} a"));
    }
    s.check("LOCK.MRELEASE 3 x y z a", "-NOTHELD this owner does not hold the lock").check("DBSIZE", ":2");
    s.check("LOCK.MRELEASE 2 x x a", "-NOTHELD this owner does not hold the lock").check("DBSIZE", ":2");
    s.check("LOCK.MRELEASE 2 x a", "-ERR syntax error: expected owner at the end")
        .check("LOCK.MRELEASE 1 x y a", "-ERR syntax error: 'a' is one word too many");
    s.check("LOCK.MRELEASE 0 x a", "-ERR numkeys should be greater than 0: *");
    s.check("LOCK.MRELEASE 9223372036854775807 x a", "-ERR syntax error: expected key at the end");
    s.check("LOCK.MRELEASE 3 y x y a", "[:1, :0, :0]").check("DBSIZE", ":0");
}

#[test]
fn lock_cancel_ends_the_waits_of_an_owner() {
    let mut server = Simulation::new(Config::default(), 7);
    let [main, one, two, other, list] = [0; 5].map(|_| server.connect());
    server.ask(main, "LOCK.ACQUIRE l a");
    server.send(one, "LOCK.ACQUIRE l b BLOCK 0");
    server.send(other, "LOCK.ACQUIRE l c BLOCK 0");
    server.send(two, "LOCK.ACQUIRE l b BLOCK 0");
    server.send(list, "BLPOP l 0");
    assert_eq!(server.ask(main, "LOCK.CANCEL l x"), ":0\r\n");
    assert_eq!(server.ask(main, "LOCK.CANCEL m b"), ":0\r\n");
    assert_eq!(server.ask(main, "LOCK.CANCEL l b"), ":2\r\n");
    for cancelled in [one, two] {
        assert_eq!(server.read(cancelled), "-UNBLOCKED LOCK.CANCEL ended the wait\r\n");
    }
    assert_eq!(server.ask(main, "LOCK.RELEASE l a"), ":0\r\n");
    assert!(server.read(other).contains("token"));
}

#[test]
fn the_next_holder_of_a_fenced_lock_has_the_next_number_of_the_counter() {
    let mut s = ours::manual_scenario();
    s.run("SET redisson_lock_token:{l} 41");
    s.check_that("LOCK.ACQUIRE l a FENCED", |reply| {
        reply.to_string().replace(": ", ", ").contains("\"token\", :42")
    });
    s.check("LOCK.TRANSFER l a b TOKEN 42", ":43").check("GET redisson_lock_token:{l}", "\"43\"");
    s.check("LOCK.CHECK l 43", ":1").check("LOCK.CHECK l 42", ":0");
    s.check("LOCK.TRANSFER l b b", ":44").check("SET redisson_lock_token:{l} x", "+OK");
    s.check("LOCK.TRANSFER l b c", "-ERR value is not an integer or out of range: *")
        .check("HGET l b", "\"1\"");
    s.run("SET redisson_lock_token:{l} 9223372036854775807");
    s.check("LOCK.TRANSFER l b c", "-ERR increment or decrement would overflow").check("HGET l b", "\"1\"");
}

#[test]
fn a_lock_that_is_a_string_is_transferred() {
    let mut s = ours::manual_scenario();
    s.run("CLOCK.SET 5000000");
    s.run("LOCK.ACQUIRE l a LAYOUT STRING PX 5000");
    s.check("LOCK.TRANSFER l x y", "-NOTHELD this owner does not hold the lock");
    s.check("LOCK.TRANSFER l a b", ":2").check("GET l", "\"b\"").check("PTTL l", ":5000");
    let told = "-LOCKLOST this owner lost the lock: grant 1 ended (transferred) at 5000000, current grant 2";
    s.check("LOCK.RELEASE l a", told).check("LOCK.CHECK l 1", ":0").check("LOCK.CHECK l 2", ":1");
    s.check("LOCK.TRANSFER l b b PX 100", ":3").check("PTTL l", ":100").check("GET l", "\"b\"");
    s.check("LOCK.CHECK l 2", ":0").check("LOCK.RELEASE l b TOKEN 3", ":0").check("EXISTS l", ":0");
    // A hold that another library has taken.
    s.check("SET l f NX PX 1000", "+OK").check("LOCK.TRANSFER l f g", ":5").check("GET l", "\"g\"");
}

//! Deadlines of keys.

use crate::keys::compared::check_against_redis;
use lockwheel_tests::ours;

#[test]
fn ttl_rounds_the_remaining_time() {
    let mut s = ours::manual_scenario();
    s.check("SET k v", "+OK").check("PEXPIRE k 1500", ":1").check("TTL k", ":2").check("PTTL k", ":1500");
    s.run("CLOCK.ADVANCE 1");
    s.check("TTL k", ":1").check("PTTL k", ":1499").run("CLOCK.ADVANCE 1000");
    s.check("TTL k", ":0").check("PTTL k", ":499").run("CLOCK.ADVANCE 498");
    s.check("TTL k", ":0").check("PTTL k", ":1").run("CLOCK.ADVANCE 1");
    s.check("TTL k", ":-2").check("EXISTS k", ":0");
}

#[test]
fn a_removed_deadline_does_not_fire() {
    let mut s = ours::manual_scenario();
    s.check("SET k v PX 10", "+OK").check("SET moved v PX 10", "+OK").check("SET gone v PX 10", "+OK");
    s.check("PERSIST k", ":1")
        .check("PEXPIRE moved 20", ":1")
        .check("DEL gone", ":1")
        .check("SET gone w", "+OK");
    s.run("CLOCK.ADVANCE 19");
    s.check("MGET k moved gone", "[\"v\", \"v\", \"w\"]").run("CLOCK.ADVANCE 1");
    s.check("MGET k moved gone", "[\"v\", (nil), \"w\"]");
}

#[test]
fn a_step_of_the_wall_clock_changes_the_remaining_time() {
    let mut s = ours::manual_scenario();
    s.check("SET k v PX 1000", "+OK").run("CLOCK.STEP -5000");
    s.check("PTTL k", ":6000").run("CLOCK.STEP 6000");
    s.check("EXISTS k", ":0");
}

#[test]
fn deadlines_answer_as_the_real_server() {
    check_against_redis(DEADLINES);
}

const DEADLINES: &str = r#"
    SET k v
    EXPIRE k 100000
    EXPIRE k 100000 NX
    EXPIRE k 100000 XX
    EXPIRE k 200000 GT
    EXPIRE k 100000 GT
    EXPIRE k 100000 LT
    EXPIRE k 200000 LT
    EXPIRE k 100 NX XX
    EXPIRE k 100 GT LT
    EXPIRE k 100 NX GT
    EXPIRE k 100 NX LT
    EXPIRE k 300000 XX GT
    EXPIRE k 300000 XX XX
    EXPIRE k 400000 gt xx
    EXPIRE k 100 FOO
    EXPIRE k 10 "a\r\nb"
    EXPIRE k x FOO
    EXPIRE k x NX
    EXPIRE k x NX XX
    EXPIRE k x
    EXPIRE k
    EXPIRE none 1
    EXPIRE none 1 FOO
    EXPIRE none 9223372036854775807
    EXPIRE k 9223372036854775807
    EXPIRE k 9223372036854775
    EXPIRE k -9223372036854775808
    EXPIRE k -9223372036854775
    EXISTS k
    SET k v
    PEXPIRE k 9223372036854775807
    PEXPIRE k -9223372036854775808
    EXISTS k
    SET k v
    PEXPIREAT k 9223372036854775807
    EXPIRETIME k
    PEXPIRETIME k
    TTL k
    PTTL k
    EXPIREAT k 9223372036854775
    EXPIRETIME k
    EXPIREAT k 9223372036854776
    PEXPIREAT k -9223372036854775808
    SET k v
    EXPIREAT k 1
    SET k v
    EXPIRE k -1
    EXPIRE k -1
    SET k v
    EXPIRE k 0 NX
    SET k v
    EXPIRE k 0 XX
    EXPIRE k 0 GT
    EXPIRE k 0 LT
    SET k v
    EXPIRE k 10 GT
    EXPIRE k 100000 LT
    PEXPIREAT k 4102444800501
    EXPIRETIME k
    PEXPIRETIME k
    PERSIST k
    PERSIST k
    PERSIST none
    TTL k
    PTTL k
    EXPIRETIME k
    TTL none
    PTTL none
    EXPIRETIME none
    PEXPIRETIME none
    RPUSH l v
    PEXPIRE l 100000000
    RPUSH l w
    TTL l
"#;

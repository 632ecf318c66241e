//! Strings.

use crate::keys::compared::{Listener, check_against_redis, server_with_events};
use lockwheel::{Config, Server};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;

#[test]
fn set_and_get_in_all_forms() {
    let mut s = ours::manual_scenario();
    s.check("SET k v", "+OK").check("GET k", "\"v\"").check("GET none", "(nil)");
    s.check("SET k w NX", "(nil)").check("SET n w XX", "(nil)").check("GET k", "\"v\"");
    s.check("SET k w XX GET", "\"v\"").check("SET n w NX GET", "(nil)").check("GET n", "\"w\"");
    s.check("SET k v EX 100", "+OK").check("PTTL k", ":100000");
    s.check("SET k v KEEPTTL", "+OK")
        .check("PTTL k", ":100000")
        .check("SET k v", "+OK")
        .check("PTTL k", ":-1");
    s.check("SET k v PX 1500", "+OK").check("TTL k", ":2").check("GETSET k x", "\"v\"").check("TTL k", ":-1");
    s.check("GETEX k EX 7", "\"x\"")
        .check("TTL k", ":7")
        .check("GETEX k PERSIST", "\"x\"")
        .check("TTL k", ":-1");
    s.check("GETDEL k", "\"x\"").check("GETDEL k", "(nil)");
    s.check("MSET a 1 a 2 b 3", "+OK").check("MGET a none b", "[\"2\", (nil), \"3\"]");
}

#[test]
fn a_string_expires_at_its_millisecond() {
    let mut s = ours::manual_scenario();
    s.check("SET k v PX 100", "+OK").run("CLOCK.ADVANCE 99");
    s.check("PTTL k", ":1").run("CLOCK.ADVANCE 1");
    s.check("GET k", "(nil)").check("DBSIZE", ":0");
}

/// Real servers expire the key at a random time, ours at once: the event comes with the command.
#[test]
fn a_deadline_in_the_past_expires_with_the_command() {
    let ours = server_with_events();
    let (mut client, mut listener) = (Client::connect(ours.addr()), Listener::connect(&ours));
    assert_eq!(client.line("SET k v PXAT 1").to_string(), "+OK");
    assert_eq!(listener.events(), ["0 new k", "0 set k", "0 expire k", "0 expired k"]);
    assert_eq!(client.line("SET k v EXAT 1 GET").to_string(), "(nil)");
    assert_eq!(client.line("EXISTS k").to_string(), ":0");
}

#[test]
fn a_string_does_not_grow_beyond_the_limit() {
    const LIMIT: usize = 1 << 20;
    let mut config = Config::default();
    config.proto_max_bulk_len = LIMIT;
    let ours = Server::builder().config(config).port(0).seed(1).start().unwrap();
    let mut client = Client::connect(ours.addr());
    let mut check =
        |line: &str, expected: &str| assert_eq!(client.line(line).to_string(), expected, "{line}");
    let too_long = "-ERR string exceeds maximum allowed size (proto-max-bulk-len)";
    check(&format!("SETRANGE k {LIMIT} x"), too_long);
    check("EXISTS k", ":0");
    check(&format!("SETRANGE k {} x", LIMIT - 1), &format!(":{LIMIT}"));
    check("APPEND k x", too_long);
    check(&format!("SETRANGE k {} xy", LIMIT - 1), too_long);
    check("STRLEN k", &format!(":{LIMIT}"));
    check("APPEND k ''", &format!(":{LIMIT}"));
}

#[test]
fn set_and_get_answer_as_the_real_server() {
    check_against_redis(SET_AND_GET);
}

const SET_AND_GET: &str = r#"
    SET k v
    SET k v EXAT 4102444800 GET
    PEXPIRETIME k
    SET k v EX 0
    SET k v EX -1
    SET k v EX x
    SET k v EX abc NX
    SET k v EX abc FOO
    SET k v EX " 10"
    SET k v EX 0 FOO
    SET k v EX 9223372036854775807
    SET k v PX 9223372036854775807
    SET k v EXAT 9223372036854775807
    SET k v EXAT 9223372036854775
    EXPIRETIME k
    SET k v PXAT 9223372036854775807
    EXPIRETIME k
    SET k v EX
    SET k v PX 1000 EX 1
    SET k v EX 1000 EX 200000
    TTL k
    SET k v KEEPTTL EX 1
    SET k v KEEPTTL KEEPTTL
    SET k v EX 100 KEEPTTL
    SET k v NX XX
    SET k v PX 10 NX GET XX
    SET k v PERSIST
    SET k v EX 100000
    SET k v GET NX
    SET k v GET GET
    SET n v GET NX
    SET n v XX GET
    SET other v XX
    SET other v XX GET
    LPUSH l a
    SET l v GET
    SET l v NX
    SET l v NX GET
    SET l v EX 0 GET
    GET l
    SET k w KEEPTTL
    TTL k
    SETNX k v
    SETNX nx v
    SETEX k 0 v
    SETEX k 100000 v
    SETEX k abc v
    PSETEX k -1 v
    PSETEX k 9223372036854775807 v
    PSETEX k 100000000 v
    SETEX k 9223372036854775 v
    GETSET k new
    GETSET none new
    GETSET l x
    GETDEL l
    GETDEL k
    GETDEL k
    GETDEL a b
    SET k v
    GETEX k
    GETEX k EX 100000
    GETEX k PERSIST
    GETEX k PERSIST PERSIST
    GETEX k EX 10 EX 200000
    GETEX k EXAT 1
    EXISTS k
    GETEX k EX 0
    GETEX k EX abc
    GETEX k FOO
    SET k v
    GETEX k EX 0
    GETEX k PX abc
    GETEX k EX abc NX
    GETEX k EX 9223372036854775807
    GETEX k EX 10 PERSIST
    GETEX k PERSIST EX 10
    GETEX k EX
    GETEX k NX
    GETEX k KEEPTTL
    GETEX l EX 10
    GETEX l EX 0
    SET "" ""
    GET ""
    SET bin "\x00\xff\r\n"
    GET bin
"#;

#[test]
fn many_strings_answer_as_the_real_server() {
    check_against_redis(MANY_STRINGS);
}

const MANY_STRINGS: &str = r#"
    MSET a 1 b
    MSET a 1 a 2 b 3
    GET a
    EXPIRE a 100000
    MSET a 1
    TTL a
    MSETNX a 1 c 1
    MSETNX c 1 c 2
    GET c
    MSETNX c 1 d
    LPUSH l a
    MGET a b none l
    MSET l 1
    GET l
"#;

#[test]
fn parts_of_strings_answer_as_the_real_server() {
    check_against_redis(PARTS_OF_STRINGS);
}

const PARTS_OF_STRINGS: &str = r#"
    LPUSH l a
    APPEND l x
    APPEND ap x
    OBJECT ENCODING ap
    APPEND ap ""
    OBJECT ENCODING ap
    APPEND ap2 ""
    EXISTS ap2
    APPEND number 5
    OBJECT ENCODING number
    APPEND number 5
    OBJECT ENCODING number
    INCR number
    OBJECT ENCODING number
    STRLEN ap
    STRLEN l
    STRLEN none
    STRLEN number
    GETRANGE ap 0 -1
    GETRANGE none 0 a
    GETRANGE none a 0
    GETRANGE none 0 1
    GETRANGE l 0 1
    SET h "hello world"
    GETRANGE h -3 -1
    GETRANGE h -100 -90
    GETRANGE h -90 -100
    GETRANGE h -1 -5
    GETRANGE h 5 2
    GETRANGE h 100 200
    GETRANGE h -9223372036854775808 9223372036854775807
    SUBSTR h 0 3
    SETRANGE h 6 Redis
    GET h
    SETRANGE h -1 x
    SETRANGE h a x
    SETRANGE none 0 ""
    SETRANGE none -1 ""
    EXISTS none
    SETRANGE l 0 ""
    SETRANGE h 3 ""
    OBJECT ENCODING h
    SETRANGE none2 5 ab
    GET none2
    OBJECT ENCODING none2
    SETRANGE h 536870912 a
    SETRANGE h 9223372036854775807 a
    SETRANGE none3 9223372036854775807 a
    SETRANGE none3 536870911 ""
    SETRANGE none3 9223372036854775807 ""
    SETRANGE l 9223372036854775807 a
    SETRANGE l -1 a
    SETRANGE l -1 ""
    EXPIRE h 100000
    SETRANGE h 0 J
    APPEND h !
    TTL h
"#;

#[test]
fn counters_answer_as_the_real_server() {
    check_against_redis(COUNTERS);
}

const COUNTERS: &str = r#"
    INCR c
    DECR c
    INCRBY c 5
    DECRBY c 2
    INCRBY c x
    INCRBY c 9223372036854775808
    DECRBY c -9223372036854775808
    DECRBY none -9223372036854775808
    DECRBY none 9223372036854775807
    INCRBY none -1
    DECR none
    INCRBY other -9223372036854775808
    SET s abc
    INCR s
    INCRBY s x
    LPUSH l a
    INCR l
    INCRBY l x
    SET m 9223372036854775807
    INCR m
    INCRBY m 1
    DECRBY m -1
    DECR m
    SET m " 5"
    INCR m
    SET m 05
    INCR m
    EXPIRE c 100000
    INCR c
    TTL c
    SET f 1.5
    INCRBYFLOAT f 0.1
    INCRBYFLOAT f abc
    INCRBYFLOAT l abc
    INCRBYFLOAT s 1
    INCRBYFLOAT s abc
    INCRBYFLOAT f 1e400
    INCRBYFLOAT f inf
    INCRBYFLOAT f nan
    INCRBYFLOAT newf 5
    OBJECT ENCODING newf
    INCR newf
    OBJECT ENCODING newf
    EXPIRE newf 100000
    INCRBYFLOAT newf 1e30
    OBJECT ENCODING newf
    INCRBYFLOAT newf 1e44
    OBJECT ENCODING newf
    TTL newf
    SET f inf
    INCRBYFLOAT f 1
    INCRBYFLOAT f " 1"
    SET f " 1"
    INCRBYFLOAT f 1
    SET f ""
    INCRBYFLOAT f 1
    INCRBYFLOAT f ""
    SET f 3.0e3
    INCRBYFLOAT f 200
    INCRBYFLOAT fl 3.0e-5
    INCRBYFLOAT fl 0x10
    INCRBYFLOAT fl 1e-30
    INCRBYFLOAT fl -inf
    INCRBYFLOAT nn -0
    GET nn
"#;

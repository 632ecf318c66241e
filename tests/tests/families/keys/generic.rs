//! Commands on keys of any type.

use crate::keys::compared::check_against_redis;
use lockwheel_tests::ours;

#[test]
fn a_renamed_key_keeps_its_deadline() {
    let mut s = ours::manual_scenario();
    s.check("SET a 1 PX 50", "+OK")
        .check("SET b 2 PX 10", "+OK")
        .check("RENAME a b", "+OK")
        .check("PTTL b", ":50");
    s.check("COPY b c", ":1").check("COPY b b DB 3", ":1").run("CLOCK.ADVANCE 49");
    s.check("MGET a b c", "[(nil), \"1\", \"1\"]").run("CLOCK.ADVANCE 1");
    s.check("DBSIZE", ":0").check("SELECT 3", "+OK").check("DBSIZE", ":0");
}

#[test]
fn randomkey_returns_an_existing_key() {
    let mut s = ours::manual_scenario();
    s.check("RANDOMKEY", "(nil)").check("MSET a 1 b 2", "+OK");
    for _ in 0..20 {
        s.check_that("RANDOMKEY", |key| matches!(key.as_bytes(), Some(b"a" | b"b")));
    }
    s.check("DEL a", ":1").check("RANDOMKEY", "\"b\"");
}

#[test]
fn object_encoding_returns_the_encoding() {
    let mut s = ours::manual_scenario();
    s.check("SET n 5", "+OK").check("OBJECT encoding n", "\"int\"").check("OBJECT ENCODING none", "(nil)");
    s.check("OBJECT ENCODING", "-ERR wrong number of arguments for 'object|encoding' command");
    s.check("OBJECT", "-ERR wrong number of arguments for 'object' command");
    s.check("OBJECT FOO n", "-ERR unknown subcommand 'FOO'. Try OBJECT HELP.");
    s.check_that("OBJECT HELP", |reply| reply.clone().into_elements().is_some_and(|lines| lines.len() == 15));
}

#[test]
fn matching_a_huge_pattern_ends() {
    let mut s = ours::manual_scenario();
    let key = "a".repeat(5000);
    s.check(&format!("SET {key} v"), "+OK");
    // `check` is not used, because the text that it prints on failure would be unreadable.
    for (pattern, found) in [
        ("*a".repeat(900) + "b", 0),
        ("*a".repeat(100_000), 0),
        ("[a-c]".repeat(4999) + "*", 1),
        ("\\a".repeat(4999) + "*", 1),
        ("*".repeat(100_000), 1),
    ] {
        for reply in s.run(&format!("KEYS {pattern}")) {
            assert_eq!(reply.into_elements().map(|keys| keys.len()), Some(found), "{:.20}", pattern);
        }
    }
}

#[test]
fn keys_answer_as_the_real_server() {
    check_against_redis(KEYS);
}

const KEYS: &str = r#"
    MSET a 1 b 2 s 3
    LPUSH l x
    DEL a b c
    DEL b b
    UNLINK s s
    DEL
    SET a 1
    EXISTS a a zz
    TOUCH a a zz
    TYPE a
    TYPE zz
    TYPE l
    RENAME zz a
    RENAME zz zz
    RENAME a a
    RENAMENX a a
    RENAMENX zz zz
    RENAMENX a l
    RENAME a l
    TYPE l
    EXPIRE l 100000
    RENAME l q
    TTL q
    EXISTS l
    SET w 1 EX 100000
    SET v 2
    RENAME v w
    TTL w
    RENAMENX w nn
    COPY nn nn
    COPY zz zz
    COPY nn nn DB 0
    COPY nn nn DB 1
    COPY nn nn DB 1
    COPY nn nn DB 1 REPLACE
    COPY nn c2
    COPY nn c2
    COPY nn c2 REPLACE
    COPY zz c2 REPLACE
    COPY nn c2 DB 16
    COPY nn c2 DB -1
    COPY nn c2 DB x
    COPY nn c2 DB 01
    COPY nn c2 DB
    COPY nn c2 FOO
    COPY nn c2 replace REPLACE
    COPY nn c2 DB 16 FOO
    COPY nn c2 DB 1 DB 0 REPLACE
    COPY nn c2 DB 9223372036854775808
    COPY nn c2 DB 4294967296
    COPY nn c2 DB 2147483648
    COPY nn c2 DB -2147483649
    COPY nn c4 DB 2 DB
    EXPIRE nn 100000
    COPY nn c3
    TTL c3
    RPUSH list a b c
    COPY list list2
    RPUSH list d
    LRANGE list2 0 -1
    OBJECT ENCODING zz
    OBJECT ENCODING nn
    OBJECT ENCODING
    OBJECT
    OBJECT FOO
    OBJECT HELP x
    KEYS *
    KEYS **
    KEYS l*
    KEYS [a-
    KEYS c[23]
    KEYS c?
    KEYS [^c]*
    KEYS ""
    SET "" x
    KEYS ""
    KEYS *
    KEYS **
    KEYS
    RANDOMKEY
    DBSIZE
"#;

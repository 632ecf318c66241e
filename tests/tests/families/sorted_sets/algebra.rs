//! Unions, intersections and differences, and the commands that store them.

use lockwheel_tests::check::{Endpoint, Scenario};
use lockwheel_tests::family;
use lockwheel_tests::family::{expect_events, listen};
use lockwheel_tests::redis_server::Kind;

const SYNTAX: &str = "-ERR syntax error";
const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

fn fill<S: Endpoint>(s: &mut Scenario<S>) {
    s.check("ZADD y 1 a 2 b 3 c", ":3").check("ZADD z 10 b 20 c 30 d", ":3").check("SADD t a b x", ":3");
}

#[test]
fn weights_and_aggregates_combine_scores() {
    family::same_everywhere(|s| {
        fill(s);
        s.check("ZUNION 2 y z", r#"["a", "b", "c", "d"]"#)
            .check3(
                "ZUNION 2 y z WITHSCORES",
                r#"["a", "1", "b", "12", "c", "23", "d", "30"]"#,
                r#"[["a", ,1], ["b", ,12], ["c", ,23], ["d", ,30]]"#,
            )
            .check3(
                "ZINTER 2 y z WEIGHTS 2 3 AGGREGATE MAX WITHSCORES",
                r#"["b", "30", "c", "60"]"#,
                r#"[["b", ,30], ["c", ,60]]"#,
            )
            .check3("ZDIFF 2 y z WITHSCORES", r#"["a", "1"]"#, r#"[["a", ,1]]"#)
            .check3(
                "ZUNION 2 y t AGGREGATE MIN WITHSCORES",
                r#"["a", "1", "b", "1", "x", "1", "c", "3"]"#,
                r#"[["a", ,1], ["b", ,1], ["x", ,1], ["c", ,3]]"#,
            )
            .check("ZINTERCARD 2 y t", ":2")
            .check("ZINTERCARD 3 y y y LIMIT 2", ":2")
            .check("ZINTERCARD 2 y none", ":0");
    });
}

#[test]
fn infinities_that_cancel_out_are_zero() {
    family::same_everywhere(|s| {
        s.check("ZADD y inf a -inf b 0 c", ":3").check("ZADD z -inf a inf b inf c", ":3");
        s.check3("ZUNION 2 y z WITHSCORES", r#"["a", "0", "b", "0", "c", "inf"]"#, {
            r#"[["a", ,0], ["b", ,0], ["c", ,inf]]"#
        })
        .check3("ZINTER 1 y WEIGHTS 0 WITHSCORES", r#"["a", "0", "b", "0", "c", "0"]"#, {
            r#"[["a", ,0], ["b", ,0], ["c", ,0]]"#
        })
        .check3(
            "ZINTER 2 y z WEIGHTS 1 0 AGGREGATE MIN WITHSCORES",
            r#"["b", "-inf", "c", "0", "a", "inf"]"#,
            r#"[["b", ,-inf], ["c", ,0], ["a", ,inf]]"#,
        );
    });
}

#[test]
fn requests_are_read_as_by_the_real_server() {
    family::compare_lines(
        Kind::Redis,
        "ZADD y 1 a 2 b 3 c
         ZADD z 10 b 20 c 30 d
         SADD t a b x
         SADD ints 1 2 3
         ZADD nums 5 1 6 2 7 x
         SET str x
         ZUNION 2 y z WITHSCORES WITHSCORES
         ZUNION 2 y z WEIGHTS 2 3 WEIGHTS 1 1 WITHSCORES
         ZUNION 2 y z withscores weights 0x10 -1e-3 aggregate min
         ZUNION 2 y z AGGREGATE MAX AGGREGATE SUM WITHSCORES
         ZUNION 2 y z WEIGHTS inf -inf WITHSCORES
         ZUNION 1 y WEIGHTS -0 WITHSCORES
         ZUNION 1 t WITHSCORES
         ZUNION 2 ints nums WITHSCORES
         ZINTER 2 nums ints WITHSCORES
         ZDIFF 2 nums ints WITHSCORES
         ZINTER 1 y
         ZINTER 2 y y WITHSCORES
         ZINTER 3 y y y WEIGHTS 1 2 -1 AGGREGATE MIN WITHSCORES
         ZINTER 2 y none
         ZDIFF 1 y WITHSCORES
         ZDIFF 2 y y
         ZDIFF 2 none y
         ZDIFF 2 y none
         ZDIFF 3 y t z WITHSCORES
         ZDIFF 2 y z WEIGHTS 1 1
         ZDIFF 2 y z AGGREGATE SUM
         ZINTERCARD 2 z t
         ZINTERCARD 2 z z LIMIT 0
         ZINTERCARD 2 z z LIMIT 1 LIMIT 2
         ZINTERCARD 2 z z LIMIT
         ZINTERCARD 2 z z WITHSCORES
         ZINTERCARD 2 z z WEIGHTS 1 1
         ZINTERCARD 2 z z LIMIT x
         ZINTERCARD 1 str LIMIT -1
         ZUNION 2 y z WEIGHTS 2
         ZUNION 2 y z WEIGHTS 2 x
         ZUNION 2 y z WEIGHTS nan 1
         ZUNION 2 y z WEIGHTS 1e400 1
         ZUNION 1 y WEIGHTS \"\"
         ZUNION 2 y z AGGREGATE AVG
         ZUNION 2 y z AGGREGATE
         ZUNION 2 y z LIMIT 1
         ZUNION -1 y
         ZUNION 3 y z
         ZUNION 9223372036854775807 y z
         ZUNION 9223372036854775808 y z
         ZUNION 2 y str FOO
         ZUNION 2 none str
         ZUNION 2 none none FOO
         ZUNION 2 none none
         ZUNIONSTORE d 2 y z WITHSCORES
         ZUNIONSTORE d 2 y str
         ZUNIONSTORE d 3 y z
         ZUNIONSTORE d 1 z WEIGHTS -0
         ZRANGE d 0 -1 WITHSCORES
         ZDIFFSTORE d 2 y z WEIGHTS 1 1
         ZINTERSTORE z 2 y z
         ZRANGE z 0 -1 WITHSCORES
         ZDIFFSTORE y 2 y y
         EXISTS y",
    );
}

#[test]
fn invalid_requests_are_refused_and_change_nothing() {
    family::same_everywhere(|s| {
        fill(s);
        s.check("SET str x", "+OK");
        for name in ["ZUNION", "ZINTER", "ZDIFF", "ZINTERCARD"] {
            let lower = name.to_lowercase();
            s.check(
                &format!("{name} 0 y"),
                &format!("-ERR at least 1 input key is needed for '{lower}' command"),
            )
            .check(&format!("{name} x y"), "-ERR value is not an integer or out of range")
            .check(&format!("{name} 3 y z"), SYNTAX)
            .check(&format!("{name} 2 y str"), WRONG_TYPE);
        }
        for name in ["ZUNIONSTORE", "ZINTERSTORE", "ZDIFFSTORE"] {
            let lower = name.to_lowercase();
            s.check(
                &format!("{name} y 0 z"),
                &format!("-ERR at least 1 input key is needed for '{lower}' command"),
            )
            .check(&format!("{name} y 2 z str"), WRONG_TYPE)
            .check(&format!("{name} y 1 z FOO"), SYNTAX);
        }
        s.check("ZUNIONSTORE y 1 z WEIGHTS x", "-ERR weight value is not a float")
            .check("ZINTERCARD 1 y LIMIT -1", "-ERR LIMIT can't be negative")
            .check("ZRANGE y 0 -1", r#"["a", "b", "c"]"#);
    });
}

#[test]
fn a_stored_result_replaces_what_was_there() {
    family::same_everywhere(|s| {
        fill(s);
        listen(s);
        s.check("SET d x EX 1000", "+OK")
            .check("ZUNIONSTORE d 2 y z", ":4")
            .check("TTL d", ":-1")
            .check("ZINTERSTORE d 2 y z", ":2")
            .check("ZDIFFSTORE d 2 y z", ":1")
            .check("ZDIFFSTORE d 2 y y", ":0")
            .check("ZDIFFSTORE d 2 y y", ":0")
            .check("ZINTERSTORE y 2 y none", ":0")
            .check("EXISTS d y", ":0")
            .check("ZUNIONSTORE d 1 t", ":3")
            .check("OBJECT ENCODING d", r#""listpack""#);
        let told = "set d, expire d, zunionstore d, zinterstore d, zdiffstore d, del d, del y, zunionstore d";
        expect_events(s, told);
    });
}

#[test]
fn large_sets_are_combined_as_small_ones() {
    let mut lines = String::new();
    for member in 0..400 {
        lines += &format!("ZADD large {} m{member}\n", member % 17);
        if member % 3 == 0 {
            lines += &format!("ZADD third {member}.5 m{member}\nSADD plain m{}\n", member * 2);
        }
        if member % 5 == 0 {
            lines += &format!("SADD numbers {member}\nZADD few {member} {member}\n");
        }
    }
    lines += "ZUNIONSTORE d 4 large third plain numbers WEIGHTS 1 2 3 4
              ZRANGE d 0 -1 WITHSCORES
              OBJECT ENCODING d
              ZINTERSTORE d 3 large third plain
              ZRANGE d 0 -1 WITHSCORES
              OBJECT ENCODING d
              ZINTERSTORE d 2 numbers few AGGREGATE MIN
              ZRANGE d 0 -1 WITHSCORES
              ZINTERCARD 2 few numbers LIMIT 7
              ZDIFFSTORE d 2 large third
              ZRANGE d 0 -1 WITHSCORES
              ZDIFF 8 large third third third plain plain plain few
              CONFIG SET zset-max-listpack-entries 1000
              ZUNIONSTORE d 2 large third
              OBJECT ENCODING d
              ZINTERSTORE e 2 d large
              ZRANGE e 0 -1 WITHSCORES
              ZUNIONSTORE e 2 few d AGGREGATE MAX
              ZRANGE e 0 -1 WITHSCORES
              CONFIG SET zset-max-listpack-value 2
              ZUNIONSTORE e 1 d
              OBJECT ENCODING e
              CONFIG SET zset-max-listpack-entries 128 zset-max-listpack-value 64";
    family::compare_lines(Kind::Redis, &lines);
}

#[test]
fn keymiss_events_come_in_order_up_to_a_wrong_type() {
    family::same_everywhere(|s| {
        fill(s);
        s.check("SET str x", "+OK").check("CONFIG SET notify-keyspace-events KEAm", "+OK");
        listen(s);
        s.check("ZUNION 3 n1 y n2 FOO", SYNTAX)
            .check("ZUNION 3 n3 str n4", WRONG_TYPE)
            .check("ZINTERCARD 2 n5 n6", ":0");
        expect_events(s, "keymiss n1, keymiss n2, keymiss n3, keymiss n5, keymiss n6");
    });
}

/// CVE-2023-36824, CVE-2023-41053: counts of keys that exceed those in the request.
#[test]
fn cve_2023_36824_and_41053_keys_are_counted_within_the_request() {
    let mut lines = String::new();
    for count in ["1", "2", "3", "0", "-1", "x", "9223372036854775807", "-9223372036854775808", "4294967297"]
    {
        lines += &format!(
            "COMMAND GETKEYS ZUNION {count} a b
             COMMAND GETKEYS ZINTERCARD {count} a b LIMIT 1
             COMMAND GETKEYS ZDIFFSTORE d {count} a b
             COMMAND GETKEYSANDFLAGS ZUNIONSTORE d {count} a b WEIGHTS 1 2\n"
        );
    }
    family::compare_lines(Kind::Redis, &lines);
}

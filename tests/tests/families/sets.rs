//! Sets, as a client sees them.

use lockwheel_tests::differences::newer::as_in_7_2;
use lockwheel_tests::reply::Reply;
use lockwheel_tests::{family, ours};
use std::collections::BTreeSet;

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const NOT_AN_INTEGER: &str = "-ERR value is not an integer or out of range";
const SYNTAX: &str = "-ERR syntax error";

#[test]
fn members_are_added_tested_and_removed() {
    family::same_everywhere(|s| {
        s.check("SADD s 3 1 2 1", ":3")
            .check("SADD s 1", ":0")
            .check("SCARD s", ":3")
            .check("SCARD none", ":0")
            .check("SISMEMBER s 2", ":1")
            .check("SISMEMBER s 02", ":0")
            .check("SISMEMBER none 2", ":0")
            .check("SMISMEMBER s 1 x 3", "[:1, :0, :1]")
            .check("SMISMEMBER none 1 x", "[:0, :0]")
            .check3("SMEMBERS s", r#"["1", "2", "3"]"#, r#"~["1", "2", "3"]"#)
            .check("SSCAN s 0", r#"["0", ["1", "2", "3"]]"#)
            .check("SSCAN s 0 COUNT 1 MATCH [23]", r#"["0", ["2", "3"]]"#)
            .check("SREM s 1 x 1", ":1")
            .check("SREM none 1", ":0")
            .check("SREM s 2 3", ":2")
            .check3("SMEMBERS s", "[]", "~[]")
            .check("SSCAN s 0 COUNT 0", r#"["0", []]"#);
    });
}

#[test]
fn keymiss_events_of_set_algebra_stop_at_a_wrong_type() {
    family::same_everywhere(|s| {
        s.check("CONFIG SET notify-keyspace-events EAm", "+OK").run("SADD s 1 2 3");
        s.run("SET x 1");
        family::listen(s);
        let misses = "keymiss n, keymiss n, keymiss m";
        for command in ["SINTER", "SUNION", "SDIFF", "SINTERSTORE d", "SUNIONSTORE d", "SINTERCARD 4"] {
            s.run(&format!("{command} n s n m"));
            family::expect_events(s, misses);
            if command == "SUNIONSTORE d" {
                family::expect_events(s, "sunionstore d");
            }
        }
        s.check("SDIFFSTORE d n s", ":0");
        family::expect_events(s, "keymiss n, del d");
        s.check("SUNION n x m", WRONG_TYPE).check("SINTERSTORE d n x m", WRONG_TYPE).check("DEL s", ":1");
        family::expect_events(s, "keymiss n, keymiss n, del s");
    });
}

#[test]
fn a_small_set_keeps_the_order_of_insertion() {
    // Before 7.2, only sets of integers had an order.
    family::same_on(as_in_7_2("small sets are listpacks"), |s| {
        s.check("SADD s c a b 7", ":4")
            .check3("SMEMBERS s", r#"["c", "a", "b", "7"]"#, r#"~["c", "a", "b", "7"]"#)
            .check("SADD t x b 7 a y", ":5")
            .check3("SINTER t s", r#"["a", "b", "7"]"#, r#"~["a", "b", "7"]"#)
            .check("SRANDMEMBER s 4", r#"["c", "a", "b", "7"]"#)
            .check("SSCAN s 0", r#"["0", ["c", "a", "b", "7"]]"#);
    });
}

#[test]
fn members_move() {
    family::same_everywhere(|s| {
        s.check("SADD s a b", ":2")
            .check("HSET h f v", ":1")
            .check("SMOVE s t a", ":1")
            .check("SMOVE s t a", ":0")
            .check("SMOVE s s b", ":1")
            .check("SMOVE s s x", ":0")
            .check("SMOVE none h a", ":0")
            .check("SMOVE s h none", WRONG_TYPE)
            .check("SMOVE h s f", WRONG_TYPE)
            .check("SMOVE s t b", ":1")
            .check("SCARD s", ":0")
            .check_sorted("SMEMBERS t", r#"["a", "b"]"#, r#"~["a", "b"]"#);
    });
}

#[test]
fn sets_are_combined() {
    family::same_everywhere(|s| {
        s.check("SADD a 1 2 3 4", ":4")
            .check("SADD b 3 4 5", ":3")
            .check("SADD c 4 x", ":2")
            .check3("SINTER a b", r#"["3", "4"]"#, r#"~["3", "4"]"#)
            .check3("SINTER a b c", r#"["4"]"#, r#"~["4"]"#)
            .check3("SINTER a none", "[]", "~[]")
            .check3("SINTER a a", r#"["1", "2", "3", "4"]"#, r#"~["1", "2", "3", "4"]"#)
            .check3("SUNION a none b", r#"["1", "2", "3", "4", "5"]"#, r#"~["1", "2", "3", "4", "5"]"#)
            .check_sorted("SUNION b c", r#"["3", "4", "5", "x"]"#, r#"~["3", "4", "5", "x"]"#)
            .check3("SUNION none", "[]", "~[]")
            .check3("SDIFF a b", r#"["1", "2"]"#, r#"~["1", "2"]"#)
            .check3("SDIFF a b a", "[]", "~[]")
            .check3("SDIFF none a", "[]", "~[]")
            .check3("SDIFF a none", r#"["1", "2", "3", "4"]"#, r#"~["1", "2", "3", "4"]"#)
            .check("SINTERSTORE d a b", ":2")
            .check3("SMEMBERS d", r#"["3", "4"]"#, r#"~["3", "4"]"#)
            .check("SUNIONSTORE d d c", ":3")
            .check_sorted("SMEMBERS d", r#"["3", "4", "x"]"#, r#"~["3", "4", "x"]"#)
            .check("SDIFFSTORE d a b c", ":2")
            .check3("SMEMBERS d", r#"["1", "2"]"#, r#"~["1", "2"]"#)
            .check("SINTERSTORE d a none", ":0")
            .check("SCARD d", ":0")
            .check("SINTERCARD 2 a b", ":2")
            .check("SINTERCARD 2 a b LIMIT 1", ":1")
            .check("SINTERCARD 1 a limit 0", ":4")
            .check("SINTERCARD 1 a LIMIT 3 LIMIT 2", ":2")
            .check("SINTERCARD 2 a none", ":0");
    });
}

#[test]
fn both_algorithms_give_the_same_difference() {
    family::same_everywhere(|s| {
        // Many other sets that are small: their members are removed, not looked up.
        s.check("SADD a 1 2 3 4 5 6 7 8 9", ":9").check("SADD b 2", ":1").check("SADD c 3 x", ":2");
        s.check_sorted(
            "SDIFF a b c none b",
            r#"["1", "4", "5", "6", "7", "8", "9"]"#,
            r#"~["1", "4", "5", "6", "7", "8", "9"]"#,
        );
        s.check3("SDIFF b a a c", "[]", "~[]");
    });
}

#[test]
fn errors_are_reported_in_the_order_of_the_real_server() {
    family::same_everywhere(|s| {
        let range =
            "-ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807";
        let positive = "-ERR value is out of range, must be positive";
        s.check("HSET h f v", ":1")
            .check("SADD s a b c", ":3")
            .check("SADD h m", WRONG_TYPE)
            .check("SINTER none h", WRONG_TYPE)
            .check("SUNION s h", WRONG_TYPE)
            .check("SDIFF s s h", WRONG_TYPE)
            .check("SINTERSTORE s s h", WRONG_TYPE)
            .check("SRANDMEMBER h -9223372036854775808", range)
            .check("SRANDMEMBER h x", NOT_AN_INTEGER)
            .check("SRANDMEMBER h x y", SYNTAX)
            .check("SRANDMEMBER h 0", WRONG_TYPE)
            .check("SPOP h -1", positive)
            .check("SPOP h x", positive)
            .check("SPOP h 9223372036854775808", positive)
            .check("SPOP h x y", SYNTAX)
            .check("SPOP h 0", WRONG_TYPE)
            .check("SPOP h", WRONG_TYPE)
            .check("SINTERCARD 0 h", "-ERR numkeys should be greater than 0")
            .check("SINTERCARD x h", "-ERR numkeys should be greater than 0")
            .check("SINTERCARD 2 h", "-ERR Number of keys can't be greater than number of args")
            .check("SINTERCARD 1 h LIMIT", SYNTAX)
            .check("SINTERCARD 1 h LIMIT -1", "-ERR LIMIT can't be negative")
            .check("SINTERCARD 1 h LIMIT x", "-ERR LIMIT can't be negative")
            .check("SINTERCARD 1 h x", SYNTAX)
            .check("SINTERCARD 1 h", WRONG_TYPE)
            .check("SSCAN h x", "-ERR invalid cursor")
            .check("SSCAN h 0 COUNT 0", WRONG_TYPE)
            .check("SSCAN s 0 COUNT 0", SYNTAX)
            .check("SSCAN s 0 MATCH", SYNTAX);
    });
}

#[test]
fn random_members_are_shown_or_taken() {
    family::same_everywhere(|s| {
        s.check("SRANDMEMBER none", "(nil)")
            .check("SRANDMEMBER none 5", "[]")
            .check("SRANDMEMBER none -9223372036854775807", "[]")
            .check("SPOP none", "(nil)")
            .check3("SPOP none 1", "[]", "~[]")
            .check("SADD s m", ":1")
            .check("SRANDMEMBER s", "\"m\"")
            .check("SRANDMEMBER s 0", "[]")
            .check("SRANDMEMBER s 9223372036854775807", r#"["m"]"#)
            .check("SRANDMEMBER s -3", r#"["m", "m", "m"]"#)
            .check3("SPOP s 0", "[]", "~[]")
            .check("SPOP s", "\"m\"")
            .check("SPOP s", "(nil)")
            .check("SADD s 3 1 2", ":3")
            .check("SRANDMEMBER s 5", r#"["1", "2", "3"]"#)
            .check3("SPOP s 3", r#"["1", "2", "3"]"#, r#"~["1", "2", "3"]"#)
            .check("SCARD s", ":0");
    });
}

/// The words of a reply that is an array of bulk strings.
fn words(reply: &Reply) -> Vec<Vec<u8>> {
    let elements = reply.clone().into_elements().unwrap_or_default();
    elements.iter().filter_map(|element| element.as_bytes().map(<[u8]>::to_vec)).collect()
}

#[test]
fn spop_removes_the_popped_members_only() {
    let mut s = ours::scenario();
    for size in [20, 1000] {
        let members: BTreeSet<Vec<u8>> = (0..size).map(|n| format!("m{n}").into_bytes()).collect();
        let text: Vec<_> =
            members.iter().map(|member| String::from_utf8_lossy(member).into_owned()).collect();
        s.check(&format!("SADD s {}", text.join(" ")), &format!(":{size}"));
        let popped = s.run(&format!("SPOP s {}", size / 2));
        let left = s.run("SMEMBERS s");
        for (popped, left) in popped.iter().zip(&left) {
            let (popped, left) = (words(popped), words(left));
            assert_eq!((popped.len(), left.len()), (size / 2, size / 2));
            assert_eq!(popped.into_iter().chain(left).collect::<BTreeSet<_>>(), members);
        }
        s.check_that(&format!("SPOP s {size}"), |reply| words(reply).len() == size / 2)
            .check("SCARD s", ":0");
    }
}

#[test]
fn random_members_of_a_large_set_are_distinct_for_positive_counts() {
    let mut s = ours::scenario();
    let members: Vec<String> = (0..600).map(|n| format!("m{n}")).collect();
    s.check(&format!("SADD s {}", members.join(" ")), ":600");
    let different = |reply: &Reply| words(reply).into_iter().collect::<BTreeSet<_>>().len();
    s.check_that("SRANDMEMBER s 250", |reply| words(reply).len() == 250 && different(reply) == 250)
        .check_that("SRANDMEMBER s 5000", |reply| words(reply).len() == 600 && different(reply) == 600)
        .check_that("SRANDMEMBER s -2000", |reply| {
            words(reply).len() == 2000 && (400..600).contains(&different(reply))
        })
        .check("SRANDMEMBER s -4194305", "-ERR value is out of range")
        .check("SRANDMEMBER s -9223372036854775807", "-ERR value is out of range");
}

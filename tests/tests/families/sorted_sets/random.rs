//! Random members.

use lockwheel_tests::reply::Reply;
use lockwheel_tests::{family, ours};
use std::collections::BTreeSet;

const NOT_AN_INTEGER: &str = "-ERR value is not an integer or out of range";
const OUT_OF_RANGE: &str = "-ERR value is out of range";
const SYNTAX: &str = "-ERR syntax error";
const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

#[test]
fn zrandmember_of_all_members_orders_by_descending_score() {
    family::same_everywhere(|s| {
        s.check("ZADD z 2 b 1 a 1 c", ":3")
            .check("ZRANDMEMBER z 3", r#"["b", "c", "a"]"#)
            .check("ZRANDMEMBER z 9223372036854775807", r#"["b", "c", "a"]"#)
            .check3("ZRANDMEMBER z 10 withscores", r#"["b", "2", "c", "1", "a", "1"]"#, {
                r#"[["b", ,2], ["c", ,1], ["a", ,1]]"#
            })
            .check("ZRANDMEMBER z 0", "[]")
            .check("ZRANDMEMBER none", "(nil)")
            .check("ZRANDMEMBER none 3", "[]")
            .check("ZRANDMEMBER none -3 WITHSCORES", "[]")
            .check("ZADD one 1 m", ":1")
            .check("ZRANDMEMBER one", "\"m\"")
            .check("ZRANDMEMBER one -3", r#"["m", "m", "m"]"#);
    });
}

/// CVE-2023-22458, CVE-2023-25155: the negation of these counts overflows.
#[test]
fn cve_2023_22458_and_25155_counts_without_an_opposite_are_refused() {
    family::same_everywhere(|s| {
        let range =
            "-ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807";
        s.check("ZADD z 1 a", ":1")
            .check("ZRANDMEMBER z -9223372036854775808", range)
            .check("ZRANDMEMBER z -9223372036854775808 WITHSCORES", range)
            .check("ZRANDMEMBER z -9223372036854775807 WITHSCORES", OUT_OF_RANGE)
            .check("ZRANDMEMBER z -9223372036854770000 WITHSCORES", OUT_OF_RANGE)
            .check("ZRANDMEMBER z 4611686018427387904 WITHSCORES", OUT_OF_RANGE)
            .check3("ZRANDMEMBER z 4611686018427387903 WITHSCORES", r#"["a", "1"]"#, r#"[["a", ,1]]"#)
            .check("ZRANDMEMBER none -9223372036854775808", range);
    });
    let mut s = ours::scenario();
    s.check("ZADD z 1 a", ":1")
        .check("ZRANDMEMBER z -9223372036854775807", OUT_OF_RANGE)
        .check("ZRANDMEMBER z -9223372036854770000", OUT_OF_RANGE)
        .check("ZRANDMEMBER z -4194305", OUT_OF_RANGE)
        .check("PING", "+PONG");
}

#[test]
fn errors_are_reported_in_the_order_of_the_real_server() {
    family::same_everywhere(|s| {
        s.check("SET str x", "+OK")
            .check("ZRANDMEMBER str", WRONG_TYPE)
            .check("ZRANDMEMBER str 0", WRONG_TYPE)
            .check("ZRANDMEMBER str x", NOT_AN_INTEGER)
            .check("ZRANDMEMBER str x x", NOT_AN_INTEGER)
            .check("ZRANDMEMBER str 1 x", SYNTAX)
            .check("ZRANDMEMBER str 1 WITHSCORES x", SYNTAX)
            .check("ZRANDMEMBER str withscores", NOT_AN_INTEGER);
    });
}

#[test]
fn members_are_distinct_unless_repetition_is_asked_for() {
    let mut s = ours::scenario();
    for size in [50, 600] {
        let pairs: Vec<String> = (0..size).map(|n| format!("{n} m{n}")).collect();
        s.check("DEL z", if size == 50 { ":0" } else { ":1" })
            .check(&format!("ZADD z {}", pairs.join(" ")), &format!(":{size}"));
        let words = |reply: &Reply| reply.clone().into_elements().unwrap_or_default();
        let different =
            |reply: &Reply| words(reply).iter().map(Reply::to_string).collect::<BTreeSet<_>>().len();
        s.check_that("ZRANDMEMBER z 30", |reply| words(reply).len() == 30 && different(reply) == 30)
            .check_that("ZRANDMEMBER z -2000", |reply| {
                words(reply).len() == 2000 && (size / 2..=size).contains(&different(reply))
            });
    }
}

//! Whole databases, and TIME.

use crate::beside::check_beside_real;
use lockwheel_tests::ours;

#[test]
fn a_flush_takes_one_database_or_all_with_their_deadlines() {
    let mut s = ours::manual_scenario();
    s.check("MSET a 1 b 2", "+OK")
        .check("PEXPIRE a 10", ":1")
        .check("SELECT 1", "+OK")
        .check("SET c 3", "+OK");
    s.check("FLUSHDB", "+OK").check("DBSIZE", ":0").check("SELECT 0", "+OK").check("DBSIZE", ":2");
    s.check("FLUSHALL ASYNC", "+OK").check("DBSIZE", ":0").check("SET a new", "+OK").run("CLOCK.ADVANCE 10");
    s.check("GET a", "\"new\"");
}

#[test]
fn a_flush_breaks_a_transaction_that_watches_a_key_there() {
    let mut s = ours::manual_scenario();
    for (watched, expected) in [("a", "(nil)"), ("none", "[+PONG]")] {
        s.check("SET a 1", "+OK").check(&format!("WATCH {watched}"), "+OK").check("MULTI", "+OK");
        s.check("PING", "+QUEUED").on("other").check("FLUSHALL", "+OK");
        s.check("EXEC", expected);
    }
}

#[test]
fn time_is_the_wall_hand() {
    let mut s = ours::manual_scenario();
    s.run("CLOCK.SET 1234567890123");
    s.check("TIME", "[\"1234567890\", \"123000\"]").run("CLOCK.ADVANCE 877");
    s.check("TIME", "[\"1234567891\", \"0\"]");
}

#[test]
fn databases_answer_as_the_real_server() {
    check_beside_real(DATABASES);
}

const DATABASES: &str = r#"
    DBSIZE
    MSET a 1 b 2 c 3
    DBSIZE
    DBSIZE x
    FLUSHDB FOO
    FLUSHDB ASYNC SYNC
    FLUSHDB SYNC
    DBSIZE
    SET a 1
    FLUSHALL x
    FLUSHALL x y
    DBSIZE
    FLUSHALL async
    DBSIZE
    TIME
    TIME x
"#;

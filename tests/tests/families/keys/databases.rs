//! Whole databases, and TIME.

use crate::keys::compared::check_against_redis;
use lockwheel_tests::ours;

#[test]
fn a_flush_removes_the_keys_and_deadlines_of_one_or_all_databases() {
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
fn a_flush_aborts_a_transaction_that_watches_an_existing_key() {
    let mut s = ours::manual_scenario();
    for (watched, expected) in [("a", "(nil)"), ("none", "[+PONG]")] {
        s.check("SET a 1", "+OK").check(&format!("WATCH {watched}"), "+OK").check("MULTI", "+OK");
        s.check("PING", "+QUEUED").on("other").check("FLUSHALL", "+OK");
        s.check("EXEC", expected);
    }
}

#[test]
fn time_returns_the_wall_clock() {
    let mut s = ours::manual_scenario();
    s.run("CLOCK.SET 1234567890123");
    s.check("TIME", "[\"1234567890\", \"123000\"]").run("CLOCK.ADVANCE 877");
    s.check("TIME", "[\"1234567891\", \"0\"]");
}

#[test]
fn databases_answer_as_the_real_server() {
    check_against_redis(DATABASES);
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

#[test]
fn with_save_points_nothing_remains_to_be_saved_once_all_keys_are_flushed() {
    let server = lockwheel_tests::ours::server();
    let mut client = lockwheel_tests::client::Client::connect(server.addr());
    let mut changes = |lines: &[&str]| {
        lines.iter().for_each(|line| assert_eq!(client.line(line).to_string(), "+OK", "{line}"));
        let told = client.line("INFO persistence").to_string();
        let value = told.split("\\r\\n").find_map(|line| line.strip_prefix("rdb_changes_since_last_save:"));
        value.and_then(|value| value.parse::<u64>().ok()).expect("it is told")
    };
    assert_eq!(changes(&["CONFIG SET save '3600 1'", "SET k v"]), 1);
    assert_eq!(changes(&["FLUSHALL"]), 0);
    assert_eq!(changes(&["CONFIG SET save ''", "SET k v", "FLUSHALL"]), 2);
}

/// Integers are shared, except while the access times of keys matter: a shared object has one clock.
#[test]
fn small_integers_are_shared_unless_the_policy_needs_access_times() {
    let policies = ["allkeys-random", "volatile-ttl", "noeviction", "allkeys-lru", "volatile-lfu"];
    let limited = policies.map(|policy| {
        format!("CONFIG SET maxmemory 100mb maxmemory-policy {policy}\nSET k 1\nOBJECT REFCOUNT k\n")
    });
    let lines = format!(
        "SET k 1\nOBJECT REFCOUNT k\n{}CONFIG SET maxmemory 0\nSET k 1\nOBJECT REFCOUNT k",
        limited.concat()
    );
    lockwheel_tests::family::compare_lines(lockwheel_tests::redis_server::Kind::Redis, &lines);
}

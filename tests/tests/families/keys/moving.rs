//! MOVE and SWAPDB.

use lockwheel_tests::family;
use lockwheel_tests::ours;

#[test]
fn a_key_moved_to_another_database_keeps_its_deadline() {
    family::same_everywhere(|s| {
        s.check("SET k v EX 100000", "+OK")
            .check("MOVE k 1", ":1")
            .check("MOVE k 1", ":0")
            .check("EXISTS k", ":0")
            .check("SET k w", "+OK")
            .check("MOVE k 1", ":0")
            .check("SELECT 1", "+OK")
            .check("GET k", "\"v\"")
            .check("TTL k", ":100000")
            .check("MOVE k 1", "-ERR source and destination objects are the same")
            .check("MOVE k 16", "-ERR DB index is out of range")
            .check("MOVE k -1", "-ERR DB index is out of range")
            .check("MOVE k x", "-ERR value is not an integer or out of range");
    });
}

#[test]
fn moving_a_key_notifies_watchers_and_waiters() {
    family::same_everywhere(|s| {
        s.on("watcher").check("SELECT 1", "+OK").check("WATCH k", "+OK").check("MULTI", "+OK");
        s.on("waiter").check("SELECT 1", "+OK").send("BLPOP l 0");
        family::await_blocked(s, 1);
        s.check("RPUSH l a", ":1").check("MOVE l 1", ":1").check("SET k v", "+OK").check("MOVE k 1", ":1");
        s.on("waiter").expect(r#"["l", "a"]"#);
        s.on("watcher").check("EXEC", "(nil)");
        s.check("WATCH k2", "+OK").check("SET k2 v", "+OK").check("MOVE k2 1", ":1").check("MULTI", "+OK");
        s.check("EXEC", "(nil)");
    });
}

#[test]
fn move_publishes_events_in_both_databases() {
    family::same_everywhere(|s| {
        s.check("SET k v", "+OK").on("listener").run("PSUBSCRIBE __keyspace@*");
        s.check("MOVE k 1", ":1");
        for (db, event) in [(0, "move_from"), (1, "move_to")] {
            let expected = format!(r#"["pmessage", "__keyspace@*", "__keyspace@{db}__:k", "{event}"]"#);
            s.on("listener").expect_push(&expected);
        }
    });
}

#[test]
fn swapdb_swaps_data_and_keeps_the_database_of_each_client() {
    family::same_everywhere(|s| {
        s.check("SET k v EX 100000", "+OK")
            .check("SWAPDB 0 1", "+OK")
            .check("EXISTS k", ":0")
            .check("SELECT 1", "+OK")
            .check("GET k", "\"v\"")
            .check("TTL k", ":100000")
            .check("SWAPDB 1 1", "+OK")
            .check("GET k", "\"v\"")
            .check("SWAPDB x y", "-ERR invalid first DB index")
            .check("SWAPDB 0 y", "-ERR invalid second DB index")
            .check("SWAPDB 2147483648 0", "-ERR invalid first DB index")
            .check("SWAPDB 0 16", "-ERR DB index is out of range")
            .check("SWAPDB -1 0", "-ERR DB index is out of range");
    });
}

#[test]
fn swapdb_notifies_watchers_and_waiters() {
    family::same_everywhere(|s| {
        s.on("other").check("SELECT 1", "+OK").check("RPUSH l a", ":1").check("SET k v", "+OK");
        s.on("watcher").check("WATCH k", "+OK").check("MULTI", "+OK");
        s.on("idle").check("WATCH x", "+OK").check("MULTI", "+OK");
        s.on("waiter").send("BLPOP l 0");
        family::await_blocked(s, 1);
        s.check("SWAPDB 0 1", "+OK");
        s.on("waiter").expect(r#"["l", "a"]"#);
        s.on("watcher").check("EXEC", "(nil)");
        s.on("idle").check("EXEC", "[]");
    });
}

#[test]
fn deadlines_and_locks_go_with_their_keys() {
    let mut s = ours::manual_scenario();
    s.check("SET k v PX 100", "+OK").check("SELECT 1", "+OK").check("SET k w PX 200", "+OK");
    s.check("HSET lock a 1 b 1", ":2").check("SWAPDB 0 1", "+OK").run("CLOCK.ADVANCE 100");
    s.check("EXISTS k", ":0").check("SELECT 0", "+OK").check("GET k", "\"w\"").run("CLOCK.ADVANCE 100");
    s.check("DBSIZE", ":1").check("HLEN lock", ":2");
}

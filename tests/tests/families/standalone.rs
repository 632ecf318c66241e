//! Answers of a standalone server, which is no node of a cluster, no replica, and keeps its keys in memory only.

use lockwheel::Server;
use lockwheel_tests::check::Scenario;
use lockwheel_tests::redis_server::Kind;
use lockwheel_tests::reply::Reply;
use lockwheel_tests::{family, ours};

#[test]
fn a_cluster_is_disabled() {
    family::compare_lines(
        Kind::Redis,
        "CLUSTER
         CLUSTER INFO
         CLUSTER KEYSLOT a
         CLUSTER KEYSLOT
         CLUSTER COUNTKEYSINSLOT 1
         CLUSTER GETKEYSINSLOT 1 10
         CLUSTER MEET 127.0.0.1 1
         CLUSTER MEET
         CLUSTER RESET HARD
         CLUSTER RESET a b c
         CLUSTER SETSLOT 1 STABLE
         CLUSTER SHARDS
         CLUSTER SLOTS
         CLUSTER NODES
         CLUSTER MYID
         CLUSTER HELP
         CLUSTER HELP x
         CLUSTER NOSUCH
         READONLY
         READONLY x
         READWRITE
         ASKING
         MULTI
         CLUSTER SLOTS
         READONLY
         EXEC",
    );
    family::compare_lines(Kind::Valkey, "CLUSTER MYSHARDID\nCLUSTER INFO\nASKING");
}

#[test]
fn replicaof_on_a_standalone_server_replies_as_on_redis() {
    family::compare_lines(
        Kind::Redis,
        "REPLICAOF NO ONE
         replicaof no one
         SLAVEOF NO ONE
         REPLICAOF NO TWO
         REPLICAOF host x
         REPLICAOF host 65536
         SLAVEOF host -1
         REPLCONF
         REPLCONF listening-port 1
         REPLCONF listening-port x
         REPLCONF listening-port
         REPLCONF capa eof
         REPLCONF capa x ip-address 127.0.0.1
         REPLCONF nosuch x
         REPLCONF rdb-only 0
         REPLCONF rdb-only x
         REPLCONF rdb-only 2
         REPLCONF rdb-filter-only x
         REPLCONF rdb-filter-only 'functions x'
         REPLCONF rdb-filter-only functions
         REPLCONF a b c
         PSYNC ? x
         FAILOVER
         FAILOVER ABORT
         FAILOVER TO a 1
         FAILOVER TO a
         FAILOVER TO a x
         FAILOVER TO a 1 FORCE
         FAILOVER TO a 1 FORCE TIMEOUT 5
         FAILOVER TIMEOUT 0
         FAILOVER TIMEOUT -1
         FAILOVER TIMEOUT x
         FAILOVER ABORT TO a 1
         FAILOVER NOSUCH
         FAILOVER TIMEOUT 5
         FAILOVER TIMEOUT 5 TIMEOUT 6",
    );
}

#[test]
fn replconf_ack_gets_no_reply() {
    let mut s = ours::scenario();
    s.on("main").send("REPLCONF ACK 1").send("REPLCONF GETACK *").send("PING").expect("+PONG");
}

#[test]
fn waitaof_counts_no_local_fsync() {
    family::same_on(&[Kind::Valkey], |s| {
        s.check("SET k v", "+OK")
            .check("WAITAOF 0 0 0", "[:0, :0]")
            .check("WAITAOF 0 1 1", "[:0, :0]")
            .check(
                "WAITAOF 1 0 1",
                "-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.",
            )
            .check("WAITAOF 2 0 1", "-ERR value is out of range, value must between 0 and 1")
            .check("WAITAOF -1 0 1", "-ERR value is out of range, value must between 0 and 1")
            .check("WAITAOF x 0 1", "-ERR value is not an integer or out of range")
            .check("WAITAOF 0 -1 1", "-ERR value is out of range, must be positive")
            .check("WAITAOF 0 x 1", "-ERR value is out of range, must be positive")
            .check("WAITAOF 0 0 -1", "-ERR timeout is negative")
            .check("WAITAOF 0 0 x", "-ERR timeout is not an integer or out of range")
            .check("MULTI", "+OK")
            .check("WAITAOF 0 1 0", "+QUEUED")
            .check("EXEC", "[[:0, :0]]");
    });
}

#[test]
fn save_updates_lastsave() {
    let mut s = ours::manual_scenario();
    let info = |text: &'static str| {
        move |reply: &Reply| String::from_utf8_lossy(reply.as_bytes().unwrap()).contains(text)
    };
    let started = s.run("LASTSAVE");
    s.check("SET k v", "+OK").check_that("INFO persistence", info("rdb_changes_since_last_save:1\r\n"));
    s.run("CLOCK.ADVANCE 5000");
    assert_eq!(s.run("LASTSAVE"), started);
    let saved = 1_700_000_000;
    s.run(&format!("CLOCK.SET {saved}000"));
    s.check("SAVE", "+OK").check_that("INFO persistence", info("rdb_changes_since_last_save:0\r\n"));
    s.check("LASTSAVE", &format!(":{saved}"));
    s.run("CLOCK.ADVANCE 5000");
    s.check("BGSAVE", "+Background saving started");
    let await_saved = |s: &mut Scenario<Server>| {
        for client in s.on("main").clients() {
            let is_saving = |reply: &Reply| {
                let text = String::from_utf8_lossy(reply.as_bytes().unwrap()).into_owned();
                text.contains("rdb_bgsave_in_progress:1")
            };
            while is_saving(&client.line("INFO persistence")) {}
        }
    };
    await_saved(&mut s);
    s.check("CONFIG RESETSTAT", "+OK").check("LASTSAVE", &format!(":{}", saved + 5));
    s.check("BGSAVE SCHEDULE", "+Background saving started");
    await_saved(&mut s);
    s.check("BGSAVE NOW", "-ERR syntax error")
        .check("BGSAVE SCHEDULE x", "-ERR syntax error")
        .check("BGREWRITEAOF", "+Background append only file rewriting started")
        .check("MULTI", "+OK")
        .check("BGSAVE", "+QUEUED")
        .check("BGREWRITEAOF", "+QUEUED")
        .check("SAVE", "-ERR Command not allowed inside a transaction");
    s.check("DISCARD", "+OK")
        .check("MULTI", "+OK")
        .check("BGSAVE", "+QUEUED")
        .check("BGREWRITEAOF", "+QUEUED");
    s.check("EXEC", "[+Background saving scheduled, +Background append only file rewriting scheduled]");
}

#[test]
fn there_are_no_modules() {
    family::compare_lines(
        Kind::Redis,
        "MODULE
         MODULE LIST
         MODULE LOAD
         MODULE LOAD /no/such
         MODULE LOADEX /no/such CONFIG a b
         MODULE UNLOAD x
         MODULE NOSUCH",
    );
}

#[test]
fn lolwut_shows_the_version() {
    let mut s = ours::scenario();
    s.check3("LOLWUT", "\"Redis ver. 7.2.7\\n\"", "=txt:\"Redis ver. 7.2.7\\n\"");
    s.check3("LOLWUT VERSION 5 10", "\"Redis ver. 7.2.7\\n\"", "=txt:\"Redis ver. 7.2.7\\n\"");
    s.check("LOLWUT VERSION x", "-ERR value is not an integer or out of range");
}

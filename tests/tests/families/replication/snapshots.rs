//! Snapshots for replicas, produced in pieces: other clients are served meanwhile, new replicas share one, and the
//! stream since its beginning follows it.

use crate::replication::servers::{AnyServer, Makes, Pair, info, noise};
use crate::replication::silent;
use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::shapes::until;
use std::io::Read;
use std::net::TcpStream;

/// Keys of the data. With [`HOLD`], a snapshot of them does not end before [`release`].
pub(super) const KEYS: usize = 20_000;
/// Each key takes a fifth of a second.
const HOLD: &str = "CONFIG SET rdb-key-save-delay 200000";
pub(super) const IN_PROGRESS: &str = "-ERR Background save already in progress";

/// Lets a snapshot end.
pub(super) fn release(client: &mut Client) {
    assert_eq!(client.line("CONFIG SET rdb-key-save-delay 0").to_string(), "+OK");
}

/// Fills a server, and holds its later snapshots.
pub(super) fn fill(client: &mut Client) {
    for line in [&format!("DEBUG POPULATE {KEYS} key 30"), HOLD] {
        assert_eq!(client.line(line).to_string(), "+OK");
    }
}

pub(super) fn held_server() -> (AnyServer, Client) {
    let server = Box::new(ours::server());
    let mut client = Client::connect(server.addr());
    fill(&mut client);
    (server, client)
}

/// A connection that has requested all data.
fn asking(server: &dyn Endpoint) -> TcpStream {
    silent::asking(server, b"PSYNC ? -1\r\n")
}

/// Reads a line that is not empty. Empty lines only keep the connection alive.
pub(super) fn read_line(stream: &mut TcpStream) -> String {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while !line.ends_with(b"\n") {
        stream.read_exact(&mut byte).expect("it is open");
        if !(line.is_empty() && byte == *b"\n") {
            line.push(byte[0]);
        }
    }
    String::from_utf8(line).expect("a line is a text").trim_end().to_owned()
}

/// Reads a snapshot: its length, then its bytes.
pub(super) fn read_snapshot(stream: &mut TcpStream) -> Vec<u8> {
    let len = read_line(stream).strip_prefix('$').and_then(|len| len.parse().ok()).expect("a length");
    let mut bytes = vec![0; len];
    stream.read_exact(&mut bytes).expect("it is open");
    bytes
}

/// Reads the stream until these bytes come.
fn read_until(stream: &mut TcpStream, end: &[u8]) -> Vec<u8> {
    let (mut all, mut byte) = (Vec::new(), [0]);
    while !all.ends_with(end) {
        stream.read_exact(&mut byte).expect("it is open");
        all.push(byte[0]);
    }
    all
}

pub(super) fn saves(client: &mut Client) -> String {
    info(client, "persistence", "rdb_bgsave_in_progress")
}

pub(super) fn await_replica(client: &mut Client, state: &str) {
    until("there is a replica", || info(client, "replication", "connected_slaves") != "0");
    let state = format!("state={state}");
    until("it is in the state", || info(client, "replication", "slave0").contains(&state));
}

#[test]
fn others_are_answered_while_a_snapshot_is_made() {
    let (server, mut client) = held_server();
    let mut replica = asking(&*server);
    assert!(read_line(&mut replica).starts_with("+FULLRESYNC "), "the place is told at the beginning");
    for _ in 0..100 {
        assert_eq!(client.line("PING").to_string(), "+PONG");
    }
    assert_eq!(saves(&mut client), "1");
    client.line("SET key:7 since");
    release(&mut client);
    let snapshot = read_snapshot(&mut replica);
    assert!(snapshot.starts_with(b"REDIS") && snapshot.len() > KEYS * 10);
    read_until(&mut replica, b"$5\r\nkey:7\r\n");
    assert_eq!(saves(&mut client), "0");
}

/// Requests that change the data while a snapshot is in progress.
const CHANGES: &[&str] = &[
    "SET key:1 changed",
    "DEL key:2",
    "RENAME key:3 moved",
    "EXPIRE key:4 1000",
    "APPEND key:5 more",
    "MOVE key:6 3",
    "RPUSH list a b c",
    "LPOP list",
    "EVAL \"redis.call('incr', 'n') redis.call('set', KEYS[1], ARGV[1])\" 1 key:7 scripted",
    "FUNCTION LOAD \"#!lua name=lib\\nredis.register_function('f', function() return 1 end)\"",
];

/// Connects a replica, and changes the data with these requests before its snapshot is complete. Then both must have
/// the same data.
fn check_changes(lines: &[&str]) {
    for makes in [Makes::Ours, Makes::RealReplica] {
        let Some(mut pair) = makes.start() else { continue };
        begin(&mut pair);
        for line in lines {
            let reply = pair.ask_master(line);
            assert!(!reply.starts_with('-'), "{line}: {reply}");
        }
        release(&mut pair.master);
        pair.check_same();
        assert_eq!(saves(&mut pair.master), "0");
        let libraries =
            [&mut pair.master, &mut pair.replica].map(|client| client.line("FUNCTION LIST").to_string());
        assert_eq!(libraries[0], libraries[1]);
    }
}

/// Connects the replica of a pair. Its snapshot has begun on return.
fn begin(pair: &mut Pair) {
    fill(&mut pair.master);
    for line in ["SELECT 3", "SET in3 1", "SELECT 0"] {
        pair.ask_master(line);
    }
    let port = pair.servers.0.addr().port();
    assert_eq!(pair.ask_replica(&format!("REPLICAOF 127.0.0.1 {port}")), "+OK");
    await_replica(&mut pair.master, "wait_bgsave");
    assert_eq!(saves(&mut pair.master), "1");
}

#[test]
fn a_replica_gets_changes_made_during_its_snapshot() {
    check_changes(CHANGES);
}

#[test]
fn a_replica_gets_a_flushall_during_its_snapshot() {
    check_changes(&["SET key:1 changed", "DEL key:2", "FLUSHALL", "SET key:1 again", "SET key:9 new"]);
}

#[test]
fn a_replica_gets_a_flushdb_and_a_swapdb_during_its_snapshot() {
    check_changes(&[
        "SET key:1 changed",
        "SELECT 3",
        "FLUSHDB",
        "SET other 1",
        "SWAPDB 0 3",
        "SET key:3 changed",
    ]);
}

#[test]
fn a_replica_gets_the_data_of_a_reload_during_its_snapshot() {
    check_changes(&["SET key:1 changed", "DEBUG RELOAD", "SET key:2 changed"]);
}

#[test]
fn new_replicas_share_a_snapshot_in_progress() {
    let (server, mut client) = held_server();
    let mut one = asking(&*server);
    let head = read_line(&mut one);
    client.line("SET between 1");
    let mut other = asking(&*server);
    assert_eq!(read_line(&mut other), head, "the same history from the same offset");
    client.line("SET last 2");
    release(&mut client);
    let [one, other] = [&mut one, &mut other].map(|stream| {
        let snapshot = read_snapshot(stream);
        (snapshot, read_until(stream, b"$4\r\nlast\r\n"))
    });
    assert!(one == other);
    assert!(one.1.windows(7).any(|window| window == b"between"));
}

#[test]
fn a_snapshot_without_a_waiting_replica_is_abandoned() {
    let (server, mut client) = held_server();
    let replicas = [(); 2].map(|()| {
        let mut replica = asking(&*server);
        read_line(&mut replica);
        replica
    });
    let [one, other] = replicas;
    drop(one);
    until("one is gone", || info(&mut client, "replication", "connected_slaves") == "1");
    assert_eq!(saves(&mut client), "1");
    drop(other);
    until("the other is gone", || info(&mut client, "replication", "connected_slaves") == "0");
    assert_eq!(saves(&mut client), "0");
    assert_eq!(client.line("BGSAVE").to_string(), "+Background saving started");
}

#[test]
fn a_replica_that_connects_during_a_save_gets_the_next_snapshot() {
    let (server, mut client) = held_server();
    assert_eq!(client.line("BGSAVE").to_string(), "+Background saving started");
    let mut replica = asking(&*server);
    await_replica(&mut client, "wait_bgsave");
    let mut byte = [0];
    replica.read_exact(&mut byte).expect("its connection is kept alive");
    assert_eq!(byte, *b"\n");
    client.line("SET before 1");
    release(&mut client);
    assert!(read_line(&mut replica).starts_with("+FULLRESYNC "));
    let snapshot = read_snapshot(&mut replica);
    assert!(snapshot.windows(6).any(|window| window == b"before"), "it is of a later instant");
}

#[test]
fn a_replica_over_its_limit_during_its_snapshot_is_disconnected() {
    let (server, mut client) = held_server();
    client.line("CONFIG SET client-output-buffer-limit 'replica 4mb 0 0'");
    let mut replica = asking(&*server);
    read_line(&mut replica);
    let mut written = 0;
    while info(&mut client, "replication", "connected_slaves") != "0" {
        client.line(&format!("SET text {}", noise(100_000, written)));
        written += 1;
        assert!(written < 100, "it is not cut");
    }
    assert!(written > 30, "{written}");
    assert_eq!(saves(&mut client), "0");
}

#[test]
fn a_replica_is_disconnected_when_its_master_becomes_a_replica() {
    let (server, mut client) = held_server();
    let mut replica = asking(&*server);
    read_line(&mut replica);
    let master = ours::server();
    assert_eq!(client.line(&format!("REPLICAOF 127.0.0.1 {}", master.addr().port())).to_string(), "+OK");
    let mut rest = Vec::new();
    let _end = replica.read_to_end(&mut rest);
    assert!(rest.iter().all(|byte| *byte == b'\n'));
    until("it is forgotten", || info(&mut client, "replication", "connected_slaves") == "0");
    assert_eq!(saves(&mut client), "0");
    assert_eq!(client.line("DBSIZE").to_string(), ":0");
}

/// The stream of a replica is its master's, which does not include a flush by a client of the replica.
#[test]
fn a_local_flush_of_a_replica_does_not_reach_its_own_replica() {
    let Some(master) = RealServer::start(Kind::Redis, &["--repl-diskless-sync-delay", "0"]) else { return };
    let replica = ours::server();
    let mut of_master = Client::connect(master.addr());
    let mut of_replica = Client::connect(replica.addr());
    assert_eq!(of_master.line(&format!("DEBUG POPULATE {KEYS} key 30")).to_string(), "+OK");
    let line = format!("REPLICAOF 127.0.0.1 {}", master.addr().port());
    assert_eq!(of_replica.line(&line).to_string(), "+OK");
    until("the replica follows", || info(&mut of_replica, "replication", "master_link_status") == "up");
    assert_eq!(of_replica.line("DBSIZE").to_string(), format!(":{KEYS}"));
    for line in ["CONFIG SET replica-read-only no", HOLD] {
        assert_eq!(of_replica.line(line).to_string(), "+OK");
    }
    let mut other = asking(&replica);
    // At first the replica asks its master for a new stream, to serve one that may be as old as Redis 7.0.
    until("it is served", || {
        let is_served = read_line(&mut other).starts_with("+FULLRESYNC ");
        if !is_served {
            other = asking(&replica);
        }
        is_served
    });
    assert_eq!(of_replica.line("FLUSHALL").to_string(), "+OK");
    release(&mut of_replica);
    assert!(read_snapshot(&mut other).len() > KEYS * 10);
}

/// An evicted key would be missing in the file instead.
#[test]
fn a_snapshot_in_progress_does_not_count_towards_maxmemory() {
    for begins in ["PSYNC ? -1", "BGSAVE"] {
        let (server, mut client) = held_server();
        let used: u64 = info(&mut client, "memory", "used_memory").parse().expect("a number");
        client.line(&format!("CONFIG SET maxmemory {}", used + 300_000));
        let mut asker = silent::asking(&*server, format!("{begins}\r\n").as_bytes());
        assert!(read_line(&mut asker).starts_with('+'));
        // The databases are exchanged only once all keys are in the file, which is larger than the remaining data.
        assert_eq!(client.line("SWAPDB 0 1").to_string(), "+OK");
        assert_eq!(client.line("SET other value").to_string(), "+OK", "{begins}");
    }
}

/// Returns the replies of a server while a replica waits for its snapshot: its role, saves, and INFO.
fn shown(server: &dyn Endpoint) -> Vec<String> {
    let mut client = Client::connect(server.addr());
    fill(&mut client);
    let mut replica = asking(server);
    assert!(read_line(&mut replica).starts_with("+FULLRESYNC "));
    await_replica(&mut client, "wait_bgsave");
    let role = client.line("ROLE").to_string();
    let replies = ["BGSAVE", "BGSAVE SCHEDULE", "SAVE"].map(|line| client.line(line).to_string());
    assert_eq!(replies[0], IN_PROGRESS);
    let transaction = ["MULTI", "BGSAVE", "EXEC"].map(|line| client.line(line).to_string());
    let figures = ["rdb_bgsave_in_progress", "current_save_keys_total", "rdb_last_bgsave_status"];
    let figures = figures.map(|name| info(&mut client, "persistence", name));
    let replica = info(&mut client, "replication", "slave0");
    let syncs = info(&mut client, "stats", "sync_full");
    [&[role, replica, syncs], &replies[..], &transaction, &figures].concat()
}

#[test]
fn a_server_shows_a_waiting_replica_as_redis_does() {
    let Some(real) = RealServer::start(Kind::Redis, &["--repl-diskless-sync-delay", "0"]) else { return };
    assert_eq!(shown(&ours::server()), shown(&real));
}

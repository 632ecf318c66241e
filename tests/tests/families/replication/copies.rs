//! Copies of the data for clients that follow no stream, `redis-cli --rdb` among them: made in pieces, as snapshots for
//! replicas are.

use crate::replication::servers::info;
use crate::replication::snapshots::{
    IN_PROGRESS, KEYS, await_replica, fill, held_server, read_line, read_snapshot, release, saves,
};
use lockwheel::Config;
use lockwheel_engine::config::Permission;
use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::{Client, connected};
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::shapes::until;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

/// Sends lines, each after the reply to the one before, and returns the connection with the replies before the last.
fn asks(server: &dyn Endpoint, lines: &[&str]) -> (TcpStream, Vec<String>) {
    let (mut stream, mut replies) = (connected(server.addr()), Vec::new());
    for (at, line) in lines.iter().enumerate() {
        stream.write_all(format!("{line}\r\n").as_bytes()).expect("it is open");
        if at + 1 < lines.len() {
            replies.push(read_line(&mut stream));
        }
    }
    (stream, replies)
}

/// A connection that has asked for a copy.
fn asking(server: &dyn Endpoint) -> TcpStream {
    asks(server, &["REPLCONF rdb-only 1", "PSYNC ? -1"]).0
}

fn read_to_end(mut stream: TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).expect("it is closed in order");
    rest
}

fn has(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

#[test]
fn others_are_answered_while_a_copy_is_made() {
    let (server, mut client) = held_server();
    let mut copy = asking(&*server);
    assert!(read_line(&mut copy).starts_with("+FULLRESYNC "), "the place is told at the beginning");
    for _ in 0..100 {
        assert_eq!(client.line("PING").to_string(), "+PONG");
    }
    assert_eq!(saves(&mut client), "1");
    assert_eq!(client.line("BGSAVE").to_string(), IN_PROGRESS);
    assert_eq!(client.line("SET since 1").to_string(), "+OK");
    release(&mut client);
    let file = read_snapshot(&mut copy);
    assert!(has(&file, b"key:7") && !has(&file, b"since"));
    assert_eq!(read_to_end(copy), b"", "no stream follows");
    assert_eq!(info(&mut client, "replication", "connected_slaves"), "0");
}

#[test]
fn a_copy_requested_during_another_is_of_a_later_instant() {
    let (server, mut client) = held_server();
    let mut first = asking(&*server);
    read_line(&mut first);
    assert_eq!(client.line("SET since 1").to_string(), "+OK");
    let later = [(); 2].map(|()| asking(&*server));
    release(&mut client);
    assert!(!has(&read_to_end(first), b"since"));
    let [one, other] = later.map(read_to_end);
    assert!(one == other, "one snapshot serves both");
    assert!(has(&one, b"since"));
}

#[test]
fn a_copy_and_a_replica_that_wait_for_a_save_both_get_data() {
    let (server, mut client) = held_server();
    assert_eq!(client.line("BGSAVE").to_string(), "+Background saving started");
    let copy = asks(&*server, &["REPLCONF rdb-only 1", "SYNC"]).0;
    let mut replica = connected(server.addr());
    replica.write_all(b"PSYNC ? -1\r\n").expect("it is open");
    await_replica(&mut client, "wait_bgsave");
    release(&mut client);
    assert!(read_line(&mut replica).starts_with("+FULLRESYNC "));
    assert!(has(&read_snapshot(&mut replica), b"key:7"));
    assert!(has(&read_to_end(copy), b"key:7"));
}

#[test]
fn a_copy_without_a_waiting_client_is_abandoned() {
    let (server, mut client) = held_server();
    let mut copy = asking(&*server);
    read_line(&mut copy);
    assert_eq!(saves(&mut client), "1");
    drop(copy);
    until("it is given up", || saves(&mut client) == "0");
    assert_eq!(client.line("BGSAVE").to_string(), "+Background saving started");
}

#[test]
fn a_copy_is_made_when_the_save_before_it_has_failed() {
    let mut config = Config::default();
    config.enable_protected_configs = Permission::Yes;
    let server = ours::configured(config).start().expect("loopback has a free port");
    let mut client = Client::connect(server.addr());
    fill(&mut client);
    // A directory has the name of the file.
    let directory = std::env::temp_dir().join(format!("lockwheel-copies-{}", std::process::id()));
    fs::create_dir_all(directory.join("dump.rdb")).expect("it can be made");
    assert_eq!(client.cmd(&["CONFIG", "SET", "dir", &directory.to_string_lossy()]).to_string(), "+OK");
    assert_eq!(client.line("BGSAVE").to_string(), "+Background saving started");
    let copy = asking(&server);
    release(&mut client);
    assert!(has(&read_to_end(copy), b"key:7"));
    assert_eq!(info(&mut client, "persistence", "rdb_last_bgsave_status"), "err");
    let _gone = fs::remove_dir_all(&directory);
}

/// No stream tells the client of the flush.
#[test]
fn a_copy_contains_data_flushed_while_it_is_made() {
    let (server, mut client) = held_server();
    let mut copy = asking(&*server);
    read_line(&mut copy);
    assert_eq!(client.line("FLUSHALL").to_string(), "+OK");
    release(&mut client);
    assert!(read_snapshot(&mut copy).len() > KEYS * 10);
}

#[test]
fn repeated_requests_for_a_copy_get_no_reply() {
    let (server, mut client) = held_server();
    let mut copy = asking(&*server);
    read_line(&mut copy);
    copy.write_all(b"SYNC\r\nPSYNC ? -1\r\n").expect("it is open");
    copy.write_all(b"PING\r\n").expect("it is open");
    assert_eq!(read_line(&mut copy), "+PONG");
    release(&mut client);
    read_snapshot(&mut copy);
    assert_eq!(read_to_end(copy), b"");
}

#[test]
fn a_client_that_waits_for_a_copy_is_disconnected_like_replicas() {
    let master = ours::server();
    let follow = format!("REPLICAOF 127.0.0.1 {}", master.port());
    for line in ["CONTROL.RESET KEEPCLIENTS", &follow] {
        let (server, mut client) = held_server();
        let mut copy = asking(&*server);
        read_line(&mut copy);
        assert_eq!(client.line(line).to_string(), "+OK");
        let mut rest = Vec::new();
        let _end = copy.read_to_end(&mut rest);
        assert!(rest.iter().all(|byte| *byte == b'\n'), "{line}");
    }
}

/// Returns what a server answers to clients that want a copy: the replies, the form of the file, the end.
fn shown(server: &dyn Endpoint) -> Vec<String> {
    let mut shown = Vec::new();
    for last in ["SYNC", "PSYNC ? -1"] {
        let (mut stream, replies) = asks(server, &["REPLCONF rdb-only 1", last]);
        shown.extend(replies);
        if last != "SYNC" {
            shown.push(read_line(&mut stream).split(' ').next().expect("a word").to_owned());
        }
        let file = read_snapshot(&mut stream);
        shown.push(format!("{last} {} {}", has(&file, b"REDIS"), read_to_end(stream).len()));
    }
    for line in ["REPLCONF rdb-filter-only functions", "REPLCONF rdb-filter-only \"\""] {
        let (mut stream, replies) = asks(server, &["REPLCONF rdb-only 1", line, "SYNC"]);
        shown.extend(replies);
        shown.push(read_line(&mut stream));
    }
    let (mut stream, replies) = asks(server, &["REPLICAOF 127.0.0.1 1", "REPLCONF rdb-only 1", "SYNC"]);
    shown.extend(replies);
    shown.push(read_line(&mut stream));
    shown
}

#[test]
fn requests_for_a_copy_get_the_replies_of_redis() {
    let Some(real) = RealServer::start(Kind::Redis, &["--repl-diskless-sync-delay", "0"]) else { return };
    assert_eq!(shown(&ours::server()), shown(&real));
}

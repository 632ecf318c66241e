//! Replicas that read nothing: one snapshot and one copy of the stream serve them all, and those that lag too far are
//! disconnected.

use crate::replication::servers::{info, noise};
use lockwheel::Server;
use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::{Client, connected};
use lockwheel_tests::ours;
use lockwheel_tests::shapes::until;
use std::io::{Read, Write};
use std::net::TcpStream;

/// Bytes of the data: more than the buffers of two sockets hold.
const DATA: usize = 24 << 20;

/// A server with much data, whose snapshot is equally large.
fn server() -> (Server, Client) {
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    client.line("CONFIG SET rdbcompression no");
    client.line(&format!("SETRANGE large {} x", DATA - 1));
    (server, client)
}

/// A connection that has requested the data and reads nothing.
fn silent(server: &Server) -> TcpStream {
    asking(server, b"PSYNC ? -1\r\n")
}

/// A connection that has requested the data by this request.
pub(super) fn asking(server: &dyn Endpoint, request: &[u8]) -> TcpStream {
    let mut stream = connected(server.addr());
    stream.write_all(request).expect("it is open");
    stream
}

fn figure(client: &mut Client, section: &str, name: &str) -> usize {
    info(client, section, name).parse().expect("it is a number")
}

fn await_syncs(client: &mut Client, count: usize) {
    until("they are sent the data", || figure(client, "stats", "sync_full") == count);
}

/// Reads until the stream has these bytes.
fn read_until(stream: &mut TcpStream, end: &[u8]) -> Vec<u8> {
    let (mut all, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    let has_end = |all: &[u8]| {
        let from = all.len().saturating_sub(2 * (1 << 16));
        all[from..].windows(end.len()).any(|window| window == end)
    };
    while !has_end(&all) {
        let read = stream.read(&mut piece).expect("it is open");
        assert!(read > 0, "it was closed");
        all.extend_from_slice(&piece[..read]);
    }
    all
}

#[test]
fn a_snapshot_is_made_and_kept_once_for_all_replicas() {
    let (server, mut client) = server();
    let before = figure(&mut client, "memory", "used_memory");
    let silent: Vec<TcpStream> = (0..20).map(|_| silent(&server)).collect();
    await_syncs(&mut client, 20);
    let after = figure(&mut client, "memory", "used_memory");
    assert!(after - before < 3 * DATA, "{before} {after}");
    drop(silent);
    until("they are gone", || figure(&mut client, "memory", "used_memory") < before + DATA);
}

#[test]
fn a_replica_that_shares_a_snapshot_gets_the_later_stream() {
    let (server, mut client) = server();
    let mut one = silent(&server);
    await_syncs(&mut client, 1);
    client.line("SET between 1");
    let mut other = silent(&server);
    await_syncs(&mut client, 2);
    client.line("SET last 2");
    let [one, other] = [&mut one, &mut other].map(|stream| read_until(stream, b"last"));
    let head = one.iter().position(|byte| *byte == b'\n').expect("a line comes first");
    assert!(one.starts_with(b"+FULLRESYNC"));
    assert_eq!(one[..head], other[..head], "the same history from the same offset");
    for bytes in [&one, &other] {
        assert!(bytes.len() > DATA);
        assert!(bytes[DATA..].windows(7).any(|window| window == b"between"));
    }
    assert_eq!(one[..DATA], other[..DATA]);
}

#[test]
fn the_number_of_snapshots_in_transfer_is_limited() {
    let (server, mut client) = server();
    client.line("CONFIG SET repl-backlog-size 16384");
    let mut silent_ones = Vec::new();
    for count in 1..=3 {
        silent_ones.push(silent(&server));
        await_syncs(&mut client, count);
        // The stream since the snapshot is not kept.
        client.line(&format!("SET text {}", noise(20_000, count as u64)));
    }
    let mut refused = Client::connect(server.addr());
    let answer = refused.line("PSYNC ? -1").to_string();
    assert_eq!(answer, "-LOADING Too many snapshots are being sent to other replicas, ask again later");
    drop(silent_ones);
    until("they are gone", || info(&mut client, "replication", "connected_slaves") == "0");
    let _served = silent(&server);
    await_syncs(&mut client, 4);
}

#[test]
fn a_replica_that_does_not_read_is_disconnected_at_the_limit() {
    let (server, mut client) = server();
    client.line("CONFIG SET client-output-buffer-limit 'replica 8mb 0 0'");
    let silent: Vec<TcpStream> = (0..2).map(|_| silent(&server)).collect();
    await_syncs(&mut client, 2);
    let before = figure(&mut client, "memory", "used_memory");
    let mut written = 0;
    while info(&mut client, "replication", "connected_slaves") != "0" {
        client.line(&format!("SET text {}", noise(100_000, written as u64)));
        written += 100_000;
        assert!(written < 4 * DATA, "they are not cut");
        let now = figure(&mut client, "memory", "used_memory");
        assert!(now < before + 2 * (8 << 20), "each has its own copy: {before} {now}");
    }
    drop(silent);
}

#[test]
fn no_snapshot_is_kept_for_a_sync_client_that_does_not_read() {
    let (server, mut client) = server();
    client.line("CONFIG SET repl-timeout 1");
    let before = figure(&mut client, "memory", "used_memory");
    let silent: Vec<TcpStream> = (0..3).map(|_| asking(&server, b"SYNC\r\n")).collect();
    await_syncs(&mut client, 3);
    until("they are cut", || info(&mut client, "replication", "connected_slaves") == "0");
    until("it is gone", || figure(&mut client, "memory", "used_memory") < before + DATA);
    drop(silent);
}

#[test]
fn a_sync_client_is_disconnected_at_the_limit_after_its_snapshot() {
    let (server, mut client) = server();
    client.line("CONFIG SET client-output-buffer-limit 'replica 1mb 0 0'");
    let mut reader = asking(&server, b"SYNC\r\n");
    await_syncs(&mut client, 1);
    client.line("SET last 2");
    read_until(&mut reader, b"last");
    let mut written = 0;
    while info(&mut client, "replication", "connected_slaves") != "0" {
        client.line(&format!("SET text {}", noise(100_000, written as u64)));
        written += 100_000;
        assert!(written < DATA, "it may still leave as much unread as the snapshot");
    }
}

#[test]
fn the_stream_is_kept_once_for_all_replicas_that_do_not_read() {
    const REPLICAS: usize = 50;
    const CHANGES: usize = 20_000;
    let (server, mut client) = server();
    let mut silent: Vec<TcpStream> = (0..REPLICAS).map(|_| silent(&server)).collect();
    await_syncs(&mut client, REPLICAS);
    let before = figure(&mut client, "memory", "used_memory");
    let numbers: Vec<String> = (0..CHANGES).map(|number| format!("<{number:06}>")).collect();
    let writes: Vec<_> = numbers.iter().map(|number| vec!["SET", "text", number]).collect();
    client.pipeline(&writes);
    let after = figure(&mut client, "memory", "used_memory");
    assert!(after < before + 8 * CHANGES * 120, "each has its own copy: {before} {after}");
    for stream in &mut silent[..2] {
        let all = read_until(stream, numbers[CHANGES - 1].as_bytes());
        // The position behind the snapshot.
        let mut rest = &all[DATA..];
        for number in &numbers {
            let at = rest.windows(number.len()).position(|window| window == number.as_bytes());
            rest = &rest[at.expect("each change reaches it in order")..];
        }
    }
}

#[test]
fn the_later_stream_is_kept_once_for_all_late_replicas() {
    const LATE: usize = 40;
    const CHANGES: usize = 4 << 20;
    let (server, mut client) = server();
    client.line("CONFIG SET repl-backlog-size 8mb");
    let _first = silent(&server);
    await_syncs(&mut client, 1);
    client.line(&format!("SET text {}", noise(CHANGES, 7)));
    // The backlog has room from here on.
    client.line("SET number 1");
    let before = figure(&mut client, "memory", "used_memory");
    let mut late = Vec::new();
    for count in 0..LATE {
        client.line(&format!("SET number <{count:06}>"));
        late.push(silent(&server));
    }
    await_syncs(&mut client, LATE + 1);
    let after = figure(&mut client, "memory", "used_memory");
    assert!(after < before + 2 * CHANGES, "each has its own copy: {before} {after}");
    client.line("SET last 1");
    let all = read_until(&mut late[LATE / 2], b"last");
    let mut rest = &all[DATA..];
    for count in 0..LATE {
        let number = format!("<{count:06}>").into_bytes();
        let at = rest.windows(number.len()).position(|window| window == number);
        rest = &rest[at.expect("each change reaches it in order")..];
    }
}

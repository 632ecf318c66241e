//! WAIT: counts replicas by their acknowledgements, and never before.

use crate::replication::servers::{Makes, info};
use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::shapes::until;

#[test]
fn wait_counts_replicas_that_have_the_clients_writes() {
    for makes in Makes::ALL {
        let Some(mut pair) = makes.start() else { continue };
        pair.follow();
        for n in 0..50 {
            pair.ask_master(&format!("SET k {n}"));
            assert_eq!(pair.ask_master("WAIT 1 0"), ":1", "{makes:?}");
            assert_eq!(pair.ask_replica("GET k"), format!("\"{n}\""), "{makes:?}");
        }
        assert_eq!(pair.ask_master("WAIT 2 1"), ":1");
        assert_eq!(pair.ask_master("WAIT 0 0"), ":1");
    }
}

/// The test itself plays the replica: it controls what is acknowledged.
#[test]
fn wait_does_not_count_replicas_without_an_acknowledgement() {
    let server = ours::server();
    let mut replica = Client::connect(Endpoint::addr(&server));
    replica.line("REPLCONF listening-port 7 capa eof capa psync2");
    replica.send_line("PSYNC ? -1");
    let mut client = Client::connect(server.addr());
    // Nothing is counted before there was a replica.
    until("it is sent the data", || info(&mut client, "replication", "connected_slaves") == "1");
    // The replica has acknowledged nothing yet: it does not even count as connected.
    assert_eq!(client.line("WAIT 0 0").to_string(), ":0");
    client.line("SET k v");
    assert_eq!(client.line("WAIT 1 1").to_string(), ":0");
    replica.send_line("REPLCONF ACK 1");
    assert_eq!(client.line("WAIT 1 1").to_string(), ":0", "an old offset");
    let offset = info(&mut client, "replication", "master_repl_offset");
    replica.send_line(&format!("REPLCONF ACK {offset}"));
    assert_eq!(client.line("WAIT 1 0").to_string(), ":1");
    client.line("SET k w");
    client.send_line("WAIT 1 0");
    let offset = info(&mut Client::connect(server.addr()), "replication", "master_repl_offset");
    replica.send_line(&format!("REPLCONF ACK {offset}"));
    assert_eq!(client.read_reply().to_string(), ":1");
    drop(replica);
    client.line("SET k x");
    assert_eq!(client.line("WAIT 1 1").to_string(), ":0");
}

#[test]
fn wait_ends_on_the_clock_of_the_server() {
    let server = ours::manual_server();
    let [mut client, mut other] = [0; 2].map(|_| Client::connect(server.addr()));
    client.send_line("WAIT 1 1000");
    assert_eq!(other.line("AWAIT.BLOCKED 1").to_string(), ":1");
    other.line("CLOCK.ADVANCE 999");
    assert_eq!(other.line("AWAIT.BLOCKED 1").to_string(), ":1");
    other.line("CLOCK.ADVANCE 1");
    assert_eq!(client.read_reply().to_string(), ":0");
}

#[test]
fn wait_is_refused_on_a_replica() {
    let Some(mut pair) = Makes::RealMaster.start() else { return };
    pair.follow();
    let Some(mut real) = Makes::RealReplica.start() else { return };
    real.follow();
    assert_eq!(pair.ask_replica("WAIT 0 0"), real.ask_replica("WAIT 0 0"));
    assert!(
        pair.ask_replica("WAITAOF 0 0 0").starts_with("-ERR WAITAOF cannot be used with replica instances.")
    );
}

/// The answers of masters about a replica that writes to a file, or to none.
fn on_disk(master: &dyn Endpoint, has_file: &str) -> Option<Vec<String>> {
    let port = master.addr().port().to_string();
    let follow = ["--replicaof", "127.0.0.1", &port, "--appendonly", has_file, "--appendfsync", "always"];
    let _replica = RealServer::start(Kind::Valkey, &follow)?;
    let mut client = Client::connect(master.addr());
    // With the replica's first message, Valkey counts the snapshot as on disk, with or without a file: a later write
    // counts.
    for value in ["early", "late"] {
        client.line(&format!("SET k {value}"));
        assert_eq!(client.line("WAIT 1 0").to_string(), ":1");
    }
    // For a replica with a file, the master waits for the file; for another one, it waits in vain.
    let timeout = if has_file == "yes" { 0 } else { 50 };
    let waits = [format!("WAITAOF 0 1 {timeout}"), "WAITAOF 0 0 0".to_owned(), "WAITAOF 0 2 50".to_owned()];
    Some(waits.iter().map(|line| client.line(line).to_string()).collect())
}

/// Works as in 7.2, and in Valkey after it.
#[test]
fn waitaof_counts_replicas_that_have_the_writes_on_disk() {
    for (has_file, count) in [("yes", 1), ("no", 0)] {
        let Some(valkey) = RealServer::start(Kind::Valkey, &["--repl-diskless-sync-delay", "0"]) else {
            return;
        };
        let expected = vec![format!("[:0, :{count}]"); 3];
        assert_eq!(on_disk(&valkey, has_file), Some(expected.clone()));
        assert_eq!(on_disk(&ours::server(), has_file), Some(expected));
    }
}

#[test]
fn replicas_acknowledge_while_clients_are_paused() {
    let play = |server: &dyn Endpoint| {
        let [mut replica, mut client, mut waiting] = [0; 3].map(|_| Client::connect(server.addr()));
        replica.line("REPLCONF listening-port 7 capa eof capa psync2");
        replica.send_line("PSYNC ? -1");
        until("it is one", || info(&mut client, "replication", "connected_slaves") == "1");
        waiting.line("SET k v");
        waiting.send_line("WAIT 1 0");
        until("it waits", || info(&mut client, "clients", "blocked_clients") == "1");
        let offset = info(&mut client, "replication", "master_repl_offset");
        client.line("CLIENT PAUSE 1000000 ALL");
        replica.send_line(&format!("REPLCONF ACK {offset}"));
        assert_eq!(waiting.read_reply().to_string(), ":1");
    };
    play(&ours::server());
    if let Some(real) = RealServer::start(Kind::Redis, &["--repl-diskless-sync-delay", "0"]) {
        play(&real);
    }
}

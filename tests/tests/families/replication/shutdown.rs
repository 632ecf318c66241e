//! SHUTDOWN of a master: lagging replicas receive the missing data, or the master waits for them as long as it may.

use crate::replication::servers::info;
use lockwheel::Config;
use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::shapes::until;
use std::process::Command;

/// A replica that sends nothing by itself.
fn replica(server: &dyn Endpoint) -> Client {
    let mut replica = Client::connect(server.addr());
    assert_eq!(replica.line("REPLCONF listening-port 7 capa eof capa psync2").to_string(), "+OK");
    replica.send_line("PSYNC ? -1");
    let mut client = Client::connect(server.addr());
    until("it is one", || info(&mut client, "replication", "connected_slaves") == "1");
    replica
}

fn waits(client: &mut Client) -> bool {
    let text = client.cmd(&["INFO", "server"]);
    String::from_utf8_lossy(text.as_bytes().expect("it is a text")).contains("shutdown_in_milliseconds:")
}

/// Sends SHUTDOWN, which must wait.
fn end(server: &dyn Endpoint, client: &mut Client) -> Client {
    let mut ending = Client::connect(server.addr());
    ending.send_line("SHUTDOWN NOSAVE");
    until("it waits", || waits(client));
    ending
}

/// The answers while a master waits, and when it cancels the shutdown; then it ends.
fn answers_of(server: &dyn Endpoint) -> Vec<String> {
    let mut replica = replica(server);
    let [mut client, mut writer, mut impatient] = [0; 3].map(|_| Client::connect(server.addr()));
    client.line("SET k old");
    let mut ending = end(server, &mut client);
    writer.send_line("SET k new");
    impatient.send_line("SHUTDOWN NOW");
    until("they wait", || info(&mut client, "clients", "blocked_clients") == "3");
    let asked = ["PING", "GET k", "CLIENT UNPAUSE", "GET k", "SHUTDOWN ABORT NOW", "SHUTDOWN ABORT"];
    let mut answers: Vec<String> = asked.iter().map(|line| client.line(line).to_string()).collect();
    answers.extend([&mut ending, &mut impatient, &mut writer].map(|client| client.read_reply().to_string()));
    answers.extend(["SHUTDOWN ABORT", "GET k"].map(|line| client.line(line).to_string()));
    assert!(!waits(&mut client));

    let mut ending = end(server, &mut client);
    let offset = info(&mut client, "replication", "master_repl_offset");
    replica.send_line(&format!("REPLCONF ACK {offset}"));
    assert_eq!(ending.read_to_close(), b"");
    answers
}

#[test]
fn a_master_shuts_down_once_its_replicas_have_everything() {
    let expected = [
        "+PONG",
        "\"old\"",
        "+OK",
        "\"old\"",
        "-ERR syntax error",
        "+OK",
        "-ERR Errors trying to SHUTDOWN. Check logs.",
        "-ERR Errors trying to SHUTDOWN. Check logs.",
        "+OK",
        "-ERR No shutdown in progress.",
        "\"new\"",
    ];
    assert_eq!(answers_of(&ours::server()), expected);
    if let Some(real) = RealServer::start(Kind::Redis, &["--repl-diskless-sync-delay", "0"]) {
        assert_eq!(answers_of(&real), expected);
    }
}

#[test]
fn shutdown_waits_until_a_replica_has_everything() {
    let master = ours::server();
    let port = Endpoint::addr(&master).port().to_string();
    let Some(real) = RealServer::start(Kind::Redis, &["--replicaof", "127.0.0.1", &port]) else { return };
    let mut client = Client::connect(Endpoint::addr(&master));
    client.line("SET k old");
    assert_eq!(client.line("WAIT 1 0").to_string(), ":1");
    let signal = |name: &str| {
        let sent = Command::new("kill").args([name, &real.process_id().to_string()]).status();
        assert!(sent.expect("there is a kill").success());
    };
    signal("-STOP");
    client.line("SET k new");
    let mut ending = end(&master, &mut client);
    signal("-CONT");
    assert_eq!(ending.read_to_close(), b"");
    assert_eq!(Client::connect(real.addr()).line("GET k").to_string(), "\"new\"");
}

#[test]
fn shutdown_waits_for_a_connected_replica_until_the_timeout() {
    let server = ours::server();
    let lagging = replica(&server);
    let mut client = Client::connect(Endpoint::addr(&server));
    let mut ending = end(&server, &mut client);
    drop(lagging);
    assert_eq!(ending.read_to_close(), b"", "it is gone");

    let mut config = Config::default();
    config.shutdown.timeout = 1;
    let server = ours::configured(config).start().expect("it starts");
    let _lagging = replica(&server);
    let mut client = Client::connect(Endpoint::addr(&server));
    let mut ending = end(&server, &mut client);
    drop(client);
    assert_eq!(ending.read_to_close(), b"", "its time is over");

    for (parameter, line) in [("shutdown-timeout 0", "SHUTDOWN"), ("shutdown-timeout 100", "SHUTDOWN NOW")] {
        let server = ours::server();
        let _lagging = replica(&server);
        let mut client = Client::connect(Endpoint::addr(&server));
        client.line(&format!("CONFIG SET {parameter}"));
        client.send_line(line);
        assert_eq!(client.read_to_close(), b"", "{line}");
    }
}

#[test]
fn shutdown_continues_after_its_client_has_gone() {
    let server = ours::server();
    let mut lagging = replica(&server);
    let mut client = Client::connect(Endpoint::addr(&server));
    let mut ending = Client::connect(Endpoint::addr(&server));
    let id = ending.line("CLIENT ID").as_int().expect("it is a number");
    ending.send_line("SHUTDOWN");
    until("it waits", || waits(&mut client));
    // Works as in 7.2; 7.0 unblocks it.
    assert_eq!(client.line(&format!("CLIENT UNBLOCK {id} ERROR")).to_string(), ":0");
    ending.close();
    until("it is gone", || info(&mut client, "clients", "blocked_clients") == "0");
    assert!(waits(&mut client));
    let offset = info(&mut client, "replication", "master_repl_offset");
    lagging.send_line(&format!("REPLCONF ACK {offset}"));
    assert_eq!(client.read_to_close(), b"");
}

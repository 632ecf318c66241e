//! Replicas that receive everything later, by the manual clock.

use lockwheel::{Time, Topology};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use std::time::Duration;

/// A master and a replica that lags by 100 ms, and a client of each.
fn lagging() -> (Topology, Vec<Client>) {
    let builder = ours::builder().time(Time::Manual).replicas(1).lag(Duration::from_millis(100));
    let topology = builder.start().expect("they start");
    let clients = topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    (topology, clients)
}

fn text(client: &mut Client, line: &str) -> String {
    client.line(line).to_string()
}

#[test]
fn a_write_arrives_at_its_instant() {
    let (_topology, mut clients) = lagging();
    clients[0].line("SET k 1");
    clients[0].line("CLOCK.ADVANCE 40");
    clients[0].line("SET k 2");
    clients[1].line("CLOCK.ADVANCE 59");
    assert_eq!(text(&mut clients[1], "GET k"), "(nil)");
    clients[1].line("CLOCK.ADVANCE 1");
    assert_eq!(text(&mut clients[1], "GET k"), "\"1\"");
    assert!(text(&mut clients[0], "CLOCK.NEXT").contains("arrival"));
    assert_eq!(text(&mut clients[1], "GET k"), "\"2\"");
}

#[test]
fn a_promotion_loses_writes_that_have_not_arrived() {
    let (_topology, mut clients) = lagging();
    clients[0].line("SET early v");
    clients[0].line("CLOCK.ADVANCE 100");
    assert_eq!(text(&mut clients[0], "SET lock first NX PX 10000"), "+OK");
    clients[0].line("CLOCK.ADVANCE 99");
    assert_eq!(text(&mut clients[1], "REPLICAOF NO ONE"), "+OK");
    clients[1].line("CLOCK.ADVANCE 1000");
    assert_eq!(text(&mut clients[1], "EXISTS early lock"), ":1");
    // Two owners hold the lock: the effect of a failover on a lock.
    assert_eq!(text(&mut clients[1], "SET lock second NX PX 10000"), "+OK");
    assert_eq!(text(&mut clients[0], "GET lock"), "\"first\"");
}

#[test]
fn wait_is_answered_when_the_write_arrives() {
    let (topology, mut clients) = lagging();
    clients[0].line("SET k v");
    clients[1].line("CLOCK.ADVANCE 0");
    clients[0].send_line("WAIT 1 0");
    let mut beside = Client::connect(topology.servers()[0].addr());
    while beside.line("AWAIT.BLOCKED 1").to_string() != ":1" {}
    beside.line("CLOCK.ADVANCE 300");
    assert_eq!(clients[0].read_reply().to_string(), ":1");
    clients[0].line("SET k w");
    clients[0].send_line("WAIT 1 50");
    while beside.line("AWAIT.BLOCKED 1").to_string() != ":1" {}
    beside.line("CLOCK.ADVANCE 50");
    assert_eq!(clients[0].read_reply().to_string(), ":0");
}

/// A field of INFO replication.
fn replication_field(client: &mut Client, field: &str) -> String {
    let info = client.cmd(&["INFO", "replication"]);
    let text = String::from_utf8_lossy(info.as_bytes().expect("INFO is a text")).into_owned();
    let found = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    found.unwrap_or_else(|| panic!("no {field} in {text}")).trim_end().to_owned()
}

/// Both roles, and the progress of the change from one to the other.
fn roles(clients: &mut [Client]) -> [String; 3] {
    [
        replication_field(&mut clients[0], "role"),
        replication_field(&mut clients[1], "role"),
        replication_field(&mut clients[0], "master_failover_state"),
    ]
}

#[test]
fn failover_completes_once_the_replica_has_everything() {
    let (topology, mut clients) = lagging();
    assert_eq!(text(&mut clients[0], "SET k 1"), "+OK");
    assert_eq!(text(&mut clients[0], "FAILOVER"), "+OK");
    assert_eq!(roles(&mut clients), ["master", "slave", "waiting-for-sync"]);
    assert_eq!(text(&mut clients[0], "FAILOVER"), "-ERR FAILOVER already in progress.");
    assert_eq!(text(&mut clients[0], "REPLICAOF NO ONE"), "-ERR REPLICAOF not allowed while failing over.");
    let mut writer = Client::connect(topology.servers()[0].addr());
    writer.send_line("SET k 2");
    while clients[0].line("AWAIT.BLOCKED 1").to_string() != ":1" {}
    // The pause is none that a client can end.
    assert_eq!(text(&mut clients[0], "CLIENT UNPAUSE"), "+OK");
    assert_eq!(text(&mut clients[0], "GET k"), "\"1\"");
    clients[1].line("CLOCK.ADVANCE 500");
    assert_eq!(roles(&mut clients), ["slave", "master", "no-failover"]);
    assert_eq!(writer.read_reply().to_string(), "-READONLY You can't write against a read only replica.");
    assert_eq!(text(&mut clients[1], "GET k"), "\"1\"");
    assert_eq!(text(&mut clients[1], "SET k 3"), "+OK");
    clients[1].line("CLOCK.ADVANCE 500");
    assert_eq!(
        (replication_field(&mut clients[0], "master_link_status"), text(&mut clients[0], "GET k")),
        ("up".into(), "\"3\"".into())
    );
}

#[test]
fn a_failover_that_times_out_leaves_the_master_as_it_was() {
    let (topology, mut clients) = lagging();
    assert_eq!(text(&mut clients[0], "SET k 1"), "+OK");
    assert_eq!(text(&mut clients[0], "FAILOVER TIMEOUT 50"), "+OK");
    let mut writer = Client::connect(topology.servers()[0].addr());
    writer.send_line("SET k 2");
    while clients[0].line("AWAIT.BLOCKED 1").to_string() != ":1" {}
    clients[1].line("CLOCK.ADVANCE 49");
    assert_eq!(roles(&mut clients), ["master", "slave", "waiting-for-sync"]);
    clients[1].line("CLOCK.ADVANCE 1");
    assert_eq!(roles(&mut clients), ["master", "slave", "no-failover"]);
    assert_eq!(writer.read_reply().to_string(), "+OK");
    assert_eq!(text(&mut clients[0], "FAILOVER"), "+OK");
    assert_eq!(text(&mut clients[0], "FAILOVER ABORT"), "+OK");
    assert_eq!(text(&mut clients[0], "FAILOVER ABORT"), "-ERR No failover in progress.");
    assert_eq!(text(&mut clients[0], "SET k 3"), "+OK");
}

#[test]
fn a_forced_failover_loses_writes_that_have_not_arrived() {
    let (topology, mut clients) = lagging();
    assert_eq!(text(&mut clients[0], "SET early v"), "+OK");
    clients[0].line("CLOCK.ADVANCE 200");
    assert_eq!(text(&mut clients[0], "SET late v"), "+OK");
    let port = topology.servers()[1].port();
    let line = format!("FAILOVER TO 127.0.0.1 {port} FORCE TIMEOUT 50");
    assert_eq!(text(&mut clients[0], &line), "+OK");
    clients[1].line("CLOCK.ADVANCE 50");
    assert_eq!(roles(&mut clients)[..2], ["slave", "master"]);
    clients[1].line("CLOCK.ADVANCE 500");
    assert_eq!(roles(&mut clients), ["slave", "master", "no-failover"]);
    for client in &mut clients {
        assert_eq!(text(client, "EXISTS early late"), ":1");
    }
}

#[test]
fn a_replica_follows_a_master_that_returns_within_one_advance() {
    let (topology, mut clients) = lagging();
    assert_eq!(text(&mut clients[1], "FAULT.DOWN 0 500"), "+OK");
    clients[1].line("CLOCK.ADVANCE 5000");
    assert!(text(&mut clients[1], "INFO replication").contains("master_link_status:up"));
    let mut master = Client::connect(topology.servers()[0].addr());
    master.line("SET k v");
    assert_eq!(text(&mut clients[1], "GET k"), "(nil)");
    clients[1].line("CLOCK.ADVANCE 100");
    assert_eq!(text(&mut clients[1], "GET k"), "\"v\"");
}

#[test]
fn fault_lag_takes_no_key_in_a_topology() {
    let (_topology, mut clients) = lagging();
    let refused = "-ERR FAULT.LAG does not accept KEY in a topology, where the lag applies to all keys";
    assert_eq!(text(&mut clients[0], "FAULT.LAG KEY a*"), refused);
}

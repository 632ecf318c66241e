//! Replicas that are told everything later, by the clock that is turned.

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
fn what_has_not_arrived_is_lost_by_a_failover() {
    let (_topology, mut clients) = lagging();
    clients[0].line("SET early v");
    clients[0].line("CLOCK.ADVANCE 100");
    assert_eq!(text(&mut clients[0], "SET lock first NX PX 10000"), "+OK");
    clients[0].line("CLOCK.ADVANCE 99");
    assert_eq!(text(&mut clients[1], "REPLICAOF NO ONE"), "+OK");
    clients[1].line("CLOCK.ADVANCE 1000");
    assert_eq!(text(&mut clients[1], "EXISTS early lock"), ":1");
    // Two hold it: what a failover does to a lock.
    assert_eq!(text(&mut clients[1], "SET lock second NX PX 10000"), "+OK");
    assert_eq!(text(&mut clients[0], "GET lock"), "\"first\"");
}

#[test]
fn wait_is_answered_when_the_replica_has_it() {
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

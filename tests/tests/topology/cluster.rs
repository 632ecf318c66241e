//! A cluster in one process: all know all at once, and fail and take over by the clock that is turned.

use lockwheel::{Time, Topology};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use std::time::Duration;

/// Three masters and a replica of each, and a client of each. What replicas are told comes so much later.
fn cluster(lag: Duration) -> (Topology, Vec<Client>) {
    let builder = ours::builder().time(Time::Manual).cluster(3, 1).lag(lag);
    let topology = builder.start().expect("they start");
    let clients = topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    (topology, clients)
}

fn text(client: &mut Client, line: &str) -> String {
    client.line(line).to_string()
}

/// A key of the first master.
const KEY: &str = "{bar}k";

fn moved_to(topology: &Topology, at: usize) -> String {
    format!("-MOVED 5061 {}", topology.servers()[at].addr())
}

#[test]
fn all_know_all_when_they_have_started() {
    let (topology, mut clients) = cluster(Duration::ZERO);
    for client in &mut clients {
        let info = text(client, "CLUSTER INFO");
        for field in ["cluster_state:ok", "cluster_slots_ok:16384", "cluster_known_nodes:6", "cluster_size:3"]
        {
            assert!(info.contains(field), "{info}");
        }
        assert!(!text(client, "CLUSTER NODES").contains("disconnected"));
    }
    assert_eq!(text(&mut clients[0], "SET {bar}k v"), "+OK");
    assert_eq!(text(&mut clients[1], "SET {bar}k v"), moved_to(&topology, 0));
    text(&mut clients[3], "READONLY");
    assert_eq!(text(&mut clients[3], "GET {bar}k"), "\"v\"");
    assert_eq!(text(&mut clients[0], "PUBLISH c m"), ":0");
}

#[test]
fn a_failover_is_done_when_it_is_answered() {
    let (topology, mut clients) = cluster(Duration::ZERO);
    text(&mut clients[0], &format!("SET {KEY} before"));
    assert_eq!(text(&mut clients[3], "CLUSTER FAILOVER"), "+OK");
    assert_eq!(text(&mut clients[3], &format!("SET {KEY} after")), "+OK");
    for other in [0, 1, 2, 4, 5] {
        assert_eq!(text(&mut clients[other], &format!("GET {KEY}")), moved_to(&topology, 3), "{other}");
    }
    text(&mut clients[0], "READONLY");
    assert_eq!(text(&mut clients[0], &format!("GET {KEY}")), "\"after\"");
}

#[test]
fn what_has_not_arrived_is_lost_when_a_replica_takes_over_by_force() {
    let (_topology, mut clients) = cluster(Duration::from_millis(100));
    text(&mut clients[0], &format!("SET {KEY} arrived"));
    text(&mut clients[0], "CLOCK.ADVANCE 100");
    text(&mut clients[0], &format!("SET {KEY} lost"));
    text(&mut clients[0], "CLOCK.ADVANCE 99");
    assert_eq!(text(&mut clients[3], "CLUSTER FAILOVER FORCE"), "+OK");
    assert_eq!(text(&mut clients[3], &format!("GET {KEY}")), "\"arrived\"");
}

#[test]
fn a_failover_waits_for_what_has_not_arrived() {
    let (_topology, mut clients) = cluster(Duration::from_millis(1000));
    text(&mut clients[0], "CLOCK.ADVANCE 2000");
    text(&mut clients[0], &format!("SET {KEY} kept"));
    assert_eq!(text(&mut clients[3], "CLUSTER FAILOVER"), "+OK");
    assert!(text(&mut clients[3], "ROLE").contains("slave"));
    text(&mut clients[1], "CLOCK.ADVANCE 1100");
    assert!(text(&mut clients[3], "ROLE").contains("master"));
    assert_eq!(text(&mut clients[3], &format!("GET {KEY}")), "\"kept\"");
}

#[test]
fn a_day_passes_and_nobody_has_failed() {
    let (_topology, mut clients) = cluster(Duration::ZERO);
    text(&mut clients[0], "CLOCK.ADVANCE 86400000");
    for client in &mut clients {
        assert!(!text(client, "CLUSTER NODES").contains("fail"));
        assert!(text(client, "CLUSTER INFO").contains("cluster_state:ok"));
    }
}

#[test]
fn keys_move_between_nodes_of_one_process() {
    let (topology, mut clients) = cluster(Duration::ZERO);
    let ids: Vec<String> =
        clients.iter_mut().map(|client| text(client, "CLUSTER MYID").replace('"', "")).collect();
    text(&mut clients[0], &format!("SET {KEY} v"));
    assert_eq!(text(&mut clients[1], &format!("CLUSTER SETSLOT 5061 IMPORTING {}", ids[0])), "+OK");
    assert_eq!(text(&mut clients[0], &format!("CLUSTER SETSLOT 5061 MIGRATING {}", ids[1])), "+OK");
    let port = topology.servers()[1].port();
    assert_eq!(text(&mut clients[0], &format!("MIGRATE 127.0.0.1 {port} {KEY} 0 60000")), "+OK");
    for node in [1, 0] {
        assert_eq!(text(&mut clients[node], &format!("CLUSTER SETSLOT 5061 NODE {}", ids[1])), "+OK");
    }
    assert_eq!(text(&mut clients[2], &format!("GET {KEY}")), moved_to(&topology, 1), "it was told at once");
    text(&mut clients[4], "READONLY");
    assert_eq!(text(&mut clients[4], &format!("GET {KEY}")), "\"v\"");
    assert_eq!(text(&mut clients[3], "DBSIZE"), ":0");
}

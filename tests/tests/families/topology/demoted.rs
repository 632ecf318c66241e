//! A master that becomes a replica, and a restarted replica: neither changes data by itself any more.

use lockwheel::{Time, Topology};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;

/// A master and a replica on a manual clock, and a client of each.
fn pair() -> (Topology, Vec<Client>) {
    let topology = ours::builder().time(Time::Manual).replicas(1).start().expect("they start");
    let clients = topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    (topology, clients)
}

fn text(client: &mut Client, line: &str) -> String {
    client.line(line).to_string()
}

/// They exchange their roles.
fn swap(topology: &Topology, clients: &mut [Client]) {
    assert_eq!(text(&mut clients[1], "REPLICAOF NO ONE"), "+OK");
    let port = topology.servers()[1].port();
    assert_eq!(text(&mut clients[0], &format!("REPLICAOF 127.0.0.1 {port}")), "+OK");
}

/// Requires this answer of both.
fn assert_both(clients: &mut [Client], line: &str, answer: &str) {
    for client in clients {
        assert_eq!(text(client, line), answer, "{line}");
    }
}

#[test]
fn a_ticket_ends_when_its_master_becomes_a_replica() {
    let (topology, mut clients) = pair();
    let mut waiting = Client::connect_resp3(topology.servers()[0].addr());
    text(&mut clients[0], "LOCK.ACQUIRE k me PX 5000");
    assert!(text(&mut waiting, "LOCK.ACQUIRE k you PX 9000 ASYNC").contains("QUEUED"));
    swap(&topology, &mut clients);
    let told = waiting.read_push().to_string();
    assert!(told.contains("lock-cancelled") && told.contains("UNBLOCKED"), "{told}");
    assert_eq!(text(&mut waiting, "PING"), "+PONG", "its client stays");
    assert_eq!(text(&mut clients[1], "LOCK.RELEASE k me"), ":0");
    assert_both(&mut clients, "EXISTS k", ":0");
}

#[test]
fn the_queue_of_a_fair_lock_survives_a_change_of_master() {
    let (topology, mut clients) = pair();
    let mut waiting = Client::connect(topology.servers()[0].addr());
    text(&mut clients[0], "LOCK.ACQUIRE k me FAIR PX 5000");
    waiting.send_line("LOCK.ACQUIRE k you FAIR PX 5000 BLOCK 0");
    while text(&mut clients[0], "AWAIT.WAITERS k 1") != ":1" {}
    let before = text(&mut clients[1], "DEBUG DIGEST");
    swap(&topology, &mut clients);
    assert!(waiting.read_reply().to_string().starts_with("-UNBLOCKED"));
    assert_both(&mut clients, "DEBUG DIGEST", &before);
}

#[test]
fn sessions_end_when_their_master_becomes_a_replica() {
    let (topology, mut clients) = pair();
    let mut holder = Client::connect(topology.servers()[0].addr());
    text(&mut clients[0], "SEM.INIT sem 3");
    text(&mut holder, "LOCK.ACQUIRE k me SESSION PX 9000");
    text(&mut holder, "SEM.ACQUIRE sem me SESSION PX 9000");
    swap(&topology, &mut clients);
    text(&mut clients[1], "CLOCK.ADVANCE 5000");
    assert_both(&mut clients, "PTTL k", ":4000");
    holder.close();
    while text(&mut clients[0], "CLIENT LIST").matches("id=").count() > 2 {}
    assert_both(&mut clients, "EXISTS k", ":1");
    assert_both(&mut clients, "GET sem", "\"2\"");
    // The leases are the new master's, and end there.
    text(&mut clients[1], "CLOCK.ADVANCE 4000");
    assert_both(&mut clients, "EXISTS k", ":0");
}

#[test]
fn a_failover_of_a_cluster_ends_the_renewals_of_sessions() {
    let topology = ours::builder().time(Time::Manual).cluster(3, 1).start().expect("they start");
    let mut clients: Vec<Client> =
        topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    let mut holder = Client::connect(topology.servers()[0].addr());
    text(&mut holder, "LOCK.ACQUIRE {bar}k me SESSION PX 9000");
    assert_eq!(text(&mut clients[3], "CLUSTER FAILOVER"), "+OK");
    text(&mut clients[1], "CLOCK.ADVANCE 5000");
    text(&mut clients[0], "READONLY");
    for at in [0, 3] {
        assert_eq!(text(&mut clients[at], "PTTL {bar}k"), ":4000", "{at}");
    }
}

#[test]
fn a_restarted_replica_gets_a_full_resynchronization() {
    for down in ["", " DOWN 0", " DOWN 100"] {
        let (topology, mut clients) = pair();
        text(&mut clients[0], "SET b 1");
        assert_eq!(text(&mut clients[1], &format!("FAULT.RESTART{down}")), "+OK");
        text(&mut clients[0], "CLOCK.ADVANCE 99");
        if down == " DOWN 100" {
            assert_eq!(text(&mut clients[1], "DBSIZE"), ":0", "it is down");
        }
        text(&mut clients[0], "CLOCK.ADVANCE 1");
        clients[1] = Client::connect(topology.servers()[1].addr());
        assert_both(&mut clients, "GET b", "\"1\"");
        text(&mut clients[0], "SET c 1");
        assert_both(&mut clients, "DBSIZE", ":2");
        let info = text(&mut clients[1], "INFO replication");
        assert!(info.contains("role:slave") && info.contains("master_link_status:up"), "{down}: {info}");
    }
}

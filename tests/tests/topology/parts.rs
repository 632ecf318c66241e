//! The parts of a cluster's nodes, which all know at once.

use crate::sentinels::text;
use lockwheel::{Time, Topology};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;

/// Three masters and a replica of each, and a client of each.
fn cluster() -> (Topology, Vec<Client>) {
    let topology = ours::builder().time(Time::Manual).cluster(3, 1).start().expect("they start");
    let clients = clients_of(&topology);
    (topology, clients)
}

fn clients_of(topology: &Topology) -> Vec<Client> {
    topology.servers().iter().map(|server| Client::connect(server.addr())).collect()
}

fn ids(clients: &mut [Client]) -> Vec<String> {
    clients.iter_mut().map(|client| text(client, "CLUSTER MYID").trim_matches('"').to_owned()).collect()
}

#[test]
fn a_failover_and_one_back_are_done_when_they_are_answered() {
    let (_topology, mut clients) = cluster();
    for (heir, other) in [(3, 0), (0, 3)] {
        assert_eq!(text(&mut clients[heir], "CLUSTER FAILOVER"), "+OK");
        let ids = ids(&mut clients);
        for client in &mut clients {
            let nodes = text(client, "CLUSTER NODES");
            let line = nodes.split("\\n").find(|line| line.contains(&format!("{} 127", ids[other])));
            assert!(line.expect("it is known").contains("slave"), "{nodes}");
        }
        assert!(text(&mut clients[heir], "ROLE").starts_with("[\"master\""));
        assert!(text(&mut clients[other], "ROLE").starts_with("[\"slave\""));
    }
}

#[test]
fn a_message_reaches_who_listens_to_the_old_master() {
    let (topology, mut clients) = cluster();
    assert_eq!(text(&mut clients[3], "CLUSTER FAILOVER"), "+OK");
    let mut listening = Client::connect_resp3(topology.servers()[0].addr());
    listening.send_line("SSUBSCRIBE {bar}c");
    listening.read_push();
    text(&mut clients[3], "SPUBLISH {bar}c hello");
    assert!(listening.read_push().to_string().contains("hello"));
}

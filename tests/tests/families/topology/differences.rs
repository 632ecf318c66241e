//! Deliberate differences of replicas, sentinels and nodes from Redis': `tests/src/differences/several_servers.rs` has
//! the reasons.

use crate::topology::sentinels::{field, text, watched};
use lockwheel::Time;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;

#[test]
fn a_replica_publishes_keyspace_events_of_replicated_writes() {
    let topology = ours::builder().time(Time::Manual).replicas(1).start().expect("they start");
    let [master, replica] = [0, 1].map(|place| topology.servers()[place].addr());
    let (mut master, mut replica) = (Client::connect(master), Client::connect(replica));
    assert_eq!(text(&mut replica, "CONFIG SET notify-keyspace-events KEA"), "+OK");
    replica.line("SUBSCRIBE __keyspace@0__:k");
    let steps: [(&str, &[&str]); 4] = [
        ("RPUSH k a", &["rpush"]),
        ("LPOP k", &["lpop", "del"]),
        ("LOCK.ACQUIRE k o PX 1000", &["hset", "expire"]),
        ("LOCK.RELEASE k o", &["del"]),
    ];
    for (line, events) in steps {
        master.line(line);
        for event in events {
            let told = replica.read_frame().to_string();
            assert!(told.ends_with(&format!("\"{event}\"]")), "{line}: {told}");
        }
    }
}

#[test]
fn several_options_of_a_master_are_set_together_or_not_at_all() {
    let (_topology, mut clients) = watched(2);
    let refused = text(&mut clients[3], "SENTINEL SET mymaster failover-timeout 4321 quorum 0");
    assert!(refused.starts_with("-ERR "), "{refused}");
    let master = clients[3].line("SENTINEL MASTER mymaster");
    assert_eq!(field(&master, "failover-timeout"), "180000");
    assert_eq!(text(&mut clients[3], "SENTINEL SET mymaster failover-timeout 4321 quorum 1"), "+OK");
    let master = clients[3].line("SENTINEL MASTER mymaster");
    assert_eq!((field(&master, "failover-timeout"), field(&master, "quorum")), ("4321".into(), "1".into()));
}

#[test]
fn each_master_has_its_own_connections_to_other_sentinels() {
    let (topology, mut clients) = watched(3);
    let port = topology.servers()[1].port();
    assert_eq!(text(&mut clients[3], &format!("SENTINEL MONITOR other 127.0.0.1 {port} 2")), "+OK");
    clients[3].line("CLOCK.ADVANCE 5000");
    let master = clients[3].line("SENTINEL MASTER mymaster");
    assert_eq!(field(&master, "link-refcount"), "1");
}

#[test]
fn replicas_stay_with_their_master() {
    let topology = ours::builder().time(Time::Manual).cluster(2, 2).start().expect("they start");
    let mut clients: Vec<Client> =
        topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    // The first master's replicas are gone; Redis would move one of the second master's to it.
    for replica in [2, 4] {
        assert_eq!(text(&mut clients[1], &format!("FAULT.DOWN {replica}")), "+OK");
    }
    clients[1].line("CLOCK.ADVANCE 600000");
    let id = text(&mut clients[1], "CLUSTER MYID").replace('"', "");
    let nodes = text(&mut clients[1], "CLUSTER NODES");
    assert_eq!(nodes.matches(&format!(" slave {id} ")).count(), 2, "{nodes}");
}

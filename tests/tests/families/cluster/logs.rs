//! The log of failovers in a cluster, equal to that of redis-server line by line.

use lockwheel_tests::shapes::{Cluster, Make, assert_same_lines, masked_lines, until};
use std::collections::BTreeSet;

/// Words that identify lines about failovers.
const WORDS: &[&str] = &[
    "election",
    "Epoch",
    "Failover",
    "failover",
    "FAIL",
    "failing",
    "Cluster state",
    "Reconfiguring",
    "Setting secondary",
    "Before turning",
    "Taking over",
    "cached master",
    "disconnected master",
    "Reconnecting to MASTER",
    "accepted a Partial",
    "Master replication ID changed",
    "Connection with",
];

/// Lines that occur by chance, depending on the order in which messages arrive.
const BY_CHANCE: &[&str] = &[
    "Currently unable to failover: Waiting for votes, but majority still not reached.",
    "Currently unable to failover: Waiting the delay before I can start a new failover.",
    "Currently unable to failover: Failover attempt expired.",
    "Failover auth denied to NAME: can't vote about this master before N milliseconds",
    "Failover auth denied to NAME: already voted for epoch N",
    "Failover auth denied to NAME: its master is up",
    "Failover auth denied to NAME: reqEpoch (N) < curEpoch(N)",
    "Manual failover timed out.",
    "FAIL message received from NAME about NAME",
    "Clear FAIL state for node NAME: master without slots is reachable again.",
    "Clear FAIL state for node NAME: replica is reachable again.",
    "Reconnecting to MASTER N.N.N.N:N",
    "Connection with replica N.N.N.N:N lost.",
    "MASTER <-> REPLICA sync: Master accepted a Partial Resynchronization.",
    "Master replication ID changed to NAME",
];

/// A master is killed, replaced, comes back, and takes over again. Others take over by force and by takeover.
fn lines_of_failovers(make: Make) -> Option<BTreeSet<String>> {
    let mut cluster = Cluster::start(make, 1)?;
    let is_master = |cluster: &Cluster, node: usize| {
        let info = cluster.nodes()[node].says("INFO replication");
        info.contains("role:master")
            && cluster.nodes()[node].says("CLUSTER INFO").contains("cluster_state:ok")
    };
    let follows = |cluster: &Cluster, node: usize| {
        cluster.nodes()[node].says("INFO replication").contains("master_link_status:up")
    };
    // Without this, a master may deny its vote to a replica that it considers a master.
    let is_known_to_follow = |cluster: &Cluster, node: usize| {
        let is_replica = |line: &str| line.starts_with(&cluster.id(node)) && line.contains("slave");
        follows(cluster, node)
            && cluster.nodes().iter().all(|other| other.says("CLUSTER NODES").lines().any(is_replica))
    };
    assert_eq!(cluster.replace_master(0), 3);
    cluster.node(0).restart();
    until("all know that the first node follows", || is_known_to_follow(&cluster, 0));
    until("nobody has failed", || {
        cluster.nodes().iter().all(|node| !node.says("CLUSTER NODES").contains("fail"))
    });
    for (node, old, word) in [(0, 3, ""), (3, 0, "FORCE"), (4, 1, "TAKEOVER")] {
        // Masters vote on a master's replicas once in twice the node timeout.
        until("it has taken over", || {
            is_master(&cluster, node) || {
                cluster.nodes()[node].says(&format!("CLUSTER FAILOVER {word}"));
                false
            }
        });
        until("all know that the old master follows", || is_known_to_follow(&cluster, old));
    }
    let logs = cluster.nodes().iter().map(|node| masked_lines(&node.log(), WORDS));
    Some(logs.flatten().collect())
}

#[test]
fn failovers_are_logged_as_by_redis_server() {
    let Some(real) = lines_of_failovers(Make::Redis) else { return };
    let ours = lines_of_failovers(Make::Ours).expect("it is ours");
    assert!(real.contains("Failover election won: I'm the new master."), "{real:#?}");
    for lines in [&ours, &real] {
        assert!(lines.iter().any(|line| line.starts_with("Clear FAIL state for node NAME: ")), "{lines:#?}");
    }
    assert_same_lines(&ours, &real, BY_CHANCE);
}

//! Redisson's `useClusterServers`: every scenario of a single server, on three masters with a replica each. All four
//! versions pass all scenarios on real servers too.

use crate::redisson::{SERVERS, V3_6, V3_17, V3_24, V4_7, all_pass, our_servers};
use lockwheel::Server;
use lockwheel_tests::redisson::{Run, Version};
use lockwheel_tests::shapes::{Cluster, Make, is_full};

/// Replicas of each master.
const REPLICAS: usize = 1;

#[track_caller]
fn passes(version: Version, make: Make) {
    let Some(cluster) = Cluster::start(make, REPLICAS) else { return };
    let alone = our_servers();
    let nodes = cluster.ports();
    let others = alone[1..SERVERS].iter().map(Server::port);
    let ports: Vec<u16> = nodes[..1].iter().copied().chain(others).collect();
    let run = Run { ports: &ports, nodes: &nodes, native: make == Make::Ours, ..Run::default() };
    all_pass(version, &format!("a cluster, {make:?}"), &run);
}

#[test]
fn redisson_3_6_in_a_cluster() {
    passes(V3_6, Make::Ours);
}

#[test]
fn redisson_3_17_in_a_cluster() {
    passes(V3_17, Make::Ours);
}

#[test]
fn redisson_3_24_in_a_cluster() {
    passes(V3_24, Make::Ours);
}

#[test]
fn redisson_4_7_in_a_cluster() {
    passes(V4_7, Make::Ours);
}

#[test]
fn real_shapes_a_cluster() {
    if is_full() {
        [V3_6, V3_17, V3_24, V4_7].into_iter().for_each(|version| passes(version, Make::Redis));
    }
}

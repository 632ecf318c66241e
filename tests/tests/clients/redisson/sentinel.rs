//! Redisson's `useSentinelServers`: every scenario of a single server, on a master with two replicas that three
//! sentinels name.

use crate::redisson::{SERVERS, V3_6, V3_17, V3_24, V4_7, all_pass_but, our_servers};
use lockwheel::Server;
use lockwheel_tests::redisson::Run;
use lockwheel_tests::redisson::Version;
use lockwheel_tests::shapes::{Make, Watched, is_full};

const REPLICAS: usize = 2;

/// Scenarios that a version may fail, on real servers too: a message of one replica makes the client ask another one.
fn misses(version: Version) -> &'static [&'static str] {
    if version == V3_6 { &["delayed-queue.order"] } else { &[] }
}

#[track_caller]
fn passes(version: Version, make: Make) {
    let Some(watched) = Watched::start(make, REPLICAS) else { return };
    let alone = our_servers();
    let others = alone[1..SERVERS].iter().map(Server::port);
    let ports: Vec<u16> = [watched.servers()[0].port()].into_iter().chain(others).collect();
    let sentinels = watched.sentinel_ports();
    let run = Run { ports: &ports, sentinels: &sentinels, native: make == Make::Ours, ..Run::default() };
    all_pass_but(misses(version), version, &format!("what sentinels name, {make:?}"), &run);
}

#[test]
fn redisson_3_6_by_sentinels() {
    passes(V3_6, Make::Ours);
}

#[test]
fn redisson_3_17_by_sentinels() {
    passes(V3_17, Make::Ours);
}

#[test]
fn redisson_3_24_by_sentinels() {
    passes(V3_24, Make::Ours);
}

#[test]
fn redisson_4_7_by_sentinels() {
    passes(V4_7, Make::Ours);
}

#[test]
fn real_shapes_sentinels() {
    if is_full() {
        [V3_6, V3_17, V3_24, V4_7].into_iter().for_each(|version| passes(version, Make::Redis));
    }
}

//! Replication from one seed: random writes, lags, partitions, killed servers and failovers. A replica always has its
//! master's data; the answers of WAIT are true; and when all is healed, all servers agree.

mod play;
mod states;
mod walk;

use lockwheel_tests::rng::seeds;
use lockwheel_tests::simulated_topology::Shape;
use play::{Play, Told};
use walk::Walk;

const REPLICAS: Shape = Shape::Replicas(2);
const SENTINELS: Shape = Shape::Sentinel(2, 3);
const CLUSTER: Shape = Shape::Cluster(3, 1);

/// Runs a whole play.
fn play(shape: Shape, seed: u64, steps: usize) -> Told {
    let mut play = Play::new(shape, seed);
    (0..steps).for_each(|_| play.step());
    play.heal();
    play.into_record()
}

/// Many plays. Every kind of event must occur in at least one of them.
fn play_many(shape: Shape, runs: u64, steps: usize) {
    let mut sums = [0; 4];
    for seed in seeds(runs) {
        let told = play(shape, seed, steps);
        for (sum, count) in sums.iter_mut().zip([told.behind, told.compared, told.waits, told.failovers]) {
            *sum += count;
        }
    }
    assert!(sums.iter().all(|sum| *sum > 0), "behind, compared, waits, failovers: {sums:?}");
}

#[test]
fn replicas_are_prefixes_of_their_master_and_agree_after_healing() {
    play_many(REPLICAS, 20, 150);
}

#[test]
fn replicas_with_sentinels_are_prefixes_and_agree_after_healing() {
    play_many(SENTINELS, 8, 100);
}

#[test]
fn replicas_of_a_cluster_are_prefixes_and_agree_after_healing() {
    play_many(CLUSTER, 8, 100);
}

/// Steps of a walk.
const WALK: usize = 25;

/// Many walks. Every kind of event must occur in at least one of them.
fn walk_many(shape: Shape, runs: u64) {
    let (mut resets, mut failovers, mut hits) = (0, 0, 0);
    for seed in seeds(runs) {
        let mut walk = Walk::new(shape, seed);
        (0..WALK).for_each(|_| walk.step());
        walk.heal();
        (resets, failovers, hits) = (resets + walk.resets, failovers + walk.failovers, hits + walk.hits);
    }
    assert!(resets > 0 && failovers > 0 && hits > 0, "{resets} {failovers} {hits}");
}

#[test]
fn a_cluster_is_whole_again_after_any_faults_and_resets() {
    walk_many(CLUSTER, 120);
}

#[test]
fn a_cluster_of_two_masters_is_whole_again_after_any_faults_and_resets() {
    walk_many(Shape::Cluster(2, 2), 60);
}

#[test]
fn replicas_and_sentinels_are_whole_again_after_any_faults_and_resets() {
    walk_many(SENTINELS, 60);
}

#[test]
fn messages_held_by_a_partition_do_not_arrive_after_a_reset() {
    for asked in 0..CLUSTER.servers() {
        let mut walk = Walk::new(CLUSTER, 1);
        for line in ["FAULT.PARTITION NODES 3", "FAULT.FAILOVER 3", "CONTROL.RESET"] {
            walk.ask(asked, line);
        }
        walk.heal();
    }
}

#[test]
fn a_node_that_missed_a_failover_gets_the_slots_by_another_one() {
    let mut walk = Walk::new(Shape::Cluster(2, 2), 1);
    // Servers 3 and 5 are the replicas of server 1.
    for line in ["FAULT.PARTITION NODES 3 FROM 5", "FAULT.FAILOVER 3", "FAULT.FAILOVER 5"] {
        walk.ask(1, line);
    }
    walk.heal();
}

#[test]
fn the_same_seed_gives_the_same_history() {
    for shape in [REPLICAS, SENTINELS, CLUSTER] {
        let [one, again, other] = [3, 3, 4].map(|seed| play(shape, seed, 60).history);
        let differs = one.lines().zip(again.lines()).find(|(one, again)| one != again);
        assert!(one == again, "{shape:?}: {differs:?}");
        assert_ne!(one, other, "{shape:?}");
    }
}

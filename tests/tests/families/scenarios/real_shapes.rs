//! Failovers of real servers that lose a lock, if `LOCKWHEEL_SHAPES=redis` requests them. No clock is advanced there:
//! each step waits for a state. Only the clients' answers are known.

use crate::scenarios::heirs::{By, sees_lock_held};
use crate::scenarios::stage::{LOCK, redisson_3_6, redisson_3_17, redisson_3_24, redisson_4_7};
use lockwheel_tests::client::Client;
use lockwheel_tests::shapes::{Cluster, Make, Watched, is_full};
use lockwheel_tests::steered::{self, Jvm, Replicas, Setup, Thread};

/// A lease that outlives every test, in milliseconds.
const LEASE_MS: u64 = 600_000;

/// Servers with replicas, one of which has the lock.
enum Real {
    /// A master, its two replicas, and three sentinels.
    Watched(Watched),
    /// Three masters, each with a replica, and the index of the node that has the lock.
    Cluster(Cluster, usize),
}

impl Real {
    /// Starts the servers. Returns `None` if they are not wanted, or not installed.
    fn start(by: By) -> Option<Real> {
        if !is_full() {
            return None;
        }
        match by {
            By::Sentinels => Watched::start(Make::Redis, 2).map(Real::Watched),
            By::Cluster => {
                let cluster = Cluster::start(Make::Redis, 1)?;
                let master = cluster.master_of(LOCK);
                Some(Real::Cluster(cluster, master))
            }
        }
    }

    #[track_caller]
    fn redisson<'a>(&self, jvm: &'a Jvm, name: &str, replicas: Replicas) -> steered::Client<'a> {
        let setup = Setup { replicas, ..Setup::default() };
        match self {
            Real::Watched(watched) => jvm.client_of_watched(name, watched.sentinel_ports()[0], setup),
            Real::Cluster(cluster, _) => jvm.client_of_cluster(name, &cluster.ports(), setup),
        }
    }

    fn master(&self) -> Client {
        match self {
            Real::Watched(watched) => watched.client(),
            Real::Cluster(cluster, master) => cluster.client(*master),
        }
    }

    /// Waits until the replicas have their master's data.
    fn settle(&self) {
        match self {
            Real::Watched(watched) => watched.settle(),
            Real::Cluster(cluster, _) => cluster.settle(LOCK),
        }
    }

    /// From now on, writes reach no replica.
    fn fall_behind(&self) {
        match self {
            Real::Watched(watched) => watched.fall_behind(),
            Real::Cluster(cluster, _) => cluster.fall_behind(LOCK),
        }
    }

    /// Whether the master has the lock.
    fn has_lock(&self) -> bool {
        self.master().line(&format!("EXISTS {LOCK}")).as_int() == Some(1)
    }

    /// Waits until a replica has become the master, without the lock.
    #[track_caller]
    fn is_inherited(&mut self) {
        assert!(self.has_lock());
        match self {
            Real::Watched(watched) => {
                watched.replace_master();
            }
            Real::Cluster(cluster, master) => *master = cluster.replace_master(*master),
        }
        assert!(!self.has_lock());
    }
}

/// Bob, who comes later, gets the lock. Alice, whose lease has not ended, learns that only if she asks.
#[track_caller]
fn is_given_twice(real: &Real, jvm: &Jvm, alice: &Thread<'_>) {
    let client = real.redisson(jvm, "bob", Replicas::Unused);
    let bob = client.thread("worker");
    bob.does(&format!("try-lock {LOCK} 0 {LEASE_MS}"), "true");
    sees_lock_held(alice, "false");
    bob.does(&format!("held {LOCK}"), "true");
}

fn lost_on_failover(by: By, jvm: Option<&Jvm>) {
    let Some((jvm, mut real)) = jvm.zip(Real::start(by)) else { return };
    let client = real.redisson(jvm, "alice", Replicas::Unused);
    let alice = client.thread("worker");
    real.fall_behind();
    alice.does(&format!("lock {LOCK} {LEASE_MS}"), "");
    real.is_inherited();
    is_given_twice(&real, jvm, &alice);
}

#[test]
fn lost_on_failover_with_redisson_3_6() {
    lost_on_failover(By::Sentinels, redisson_3_6());
}

#[test]
fn lost_on_failover_with_redisson_3_17() {
    lost_on_failover(By::Sentinels, redisson_3_17());
}

#[test]
fn lost_on_failover_with_redisson_3_24() {
    lost_on_failover(By::Sentinels, redisson_3_24());
}

#[test]
fn lost_on_failover_with_redisson_4_7() {
    lost_on_failover(By::Sentinels, redisson_4_7());
}

#[test]
fn lost_on_failover_of_a_cluster_with_redisson_3_17() {
    lost_on_failover(By::Cluster, redisson_3_17());
}

#[test]
fn lost_on_failover_of_a_cluster_with_redisson_4_7() {
    lost_on_failover(By::Cluster, redisson_4_7());
}

/// Alice gets an error by default. Newer versions release the lock; after an older one she releases it. Then she asks
/// again and ignores the answer.
fn replica_never_acks(by: By, jvm: Option<&Jvm>, gives_back: bool) {
    let Some((jvm, mut real)) = jvm.zip(Real::start(by)) else { return };
    let clients = [Replicas::Heeded, Replicas::Asked].map(|replicas| real.redisson(jvm, "alice", replicas));
    let [heeds, ignores] = clients.each_ref().map(|client| client.thread("worker"));
    real.fall_behind();
    heeds.fails(&format!("lock {LOCK} {LEASE_MS}"), "slaves were synced");
    assert_eq!(real.has_lock(), !gives_back);
    if !gives_back {
        heeds.fails(&format!("unlock {LOCK}"), "slaves were synced");
        assert!(!real.has_lock());
    }
    ignores.does(&format!("lock {LOCK} {LEASE_MS}"), "");
    real.is_inherited();
    is_given_twice(&real, jvm, &ignores);
}

#[test]
fn replica_never_acks_with_redisson_3_17() {
    replica_never_acks(By::Sentinels, redisson_3_17(), false);
}

#[test]
fn replica_never_acks_with_redisson_3_24() {
    replica_never_acks(By::Sentinels, redisson_3_24(), true);
}

#[test]
fn replica_never_acks_with_redisson_4_7() {
    replica_never_acks(By::Sentinels, redisson_4_7(), true);
}

#[test]
fn replica_never_acks_of_a_cluster_with_redisson_3_17() {
    replica_never_acks(By::Cluster, redisson_3_17(), false);
}

#[test]
fn replica_never_acks_of_a_cluster_with_redisson_4_7() {
    replica_never_acks(By::Cluster, redisson_4_7(), true);
}

/// Alice has had the second token and got the third; the next owner gets the second.
fn token_regress(by: By, jvm: Option<&Jvm>) {
    let Some((jvm, mut real)) = jvm.zip(Real::start(by)) else { return };
    let client = real.redisson(jvm, "alice", Replicas::Unused);
    let alice = client.thread("worker");
    let call = format!("fenced-lock {LOCK} 60000 {LEASE_MS}");
    let gives_back = |thread: &Thread<'_>| thread.does(&format!("fenced-unlock {LOCK}"), "");
    alice.does(&call, "1");
    gives_back(&alice);
    real.settle();
    real.fall_behind();
    alice.does(&call, "2");
    gives_back(&alice);
    alice.does(&call, "3");
    real.is_inherited();
    let client = real.redisson(jvm, "bob", Replicas::Unused);
    client.thread("worker").does(&call, "2");
}

#[test]
fn token_regress_with_redisson_3_24() {
    token_regress(By::Sentinels, redisson_3_24());
}

#[test]
fn token_regress_with_redisson_4_7() {
    token_regress(By::Sentinels, redisson_4_7());
}

#[test]
fn token_regress_of_a_cluster_with_redisson_3_24() {
    token_regress(By::Cluster, redisson_3_24());
}

#[test]
fn token_regress_of_a_cluster_with_redisson_4_7() {
    token_regress(By::Cluster, redisson_4_7());
}

//! RedLock over five real servers, two of which alice does not reach, if `LOCKWHEEL_SHAPES=redis` requests them.

use crate::scenarios::heirs::sees_lock_held;
use crate::scenarios::stage::{LOCK, redisson_3_6, redisson_3_17, redisson_3_24, redisson_4_7};
use crate::scenarios::votes::Votes;
use lockwheel_tests::shapes::{Make, Process, Watched, is_full, strangers};
use lockwheel_tests::steered::{Jvm, Replicas, Setup};

/// The number of servers that alice reaches.
const REACHED: usize = 3;

/// A lease that outlives every test, in milliseconds.
const LEASE_MS: u64 = 600_000;

/// The settings of a client whose servers may be gone, or stopped.
fn setup() -> Setup {
    Setup { timeout_ms: 2_000, ..Setup::default() }
}

fn five() -> Option<Vec<Process>> {
    is_full().then(|| strangers(Make::Redis, 5)).flatten()
}

fn votes<'a>(jvm: &'a Jvm, name: &str, five: &[Process]) -> Votes<'a> {
    Votes::new(five.iter().map(|one| jvm.client(name, one.port(), setup())), REACHED - 1, LEASE_MS)
}

/// The number of servers that have the lock.
fn held(servers: &[Process]) -> usize {
    servers.iter().filter(|server| server.says(&format!("EXISTS {LOCK}")) == ":1").count()
}

/// Two servers are stopped while alice asks. Three votes are hers alone until she releases them.
fn excludes(jvm: Option<&Jvm>) {
    let Some((jvm, five)) = jvm.zip(five()) else { return };
    let alice = votes(jvm, "alice", &five);
    five[REACHED..].iter().for_each(Process::stand_still);
    alice.are_a_majority(true);
    assert_eq!(held(&five[..REACHED]), REACHED);
    five[REACHED..].iter().for_each(Process::go_on);
    let bob = votes(jvm, "bob", &five);
    bob.are_a_majority(false);
    alice.give_back();
    bob.are_a_majority(true);
    alice.are_a_majority(false);
    bob.give_back();
    assert_eq!(held(&five), 0);
}

#[test]
fn redlock_excludes_with_redisson_3_6() {
    excludes(redisson_3_6());
}

#[test]
fn redlock_excludes_with_redisson_3_17() {
    excludes(redisson_3_17());
}

#[test]
fn redlock_excludes_with_redisson_3_24() {
    excludes(redisson_3_24());
}

#[test]
fn redlock_excludes_with_redisson_4_7() {
    excludes(redisson_4_7());
}

/// Two servers are gone while alice asks. Instead of a jumping clock, one server that saves nothing is restarted: it
/// has forgotten its vote, and gives it to bob.
fn split_vote(jvm: Option<&Jvm>) {
    let Some((jvm, mut five)) = jvm.zip(five()) else { return };
    let alice = votes(jvm, "alice", &five);
    five[REACHED..].iter_mut().for_each(Process::kill);
    alice.are_a_majority(true);
    five[REACHED..].iter_mut().for_each(Process::restart);
    votes(jvm, "bob", &five).are_a_majority(false);
    five[REACHED - 1].restart();
    let bob = votes(jvm, "bob", &five);
    bob.are_a_majority(true);
    sees_lock_held(&alice.thread(), "false");
    bob.thread().does(&format!("held {LOCK}"), "true");
}

#[test]
fn redlock_split_vote_with_redisson_3_6() {
    split_vote(redisson_3_6());
}

#[test]
fn redlock_split_vote_with_redisson_3_17() {
    split_vote(redisson_3_17());
}

#[test]
fn redlock_split_vote_with_redisson_3_24() {
    split_vote(redisson_3_24());
}

#[test]
fn redlock_split_vote_with_redisson_4_7() {
    split_vote(redisson_4_7());
}

/// Five masters: the first has a replica and sentinels, and the last two are gone while alice asks.
struct Masters {
    first: Watched,
    others: Vec<Process>,
}

impl Masters {
    fn start() -> Option<Masters> {
        if !is_full() {
            return None;
        }
        Some(Masters { first: Watched::start(Make::Redis, 1)?, others: strangers(Make::Redis, 4)? })
    }

    fn votes<'a>(&self, jvm: &'a Jvm, name: &str, replicas: Replicas) -> Votes<'a> {
        let setup = Setup { replicas, ..setup() };
        let first = jvm.client_of_watched(name, self.first.sentinel_ports()[0], setup);
        let others = self.others.iter().map(|one| jvm.client(name, one.port(), setup));
        Votes::new([first].into_iter().chain(others), 0, LEASE_MS)
    }

    fn far(&mut self) -> &mut [Process] {
        &mut self.others[REACHED - 1..]
    }
}

/// The replica has alice's lock: it is hers after the failover, until she releases it.
fn is_kept(jvm: Option<&Jvm>) {
    let Some((jvm, mut masters)) = jvm.zip(Masters::start()) else { return };
    let alice = masters.votes(jvm, "alice", Replicas::Unused);
    masters.far().iter_mut().for_each(Process::kill);
    alice.are_a_majority(true);
    masters.first.settle();
    masters.first.replace_master();
    sees_lock_held(&alice.thread(), "true");
    masters.far().iter_mut().for_each(Process::restart);
    let bob = masters.votes(jvm, "bob", Replicas::Unused);
    bob.are_a_majority(false);
    alice.give_back();
    bob.are_a_majority(true);
}

/// The replica does not have the lock: its vote and those of the two that alice did not reach are a majority too.
fn is_lost(jvm: Option<&Jvm>) {
    let Some((jvm, mut masters)) = jvm.zip(Masters::start()) else { return };
    let alice = masters.votes(jvm, "alice", Replicas::Unused);
    masters.far().iter_mut().for_each(Process::kill);
    masters.first.fall_behind();
    alice.are_a_majority(true);
    masters.first.replace_master();
    masters.far().iter_mut().for_each(Process::restart);
    let bob = masters.votes(jvm, "bob", Replicas::Unused);
    bob.are_a_majority(true);
    sees_lock_held(&alice.thread(), "false");
    bob.thread().does(&format!("held {LOCK}"), "true");
}

/// Newer versions count no vote that no replica has acknowledged, and release the votes that they got.
fn is_not_taken(jvm: Option<&Jvm>) {
    let Some((jvm, mut masters)) = jvm.zip(Masters::start()) else { return };
    let alice = masters.votes(jvm, "alice", Replicas::Heeded);
    masters.far().iter_mut().for_each(Process::kill);
    masters.first.fall_behind();
    alice.thread().does(&alice.call(-1), "false");
    assert_eq!(held(&masters.first.servers()[..1]), 0);
    assert_eq!(held(&masters.others), 0);
}

#[test]
fn redlock_is_kept_through_a_failover_with_redisson_3_6() {
    is_kept(redisson_3_6());
}

#[test]
fn redlock_is_kept_through_a_failover_with_redisson_3_17() {
    is_kept(redisson_3_17());
}

#[test]
fn redlock_is_kept_through_a_failover_with_redisson_3_24() {
    is_kept(redisson_3_24());
}

#[test]
fn redlock_is_kept_through_a_failover_with_redisson_4_7() {
    is_kept(redisson_4_7());
}

#[test]
fn redlock_is_lost_by_a_failover_with_redisson_3_6() {
    is_lost(redisson_3_6());
}

#[test]
fn redlock_is_lost_by_a_failover_with_redisson_3_17() {
    is_lost(redisson_3_17());
}

#[test]
fn redlock_is_lost_by_a_failover_with_redisson_3_24() {
    is_lost(redisson_3_24());
}

#[test]
fn redlock_is_lost_by_a_failover_with_redisson_4_7() {
    is_lost(redisson_4_7());
}

#[test]
fn redlock_is_not_taken_when_no_replica_acks_with_redisson_3_24() {
    is_not_taken(redisson_3_24());
}

#[test]
fn redlock_is_not_taken_when_no_replica_acks_with_redisson_4_7() {
    is_not_taken(redisson_4_7());
}

//! Lost-on-failover: the master has granted the lock, and fails before its replica has received the grant.

use crate::scenarios::heirs::{By, LEASE_MS, Realm, TWICE, enters, is_found, sees_lock_held, works};
use crate::scenarios::pair::{LAG, Pair};
use crate::scenarios::stage::{LOCK, check, field, redisson_3_6, redisson_3_17, redisson_3_24, redisson_4_7};
use lockwheel_tests::reply::Reply;
use lockwheel_tests::steered::{Jvm, Replicas, Setup};

/// Alice has taken the lock at the master; the replica takes over a moment too early.
fn alice_is_forgotten() -> Pair {
    let mut pair = Pair::new();
    let line = format!("LOCK.ACQUIRE {LOCK} alice PX 60000");
    assert_eq!(field(&mut pair.master, &line, "token"), Reply::Int(1));
    pair.advance(LAG - 1);
    pair.fails_over();
    pair
}

/// Bob gets the lock from the new master.
#[track_caller]
fn bob_takes_it(pair: &mut Pair) {
    let line = format!("LOCK.ACQUIRE {LOCK} bob PX 60000");
    assert_eq!(field(&mut pair.heir, &line, "token"), Reply::Int(2));
}

#[test]
fn lost_on_failover_is_found() {
    let mut pair = alice_is_forgotten();
    check(&mut pair.heir, &format!("LOCK.ENTER {LOCK} alice"), ":1");
    bob_takes_it(&mut pair);
    check(&mut pair.heir, &format!("LOCK.ENTER {LOCK} bob"), ":1");
    // Two owners hold the lock according to their servers, and both have begun to work.
    pair.is_found_at_successor(&["violation mutual-exclusion", "violation mutual-exclusion"]);
}

#[test]
fn lost_on_failover_harms_nothing_when_the_holder_asks_again() {
    let mut pair = alice_is_forgotten();
    check(
        &mut pair.heir,
        &format!("LOCK.ASSERT {LOCK} 1"),
        "-STALE token 1 is not current: there is no current token",
    );
    check(&mut pair.heir, &format!("LOCK.RENEW 1 {LOCK} alice PX 60000"), "[:0]");
    bob_takes_it(&mut pair);
    check(&mut pair.heir, &format!("LOCK.ENTER {LOCK} bob"), ":1");
    check(&mut pair.heir, &format!("LOCK.LEAVE {LOCK} bob"), ":1");
    // The lock was granted twice, but the owners did not work at the same time.
    pair.is_found_at_successor(&["violation mutual-exclusion"]);
}

/// Data that has reached the replica is not lost.
#[test]
fn lost_on_failover_is_a_matter_of_one_millisecond() {
    let mut pair = Pair::new();
    pair.master.line(&format!("LOCK.ACQUIRE {LOCK} alice PX 60000"));
    pair.advance(LAG);
    pair.fails_over();
    check(&mut pair.heir, &format!("LOCK.ACQUIRE {LOCK} bob"), "(nil)");
    pair.is_found_at_successor(&[]);
}

/// Two processes use Redisson: alice's is connected to the master, bob's comes when the replica has taken over.
fn is_found_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let mut pair = Pair::new();
    let ports = pair.ports();
    let clients =
        [("alice", ports[0]), ("bob", ports[1])].map(|(name, port)| jvm.client(name, port, Setup::default()));
    let [alice, bob] = [&clients[0], &clients[1]].map(|client| client.thread("worker"));
    alice.does(&format!("lock {LOCK} 600000"), "");
    pair.fails_over();
    let names = [&alice, &bob].map(|thread| thread.owner());
    check(&mut pair.heir, &format!("LOCK.ENTER {LOCK} {}", names[0]), ":1");
    bob.does(&format!("try-lock {LOCK} 0 600000"), "true");
    check(&mut pair.heir, &format!("LOCK.ENTER {LOCK} {}", names[1]), ":1");
    // Each is the holder according to the server that it knows.
    alice.does(&format!("held {LOCK}"), "true");
    bob.does(&format!("held {LOCK}"), "true");
    // Two owners hold the lock according to their servers, and both have begun to work.
    pair.is_found_at_successor(&["violation mutual-exclusion", "violation mutual-exclusion"]);
}

#[test]
fn lost_on_failover_is_found_with_redisson_3_17() {
    is_found_with(redisson_3_17());
}

#[test]
fn lost_on_failover_is_found_with_redisson_4_7() {
    is_found_with(redisson_4_7());
}

/// The watchers choose a new master, which grants the lock again.
fn is_found_when_replaced(by: By) {
    let mut realm = Realm::new(by);
    works(&mut realm.master, "alice");
    let mut heir = realm.inherited();
    works(&mut heir, "bob");
    is_found(&mut heir, &TWICE);
}

#[test]
fn lost_on_failover_is_found_when_sentinels_replace_the_master() {
    is_found_when_replaced(By::Sentinels);
}

#[test]
fn lost_on_failover_is_found_when_a_cluster_replaces_the_master() {
    is_found_when_replaced(By::Cluster);
}

/// Alice's client finds the new master, and does not notify her: if she asks, the answer is that she holds nothing.
/// Newer versions wait for replicas when they take a lock; here they take it whatever the replicas answer.
fn is_found_when_redisson_follows(jvm: Option<&Jvm>, by: By, waits: usize) {
    let Some(jvm) = jvm else { return };
    let mut realm = Realm::new(by);
    let client = realm.redisson(jvm, "alice", Replicas::Unused);
    let alice = client.thread("worker");
    let call = alice.begins(&format!("lock {LOCK} {LEASE_MS}"));
    assert_eq!(realm.outcome_after_timeouts(call, waits).as_deref(), Ok(""));
    enters(&mut realm.master, &alice.owner());
    let mut heir = realm.inherited();
    let client = realm.redisson(jvm, "bob", Replicas::Unused);
    let bob = client.thread("worker");
    bob.does(&format!("try-lock {LOCK} 0 {LEASE_MS}"), "true");
    enters(&mut heir, &bob.owner());
    sees_lock_held(&alice, "false");
    bob.does(&format!("held {LOCK}"), "true");
    is_found(&mut heir, &TWICE);
}

#[test]
fn lost_on_failover_is_found_with_sentinels_and_redisson_3_6() {
    is_found_when_redisson_follows(redisson_3_6(), By::Sentinels, 0);
}

#[test]
fn lost_on_failover_is_found_with_sentinels_and_redisson_3_17() {
    is_found_when_redisson_follows(redisson_3_17(), By::Sentinels, 0);
}

#[test]
fn lost_on_failover_is_found_with_sentinels_and_redisson_3_24() {
    is_found_when_redisson_follows(redisson_3_24(), By::Sentinels, 1);
}

#[test]
fn lost_on_failover_is_found_with_sentinels_and_redisson_4_7() {
    is_found_when_redisson_follows(redisson_4_7(), By::Sentinels, 1);
}

#[test]
fn lost_on_failover_is_found_with_a_cluster_and_redisson_3_17() {
    is_found_when_redisson_follows(redisson_3_17(), By::Cluster, 0);
}

#[test]
fn lost_on_failover_is_found_with_a_cluster_and_redisson_4_7() {
    is_found_when_redisson_follows(redisson_4_7(), By::Cluster, 1);
}

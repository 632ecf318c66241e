//! Replica-never-acks: a lock survives a failover if a replica has it, and no replica acknowledges it in time.

use crate::scenarios::heirs::{By, LEASE_MS, Realm, TWICE, WAIT_MS, enters, is_found, sees_lock_held, works};
use crate::scenarios::pair::Pair;
use crate::scenarios::stage::{LOCK, check, field, redisson_3_17, redisson_3_24, redisson_4_7};
use lockwheel_tests::reply::Reply;
use lockwheel_tests::steered::{Jvm, Replicas, Setup};

/// Alice takes the lock and asks whether a replica has it: none has.
fn alice_asks(by: By) -> Realm {
    let mut realm = Realm::new(by);
    let mut alice = realm.connection();
    let line = format!("LOCK.ACQUIRE {LOCK} alice PX {LEASE_MS}");
    assert_eq!(field(&mut alice, &line, "token"), Reply::Int(1));
    alice.send_line(&format!("WAIT 1 {WAIT_MS}"));
    realm.times_out();
    assert_eq!(alice.read_reply(), Reply::Int(0));
    realm
}

/// She ignores the answer.
#[test]
fn replica_never_acks_is_found() {
    for by in [By::Sentinels, By::Cluster] {
        let mut realm = alice_asks(by);
        enters(&mut realm.master, "alice");
        let mut heir = realm.inherited();
        works(&mut heir, "bob");
        is_found(&mut heir, &TWICE);
    }
}

/// An owner that heeds the answer releases the lock, and has not begun to work.
#[test]
fn replica_never_acks_harms_nothing_when_the_answer_is_heeded() {
    for by in [By::Sentinels, By::Cluster] {
        let mut realm = alice_asks(by);
        check(&mut realm.master, &format!("LOCK.RELEASE {LOCK} alice"), ":0");
        let mut heir = realm.inherited();
        works(&mut heir, "bob");
        is_found(&mut heir, &[]);
    }
}

/// Redisson is configured to ignore the answer (`checkLockSyncedSlaves` is off): it waits, and gives alice the lock all
/// the same.
fn is_found_with(jvm: Option<&Jvm>, by: By) {
    let Some(jvm) = jvm else { return };
    let mut realm = Realm::new(by);
    let client = realm.redisson(jvm, "alice", Replicas::Asked);
    let alice = client.thread("worker");
    let call = alice.begins(&format!("lock {LOCK} {LEASE_MS}"));
    assert_eq!(realm.outcome_after_timeouts(call, 1).as_deref(), Ok(""));
    enters(&mut realm.master, &alice.owner());
    let mut heir = realm.inherited();
    let client = realm.redisson(jvm, "bob", Replicas::Unused);
    let bob = client.thread("worker");
    bob.does(&format!("try-lock {LOCK} 0 {LEASE_MS}"), "true");
    enters(&mut heir, &bob.owner());
    sees_lock_held(&alice, "false");
    is_found(&mut heir, &TWICE);
}

#[test]
fn replica_never_acks_is_found_with_sentinels_and_redisson_3_17() {
    is_found_with(redisson_3_17(), By::Sentinels);
}

#[test]
fn replica_never_acks_is_found_with_sentinels_and_redisson_3_24() {
    is_found_with(redisson_3_24(), By::Sentinels);
}

#[test]
fn replica_never_acks_is_found_with_sentinels_and_redisson_4_7() {
    is_found_with(redisson_4_7(), By::Sentinels);
}

#[test]
fn replica_never_acks_is_found_with_a_cluster_and_redisson_3_17() {
    is_found_with(redisson_3_17(), By::Cluster);
}

#[test]
fn replica_never_acks_is_found_with_a_cluster_and_redisson_4_7() {
    is_found_with(redisson_4_7(), By::Cluster);
}

/// Redisson throws an exception by default, and alice does not begin to work. Newer versions release the lock, which
/// waits for the replicas as well. After an older one she must release it, and gets the same exception again.
fn harms_nothing_with(jvm: Option<&Jvm>, by: By, gives_back: bool) {
    let Some(jvm) = jvm else { return };
    let mut realm = Realm::new(by);
    let client = realm.redisson(jvm, "alice", Replicas::Heeded);
    let alice = client.thread("worker");
    let call = alice.begins(&format!("lock {LOCK} {LEASE_MS}"));
    let outcome = realm.outcome_after_timeouts(call, if gives_back { 2 } else { 1 });
    assert!(outcome.as_ref().is_err_and(|text| text.contains("slaves were synced")), "{outcome:?}");
    if !gives_back {
        check(&mut realm.master, &format!("EXISTS {LOCK}"), ":1");
        let call = alice.begins(&format!("unlock {LOCK}"));
        let outcome = realm.outcome_after_timeouts(call, 1);
        assert!(outcome.as_ref().is_err_and(|text| text.contains("slaves were synced")), "{outcome:?}");
    }
    check(&mut realm.master, &format!("EXISTS {LOCK}"), ":0");
    let mut heir = realm.inherited();
    works(&mut heir, "bob");
    is_found(&mut heir, &[]);
}

#[test]
fn replica_never_acks_harms_nothing_with_sentinels_and_redisson_3_17() {
    harms_nothing_with(redisson_3_17(), By::Sentinels, false);
}

#[test]
fn replica_never_acks_harms_nothing_with_sentinels_and_redisson_3_24() {
    harms_nothing_with(redisson_3_24(), By::Sentinels, true);
}

#[test]
fn replica_never_acks_harms_nothing_with_sentinels_and_redisson_4_7() {
    harms_nothing_with(redisson_4_7(), By::Sentinels, true);
}

#[test]
fn replica_never_acks_harms_nothing_with_a_cluster_and_redisson_3_17() {
    harms_nothing_with(redisson_3_17(), By::Cluster, false);
}

#[test]
fn replica_never_acks_harms_nothing_with_a_cluster_and_redisson_4_7() {
    harms_nothing_with(redisson_4_7(), By::Cluster, true);
}

/// Runs the same case with a master and a replica that the client was configured with.
fn harms_nothing_with_configured_replicas(jvm: Option<&Jvm>, gives_back: bool) {
    let Some(jvm) = jvm else { return };
    let mut pair = Pair::new();
    let setup = Setup { replicas: Replicas::Heeded, ..Setup::default() };
    let client = jvm.client_of("alice", &pair.ports(), setup);
    let alice = client.thread("worker");
    let call = alice.begins(&format!("lock {LOCK} 600000"));
    for _ in 0..if gives_back { 2 } else { 1 } {
        check(&mut pair.master, "AWAIT.BLOCKED 1", ":1");
        pair.advance(WAIT_MS);
    }
    let outcome = call.outcome();
    assert!(outcome.as_ref().is_err_and(|text| text.contains("RedisException")), "{outcome:?}");
    let left = if gives_back { ":0" } else { ":1" };
    check(&mut pair.master, &format!("EXISTS {LOCK}"), left);
}

#[test]
fn replica_never_acks_is_told_to_redisson_3_17() {
    harms_nothing_with_configured_replicas(redisson_3_17(), false);
}

#[test]
fn replica_never_acks_is_told_to_redisson_4_7() {
    harms_nothing_with_configured_replicas(redisson_4_7(), true);
}

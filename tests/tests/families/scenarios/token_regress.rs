//! Token-regress: the counter of tokens is lost, and the resource has seen higher ones.

use crate::scenarios::heirs::{By, LEASE_MS, Realm, TWICE, enters, is_found};
use crate::scenarios::stage::{LOCK, Stage, check, field, redisson_3_24, redisson_4_7};
use lockwheel_tests::client::Client;
use lockwheel_tests::reply::Reply;
use lockwheel_tests::steered::{Jvm, Replicas, Thread};

/// The resource to which the holders write, apart from the servers of the lock. It has seen alice's token.
fn stock(token: i64) -> Stage {
    let mut stock = Stage::new();
    stock.says(&format!("LOCK.FENCE stock {token}"), "+OK");
    stock
}

/// An owner is granted the lock, with a number of the server or of the lock's own counter.
#[track_caller]
fn is_granted(client: &mut Client, owner: &str, more: &str, token: i64) {
    let line = format!("LOCK.ACQUIRE {LOCK} {owner} PX {LEASE_MS}{more}");
    assert_eq!(field(client, &line, "token"), Reply::Int(token));
}

/// Alice has been granted the lock four times.
fn alice_is_the_fourth(realm: &mut Realm, more: &str) {
    for token in 1..4 {
        is_granted(&mut realm.master, "alice", more, token);
        check(&mut realm.master, &format!("LOCK.RELEASE {LOCK} alice"), ":0");
    }
    is_granted(&mut realm.master, "alice", more, 4);
}

/// The new master has the lock but not the numbers of its grants: it counts anew.
#[test]
fn token_regress_is_found() {
    for by in [By::Sentinels, By::Cluster] {
        let mut realm = Realm::new(by);
        check(&mut realm.master, "FAULT.LAG 0", "+OK");
        alice_is_the_fourth(&mut realm, "");
        let mut stock = stock(4);
        let mut heir = realm.inherited_without_tokens();
        check(&mut heir, &format!("LOCK.RELEASE {LOCK} alice"), ":0");
        is_granted(&mut heir, "bob", "", 1);
        stock.says("LOCK.FENCE stock 1", "-STALE token 1 is below the highest token 4");
        check(&mut heir, &format!("LOCK.RELEASE {LOCK} bob"), ":0");
        is_found(&mut heir, &["violation token-order"]);
    }
}

/// The lock's own counter is a key, as Redisson's is: the new master has neither lock nor counter. The resource refuses
/// bob, who does not begin to work, and reports the token that it has seen.
#[test]
fn token_regress_is_noticed_by_a_fenced_resource() {
    for by in [By::Sentinels, By::Cluster] {
        let mut realm = Realm::new(by);
        alice_is_the_fourth(&mut realm, " FENCED");
        enters(&mut realm.master, "alice");
        let mut stock = stock(4);
        let mut heir = realm.inherited();
        is_granted(&mut heir, "bob", " FENCED", 1);
        stock.says("LOCK.FENCE stock 1", "-STALE token 1 is below the highest token 4");
        check(&mut heir, &format!("LOCK.RELEASE {LOCK} bob"), ":0");
        // The lock was granted twice, but the owners did not work at the same time.
        is_found(&mut heir, &["violation mutual-exclusion"]);
        check(&mut heir, &format!("SET redisson_lock_token:{{{LOCK}}} 4"), "+OK");
        is_granted(&mut heir, "carol", " FENCED", 5);
        stock.says("LOCK.FENCE stock 5", "+OK");
    }
}

/// The token that a thread of Redisson gets, though no replica acknowledges it.
#[track_caller]
fn is_fenced(realm: &mut Realm, thread: &Thread<'_>, token: &str) {
    let call = thread.begins(&format!("fenced-lock {LOCK} 60000 {LEASE_MS}"));
    assert_eq!(realm.outcome_after_timeouts(call, 1).as_deref(), Ok(token));
}

/// Redisson's counter is lost with the lock, and bob begins anew. If alice has written with her second token, the
/// resource refuses bob's first one. If she wrote with her first token, bob's is equal, and the resource cannot tell
/// them apart.
fn is_found_with(jvm: Option<&Jvm>, by: By) {
    let Some(jvm) = jvm else { return };
    for (seen, answer) in [(2, "-STALE token 1 is below the highest token 2"), (1, "+OK")] {
        let mut realm = Realm::new(by);
        let client = realm.redisson(jvm, "alice", Replicas::Unused);
        let alice = client.thread("worker");
        is_fenced(&mut realm, &alice, "1");
        if seen == 2 {
            let call = alice.begins(&format!("fenced-unlock {LOCK}"));
            assert_eq!(realm.outcome_after_timeouts(call, 1).as_deref(), Ok(""));
            is_fenced(&mut realm, &alice, "2");
        }
        enters(&mut realm.master, &alice.owner());
        let mut stock = stock(seen);
        let mut heir = realm.inherited();
        let client = realm.redisson(jvm, "bob", Replicas::Unused);
        let bob = client.thread("worker");
        bob.does(&format!("fenced-lock {LOCK} 60000 {LEASE_MS}"), "1");
        stock.says("LOCK.FENCE stock 1", answer);
        enters(&mut heir, &bob.owner());
        is_found(&mut heir, &TWICE);
    }
}

#[test]
fn token_regress_is_found_with_sentinels_and_redisson_3_24() {
    is_found_with(redisson_3_24(), By::Sentinels);
}

#[test]
fn token_regress_is_found_with_sentinels_and_redisson_4_7() {
    is_found_with(redisson_4_7(), By::Sentinels);
}

#[test]
fn token_regress_is_found_with_a_cluster_and_redisson_3_24() {
    is_found_with(redisson_3_24(), By::Cluster);
}

#[test]
fn token_regress_is_found_with_a_cluster_and_redisson_4_7() {
    is_found_with(redisson_4_7(), By::Cluster);
}

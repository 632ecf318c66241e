//! Abba-deadlock: two owners that take the same two locks in different order.

use crate::scenarios::stage::{Stage, redisson_3_17, redisson_4_7};
use lockwheel_tests::client::Client;
use lockwheel_tests::steered::{Jvm, Setup};
use lockwheel_tests::verdict;

const TAKES: &str = "PX 10000 BLOCK 0";

#[track_caller]
fn granted(connection: &mut Client) {
    let reply = connection.read_reply().to_string();
    assert!(reply.starts_with("{\"token\": "), "{reply}");
}

/// Each owner has one lock, and alice waits for the other. Bob, who would close the cycle, gets an error.
#[test]
fn abba_deadlock_is_found() {
    let mut stage = Stage::new();
    let [mut alice, mut bob] = [stage.connection(), stage.connection()];
    alice.send_line(&format!("LOCK.ACQUIRE a alice {TAKES}"));
    bob.send_line(&format!("LOCK.ACQUIRE b bob {TAKES}"));
    granted(&mut alice);
    granted(&mut bob);
    alice.send_line(&format!("LOCK.ACQUIRE b alice {TAKES}"));
    stage.says("AWAIT.WAITERS b 1", ":1");
    let refused = bob.line(&format!("LOCK.ACQUIRE a bob {TAKES}")).to_string();
    assert_eq!(refused, "-DEADLOCK bob -> a -> alice -> b -> bob");
    // Bob releases his lock, and alice continues.
    assert_eq!(bob.line("LOCK.RELEASE b bob").to_string(), ":0");
    granted(&mut alice);
    stage.is_found(&["lint deadlock"]);
    stage.reports("bob was refused a: DEADLOCK bob -> a -> alice -> b -> bob");
}

/// A request for several locks gets all of them or none.
#[test]
fn abba_deadlock_cannot_happen_with_one_request_for_both_locks() {
    let mut stage = Stage::new();
    let [mut alice, mut bob] = [stage.connection(), stage.connection()];
    let both = alice.line("LOCK.MACQUIRE 2 a b alice PX 10000");
    assert!(!both.is_error(), "{both}");
    bob.send_line("LOCK.MACQUIRE 2 b a bob PX 10000 BLOCK 0");
    stage.says("AWAIT.WAITERS a 1", ":1");
    assert_eq!(alice.line("LOCK.MRELEASE 2 a b alice").to_string(), "[:0, :0]");
    assert!(!bob.read_reply().is_error());
    stage.is_found(&[]);
}

/// Redisson cannot be notified: the graph shows the holders and the waiter for each lock, until a lease ends.
fn is_seen_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let mut stage = Stage::new();
    let clients = ["alice", "bob"].map(|name| stage.redisson(jvm, name, Setup::default()));
    let [alice, bob] = [&clients[0], &clients[1]].map(|client| client.thread("worker"));
    let [alice_name, bob_name] = [alice.owner(), bob.owner()];
    alice.does("lock a 10000", "");
    bob.does("lock b 20000", "");
    let [alice_waits, bob_waits] = [alice.begins("lock b 10000"), bob.begins("lock a 10000")];
    stage.says("AWAIT.WAITERS a 1", ":1");
    stage.says("AWAIT.WAITERS b 1", ":1");
    // A client that has subscribed asks once more, and only then waits.
    for lock in ["a", "b"] {
        let asked = stage.director.line(&format!("AWAIT.EVENT refused KEY {lock} COUNT 2"));
        assert!(asked.as_int().is_some(), "{asked}");
    }
    let graph = stage.director.line("LOCK.GRAPH INFERRED").to_string();
    for (lock, holder, waiter) in [("a", &alice_name, &bob_name), ("b", &bob_name, &alice_name)] {
        let held = format!(r#""key": "{lock}", "holders": ["{holder}"], "ahead": [], "waiters": ["#);
        let waits = format!(r#""waiter": "{waiter}", "kind": "inferred""#);
        let (_, of_lock) = graph.split_once(&held).unwrap_or_else(|| panic!("{held} is not in {graph}"));
        assert!(of_lock.split("\"key\"").next().is_some_and(|of_lock| of_lock.contains(&waits)), "{graph}");
    }
    // The cycle begins with the owner whose name comes first.
    let cycles = [
        format!("{alice_name} -> b -> {bob_name} -> a -> {alice_name}"),
        format!("{bob_name} -> a -> {alice_name} -> b -> {bob_name}"),
    ];
    assert!(cycles.iter().any(|cycle| graph.contains(&format!("\"cycles\": [\"{cycle}\"]"))), "{graph}");
    stage.is_found(&["suspect deadlock"]);
    let verdict = stage.director.line("LOCK.VERIFY").to_string();
    assert!(cycles.iter().any(|cycle| verdict.contains(&format!("deadlock: {cycle}"))), "{verdict}");
    stage.advance(10_000);
    assert_eq!(bob_waits.outcome().as_deref(), Ok(""));
    bob.does("unlock b", "");
    assert_eq!(alice_waits.outcome().as_deref(), Ok(""));
    // The finding remains after the end of the lease has opened the cycle, too.
    let found = verdict::findings(&mut stage.director);
    assert!(found.contains(&"suspect deadlock".to_owned()), "{found:?}");
}

#[test]
fn abba_deadlock_is_seen_with_redisson_3_17() {
    is_seen_with(redisson_3_17());
}

#[test]
fn abba_deadlock_is_seen_with_redisson_4_7() {
    is_seen_with(redisson_4_7());
}

/// A native client that would close the cycle gets an error, if inferred waits are configured to count.
fn is_reported_to_waiters_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let mut stage = Stage::new();
    stage.says("CONFIG SET lock-deadlock-inferred yes", "+OK");
    let client = stage.redisson(jvm, "alice", Setup::default());
    let (alice, mut bob) = (client.thread("worker"), stage.connection());
    let name = alice.owner();
    alice.does("lock a 10000", "");
    assert!(!bob.line("LOCK.ACQUIRE b bob PX 20000").is_error());
    let alice_waits = alice.begins("lock b 10000");
    stage.says("AWAIT.WAITERS b 1", ":1");
    let refused = bob.line(&format!("LOCK.ACQUIRE a bob {TAKES}")).to_string();
    assert_eq!(refused, format!("-DEADLOCK bob -> a -> {name} -> b -> bob"));
    assert_eq!(bob.line("LOCK.RELEASE b bob").to_string(), ":0");
    assert_eq!(alice_waits.outcome().as_deref(), Ok(""));
    stage.is_found(&["lint deadlock"]);
}

#[test]
fn abba_deadlock_is_reported_to_waiters_with_redisson_3_17() {
    is_reported_to_waiters_with(redisson_3_17());
}

#[test]
fn abba_deadlock_is_reported_to_waiters_with_redisson_4_7() {
    is_reported_to_waiters_with(redisson_4_7());
}

/// Both take the locks in one order.
fn is_none_in_one_order_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let mut stage = Stage::new();
    let clients = ["alice", "bob"].map(|name| stage.redisson(jvm, name, Setup::default()));
    let [alice, bob] = [&clients[0], &clients[1]].map(|client| client.thread("worker"));
    alice.does("lock a 10000", "");
    let bob_waits = [bob.begins("lock a 10000"), bob.begins("lock b 10000")];
    stage.says("AWAIT.WAITERS a 1", ":1");
    alice.does("lock b 10000", "");
    alice.does("unlock b", "");
    alice.does("unlock a", "");
    for call in bob_waits {
        assert_eq!(call.outcome().as_deref(), Ok(""));
    }
    stage.is_found(&[]);
}

#[test]
fn abba_deadlock_cannot_happen_in_one_order_with_redisson_3_17() {
    is_none_in_one_order_with(redisson_3_17());
}

#[test]
fn abba_deadlock_cannot_happen_in_one_order_with_redisson_4_7() {
    is_none_in_one_order_with(redisson_4_7());
}

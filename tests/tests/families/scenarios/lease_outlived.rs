//! Lease-outlived: an owner that works longer than its lease lasts is no longer alone, and does not know.

use crate::scenarios::stage::{LOCK, Stage, redisson_3_17, redisson_4_7};
use lockwheel_tests::steered::{Jvm, Setup, Thread};

/// Alice's lease ends while she is away, and bob has the lock.
fn bob_has_the_lock_of_alice() -> Stage {
    let mut stage = Stage::new();
    assert_eq!(stage.token("alice"), 1);
    stage.advance(10_000);
    assert_eq!(stage.token("bob"), 2);
    stage
}

#[test]
fn lease_outlived_is_found() {
    let mut stage = Stage::new();
    stage.token("alice");
    stage.enters("alice");
    stage.advance(10_000);
    stage.token("bob");
    stage.enters("bob");
    stage.leaves("bob");
    stage.leaves("alice");
    stage.is_found(&["violation mutual-exclusion"]);
}

#[test]
fn lease_outlived_is_reported_at_the_release() {
    let mut stage = bob_has_the_lock_of_alice();
    let reply = stage.director.line(&format!("LOCK.RELEASE {LOCK} alice")).to_string();
    assert!(reply.starts_with("-LOCKLOST this owner lost the lock: grant 1 ended (expired) at "), "{reply}");
    assert!(reply.ends_with(", current grant 2"), "{reply}");
    // She may have believed that all the time.
    stage.is_found(&["suspect mutual-exclusion"]);
}

#[test]
fn lease_outlived_harms_nothing_that_is_fenced() {
    let mut stage = bob_has_the_lock_of_alice();
    stage.says("LOCK.FENCE stock 2", "+OK");
    stage.says("LOCK.FENCE stock 1", "-STALE token 1 is below the highest token 2");
    stage.says(&format!("LOCK.ASSERT {LOCK} 1"), "-STALE token 1 is not the current token 2");
    stage.is_found(&[]);
}

/// Alice and bob are threads of two clients. Alice's lease ends while she is in the section, and bob has the lock.
#[track_caller]
fn outlived(stage: &mut Stage, alice: &Thread<'_>, bob: &Thread<'_>) {
    alice.does(&format!("lock {LOCK} 10000"), "");
    let waiting = bob.begins(&format!("lock {LOCK} 10000"));
    stage.says(&format!("AWAIT.WAITERS {LOCK} 1"), ":1");
    stage.advance(10_000);
    assert_eq!(waiting.outcome().as_deref(), Ok(""));
}

fn is_found_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let mut stage = Stage::new();
    let clients = ["alice", "bob"].map(|name| stage.redisson(jvm, name, Setup::default()));
    let [alice, bob] = [&clients[0], &clients[1]].map(|client| client.thread("worker"));
    let names = [&alice, &bob].map(Thread::owner);
    stage.enters(&names[0]);
    outlived(&mut stage, &alice, &bob);
    stage.enters(&names[1]);
    stage.leaves(&names[1]);
    stage.leaves(&names[0]);
    alice.fails(&format!("unlock {LOCK}"), "IllegalMonitorStateException");
    bob.does(&format!("unlock {LOCK}"), "");
    stage.is_found(&["violation mutual-exclusion", "suspect mutual-exclusion"]);
}

fn harms_nothing_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let mut stage = Stage::new();
    let clients = ["alice", "bob"].map(|name| stage.redisson(jvm, name, Setup::default()));
    let [alice, bob] = [&clients[0], &clients[1]].map(|client| client.thread("worker"));
    outlived(&mut stage, &alice, &bob);
    // Alice asks before she writes, and does not unlock a lock that is not hers.
    alice.does(&format!("held {LOCK}"), "false");
    bob.does(&format!("held {LOCK}"), "true");
    let name = bob.owner();
    stage.enters(&name);
    stage.leaves(&name);
    bob.does(&format!("unlock {LOCK}"), "");
    stage.is_found(&[]);
}

#[test]
fn lease_outlived_is_found_with_redisson_3_17() {
    is_found_with(redisson_3_17());
}

#[test]
fn lease_outlived_is_found_with_redisson_4_7() {
    is_found_with(redisson_4_7());
}

#[test]
fn lease_outlived_harms_nothing_with_redisson_3_17() {
    harms_nothing_with(redisson_3_17());
}

#[test]
fn lease_outlived_harms_nothing_with_redisson_4_7() {
    harms_nothing_with(redisson_4_7());
}

/// Asking and then writing are two steps; a token makes them one.
#[test]
fn lease_outlived_harms_nothing_with_redissons_fenced_lock() {
    let Some(jvm) = redisson_4_7() else { return };
    let mut stage = Stage::new();
    let clients = ["alice", "bob"].map(|name| stage.redisson(jvm, name, Setup::default()));
    let [alice, bob] = [&clients[0], &clients[1]].map(|client| client.thread("worker"));
    alice.does(&format!("fenced-lock {LOCK} 60000 10000"), "1");
    let waiting = bob.begins(&format!("fenced-lock {LOCK} 60000 10000"));
    stage.says(&format!("AWAIT.WAITERS {LOCK} 1"), ":1");
    stage.advance(10_000);
    assert_eq!(waiting.outcome().as_deref(), Ok("2"));
    stage.says("LOCK.FENCE stock 2", "+OK");
    stage.says("LOCK.FENCE stock 1", "-STALE token 1 is below the highest token 2");
    bob.does(&format!("fenced-unlock {LOCK}"), "");
    stage.is_found(&[]);
}

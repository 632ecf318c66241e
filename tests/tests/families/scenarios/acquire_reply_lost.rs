//! Acquire-reply-lost: the server has granted the lock, and the client does not know.

use crate::scenarios::stage::{LOCK, Stage, redisson_3_17, redisson_4_7};
use lockwheel_tests::steered::{Jvm, Setup, Thread};

/// Alice takes the lock, gets no answer and connects anew.
fn alice_does_not_know() -> Stage {
    let mut stage = Stage::new();
    stage.says("FAULT.ADD lost ON lock.acquire TIMES 1 DO CLOSEAFTER", "+OK");
    let mut alice = stage.connection();
    alice.send_line(&format!("LOCK.ACQUIRE {LOCK} alice PX 10000"));
    assert_eq!(alice.read_to_close(), b"");
    stage
}

/// She tries again, holds the lock twice, and releases one hold.
#[test]
fn acquire_reply_lost_is_found() {
    let mut stage = alice_does_not_know();
    assert_eq!(stage.token("alice"), 1);
    stage.says(&format!("LOCK.RELEASE {LOCK} alice"), ":1");
    stage.says(&format!("LOCK.ACQUIRE {LOCK} bob"), "(nil)");
    stage.is_found(&["suspect unanswered-acquire"]);
    stage.has_happened(&["acquired", "fault", "reentered", "released", "refused"]);
}

#[test]
fn acquire_reply_lost_harms_nothing_if_the_retry_releases_first() {
    let mut stage = alice_does_not_know();
    stage.says(&format!("LOCK.RELEASE {LOCK} alice ALL"), ":0");
    assert_eq!(stage.token("alice"), 2);
    stage.says(&format!("LOCK.RELEASE {LOCK} alice"), ":0");
    assert_eq!(stage.token("bob"), 3);
    stage.is_found(&[]);
}

#[test]
fn acquire_reply_lost_is_reported_to_a_retry_with_noreenter() {
    let mut stage = alice_does_not_know();
    let retry = stage.director.line(&format!("LOCK.ACQUIRE {LOCK} alice NOREENTER")).to_string();
    assert!(retry.starts_with("-REENTRANT"), "{retry}");
    // She knows now that she holds it.
    stage.is_found(&[]);
}

/// The answer comes after the client has stopped waiting for it, which the client reports as a timeout. Then the
/// connection works again.
#[track_caller]
fn takes_without_knowing(stage: &mut Stage, alice: &Thread<'_>) {
    // The call makes sure that the client has connected for good.
    alice.does(&format!("held {LOCK}"), "false");
    stage.says(&format!("FAULT.ADD late KEY {LOCK} CONTAINS hincrby TIMES 1 DO DELAYREPLY 1000"), "+OK");
    alice.fails(&format!("lock {LOCK} 600000"), "TimeoutException");
    stage.advance(1_000);
}

/// A client that takes the exception for a refusal leaves the lock behind.
fn is_found_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let mut stage = Stage::new();
    let client = stage.redisson(jvm, "alice", Setup { timeout_ms: 500, ..Setup::default() });
    takes_without_knowing(&mut stage, &client.thread("worker"));
    stage.says(&format!("LOCK.ACQUIRE {LOCK} bob"), "(nil)");
    stage.is_found(&["suspect unanswered-acquire"]);
    stage.has_happened(&["acquired", "fault", "refused"]);
}

/// A client without an answer unlocks the lock that it may hold.
fn harms_nothing_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let mut stage = Stage::new();
    let client = stage.redisson(jvm, "alice", Setup { timeout_ms: 500, ..Setup::default() });
    let alice = client.thread("worker");
    takes_without_knowing(&mut stage, &alice);
    alice.does(&format!("held {LOCK}"), "true");
    alice.does(&format!("unlock {LOCK}"), "");
    stage.token("bob");
    stage.is_found(&[]);
}

#[test]
fn acquire_reply_lost_is_found_with_redisson_3_17() {
    is_found_with(redisson_3_17());
}

#[test]
fn acquire_reply_lost_is_found_with_redisson_4_7() {
    is_found_with(redisson_4_7());
}

#[test]
fn acquire_reply_lost_harms_nothing_with_redisson_3_17() {
    harms_nothing_with(redisson_3_17());
}

#[test]
fn acquire_reply_lost_harms_nothing_with_redisson_4_7() {
    harms_nothing_with(redisson_4_7());
}

//! Missed-wakeup: the message of the unlock is lost, or comes before the waiter has subscribed.

use crate::scenarios::stage::{LOCK, Stage, redisson_3_17, redisson_4_7};
use lockwheel_tests::steered::{Jvm, Setup};

const CHANNEL: &str = "redisson_lock__channel:{order:42}";
/// A lock that is free for longer than this while a client waits is a finding.
const LIMIT_MS: u64 = 1_000;

/// A client that tries, subscribes and then relies on the message.
#[test]
fn missed_wakeup_is_found() {
    let mut stage = Stage::new();
    stage.token("alice");
    let mut bob = stage.connection();
    assert_eq!(bob.line(&format!("LOCK.ACQUIRE {LOCK} bob PX 10000")).to_string(), "(nil)");
    bob.line(&format!("SUBSCRIBE {CHANNEL}"));
    stage.says("FAULT.ADD lost ON lock.release DO LOSEPUBLISH", "+OK");
    stage.says(&format!("LOCK.RELEASE {LOCK} alice"), ":0");
    stage.says("AWAIT.FAULT lost 1", ":1");
    stage.advance(LIMIT_MS + 1);
    stage.is_found(&["suspect missed-wakeup"]);
}

/// A native waiter waits for the key, and needs no message.
#[test]
fn missed_wakeup_cannot_happen_to_native_waiters() {
    let mut stage = Stage::new();
    stage.token("alice");
    let mut bob = stage.connection();
    bob.send_line(&format!("LOCK.ACQUIRE {LOCK} bob PX 10000 BLOCK 0"));
    stage.says(&format!("AWAIT.WAITERS {LOCK} 1"), ":1");
    stage.says("FAULT.ADD lost ON lock.release DO LOSEPUBLISH", "+OK");
    stage.says(&format!("LOCK.RELEASE {LOCK} alice"), ":0");
    assert!(bob.read_reply().to_string().contains("\"predecessor\": \"released\""));
    stage.advance(LIMIT_MS + 1);
    stage.is_found(&[]);
}

/// The message is lost: the waiter sleeps for the lease that it saw in its request.
fn is_found_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let mut stage = Stage::new();
    let clients = ["alice", "bob"].map(|name| stage.redisson(jvm, name, Setup::default()));
    let [alice, bob] = [&clients[0], &clients[1]].map(|client| client.thread("worker"));
    alice.does(&format!("lock {LOCK} 600000"), "");
    let waiting = bob.begins(&format!("lock {LOCK} 600000"));
    // The client asks once before it subscribes, and once more after.
    let asked = stage.director.line(&format!("AWAIT.EVENT refused KEY {LOCK} COUNT 2"));
    assert!(asked.as_int().is_some(), "{asked}");
    stage.says(&format!("FAULT.ADD lost CHANNEL {CHANNEL} TIMES 1 DO LOSEPUBLISH"), "+OK");
    alice.does(&format!("unlock {LOCK}"), "");
    stage.says("AWAIT.FAULT lost 1", ":1");
    stage.advance(LIMIT_MS + 1);
    stage.is_found(&["suspect missed-wakeup"]);
    stage.says(&format!("PUBLISH {CHANNEL} 0"), ":1");
    assert_eq!(waiting.outcome().as_deref(), Ok(""));
}

#[test]
fn missed_wakeup_is_found_with_redisson_3_17() {
    is_found_with(redisson_3_17());
}

#[test]
fn missed_wakeup_is_found_with_redisson_4_7() {
    is_found_with(redisson_4_7());
}

/// The message comes before the subscription: a client that asks again after subscribing misses nothing.
fn survives_a_late_subscription(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let mut stage = Stage::new();
    let clients = ["alice", "bob"].map(|name| stage.redisson(jvm, name, Setup::default()));
    let [alice, bob] = [&clients[0], &clients[1]].map(|client| client.thread("worker"));
    alice.does(&format!("lock {LOCK} 600000"), "");
    stage.says(&format!("FAULT.ADD late ON subscribe CHANNEL {CHANNEL} DO HOLD"), "+OK");
    let waiting = bob.begins(&format!("lock {LOCK} 600000"));
    stage.says("AWAIT.HELD late 1", ":1");
    alice.does(&format!("unlock {LOCK}"), "");
    stage.says("FAULT.GO late", ":1");
    assert_eq!(waiting.outcome().as_deref(), Ok(""));
    stage.is_found(&[]);
}

#[test]
fn missed_wakeup_by_a_late_subscription_is_survived_by_redisson_3_17() {
    survives_a_late_subscription(redisson_3_17());
}

#[test]
fn missed_wakeup_by_a_late_subscription_is_survived_by_redisson_4_7() {
    survives_a_late_subscription(redisson_4_7());
}

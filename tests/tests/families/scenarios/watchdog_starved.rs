//! Watchdog-starved: the renewals do not arrive, and the holder works on.

use crate::scenarios::stage::{LOCK, Stage, redisson_3_17, redisson_4_7};
use lockwheel_tests::steered::{Client, Jvm, Setup, Thread};

/// The lease that the watchdog renews, at every third of it.
const WATCHDOG_MS: u64 = 3_000;

#[test]
fn watchdog_starved_is_found() {
    let mut stage = Stage::new();
    stage.token("alice");
    stage.enters("alice");
    stage.says("FAULT.ADD starved ON lock.renew DO ERROR 'ERR lost'", "+OK");
    for _ in 0..2 {
        stage.advance(5_000);
        stage.says(&format!("LOCK.RENEW 1 {LOCK} alice PX 10000"), "-ERR lost");
    }
    stage.token("bob");
    stage.enters("bob");
    stage.is_found(&["violation mutual-exclusion"]);
}

/// The server renews a session's holds: no request has to arrive.
#[test]
fn watchdog_starved_cannot_happen_to_sessions() {
    let mut stage = Stage::new();
    let mut alice = stage.connection();
    assert!(!alice.line(&format!("LOCK.ACQUIRE {LOCK} alice SESSION")).is_error());
    stage.advance(3_600_000);
    stage.says(&format!("LOCK.ACQUIRE {LOCK} bob"), "(nil)");
    drop(alice);
    stage.says(&format!("AWAIT.KEY {LOCK} GONE"), ":1");
    stage.token("bob");
    stage.is_found(&[]);
}

/// Alice's renewals fail, her lease ends, and bob has the lock.
#[track_caller]
fn starve(stage: &mut Stage, alice: &Thread<'_>, bob: &Thread<'_>) {
    alice.does(&format!("lock {LOCK}"), "");
    let rule = format!("FAULT.ADD starved CONTAINS pexpire KEY {LOCK} CLIENTNAME alice DO ERROR 'ERR lost'");
    stage.says(&rule, "+OK");
    stage.says("AWAIT.FAULT starved 1 LIMIT 60000", ":1");
    stage.advance(WATCHDOG_MS);
    bob.does(&format!("lock {LOCK} 600000"), "");
}

fn pair<'a>(stage: &Stage, jvm: &'a Jvm) -> [Client<'a>; 2] {
    ["alice", "bob"].map(|name| {
        let setup = Setup { watchdog_ms: WATCHDOG_MS, timeout_ms: 1_000, ..Setup::default() };
        stage.redisson(jvm, name, setup)
    })
}

fn is_found_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let mut stage = Stage::new();
    let clients = pair(&stage, jvm);
    let [alice, bob] = [&clients[0], &clients[1]].map(|client| client.thread("worker"));
    stage.enters(&alice.owner());
    starve(&mut stage, &alice, &bob);
    stage.enters(&bob.owner());
    stage.is_found(&["violation mutual-exclusion"]);
}

/// Alice gets no notification; she has to ask.
fn harms_nothing_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let mut stage = Stage::new();
    let clients = pair(&stage, jvm);
    let [alice, bob] = [&clients[0], &clients[1]].map(|client| client.thread("worker"));
    starve(&mut stage, &alice, &bob);
    alice.does(&format!("held {LOCK}"), "false");
    stage.enters(&bob.owner());
    stage.is_found(&[]);
}

#[test]
fn watchdog_starved_is_found_with_redisson_3_17() {
    is_found_with(redisson_3_17());
}

#[test]
fn watchdog_starved_is_found_with_redisson_4_7() {
    is_found_with(redisson_4_7());
}

#[test]
fn watchdog_starved_harms_nothing_with_redisson_3_17() {
    harms_nothing_with(redisson_3_17());
}

#[test]
fn watchdog_starved_harms_nothing_with_redisson_4_7() {
    harms_nothing_with(redisson_4_7());
}

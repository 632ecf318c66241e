//! Threads of Redisson that are interrupted or disconnected while they wait for a lock. That is correct, so there are
//! no findings.
//!
//! A thread that is interrupted between its own attempt and its subscription leaves the subscription behind until its
//! client ends, as on a redis-server. Nobody waits by it, and AWAIT.WAITERS counts nobody.

use crate::scenarios::stage::{LOCK, Stage, redisson_3_17, redisson_4_7};
use lockwheel_tests::steered::{Jvm, Setup};

/// The channels of the lock: a fair one has one for each owner.
const CHANNELS: &str = "redisson_lock__channel:{order:42}*";

/// The ways in which a thread waits: the kind of lock, and the call.
const WAYS: [(&str, &str); 4] = [
    ("", "lock-interruptibly order:42 60000"),
    ("", "try-lock order:42 60000 60000"),
    ("fair-", "lock-interruptibly order:42 60000"),
    ("fair-", "try-lock order:42 60000 60000"),
];

/// A thread is interrupted, before or after it subscribes; then the lock is free for long.
fn is_right(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    for (kind, call) in WAYS {
        for before in [true, false] {
            interrupts(jvm, &format!("{kind}lock {LOCK} 600000"), &format!("{kind}{call}"), before);
        }
    }
}

fn interrupts(jvm: &Jvm, takes: &str, waits: &str, before: bool) {
    let mut stage = Stage::new();
    let clients = ["alice", "bob"].map(|name| stage.redisson(jvm, name, Setup::default()));
    let [alice, bob] = [&clients[0], &clients[1]].map(|client| client.thread("worker"));
    alice.does(takes, "");
    if before {
        stage.says(&format!("FAULT.ADD late ON subscribe CHANNEL {CHANNELS} DO HOLD"), "+OK");
    }
    let waiting = bob.begins(waits);
    if before {
        stage.says("AWAIT.HELD late 1", ":1");
    } else {
        // A fair lock's thread joins the queue with its first request, which does not count as a refusal.
        let count = if waits.starts_with("fair-") { 1 } else { 2 };
        await_entry(&mut stage, "refused", count, 0);
    }
    clients[1].thread("other").does("interrupt worker", "");
    let outcome = waiting.outcome();
    assert!(
        outcome.as_ref().is_err_and(|text| text.contains("InterruptedException")),
        "{waits}: {outcome:?}"
    );
    if before {
        stage.says("FAULT.GO late", ":1");
        stage.says("AWAIT.CALLS subscribe 1", ":1");
    }
    stage.says(&format!("AWAIT.WAITERS {LOCK} 0 EXACT"), ":1");
    alice.does(&takes.replace("lock order", "unlock order").replace(" 600000", ""), "");
    stage.advance(5_000);
    stage.is_found(&[]);
    drop(clients);
    stage.says(&format!("AWAIT.WAITERS {LOCK} 0 EXACT"), ":1");
}

#[test]
fn interrupted_threads_of_redisson_3_17_are_right() {
    is_right(redisson_3_17());
}

#[test]
fn interrupted_threads_of_redisson_4_7_are_right() {
    is_right(redisson_4_7());
}

/// The connection by which a thread listens for the lock is closed: its client connects again, and the thread is
/// notified.
fn is_right_when_cut_off(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    for kind in ["", "fair-"] {
        let mut stage = Stage::new();
        let clients = ["alice", "bob"].map(|name| stage.redisson(jvm, name, Setup::default()));
        let [alice, bob] = [&clients[0], &clients[1]].map(|client| client.thread("worker"));
        alice.does(&format!("{kind}lock {LOCK} 600000"), "");
        let waiting = bob.begins(&format!("{kind}lock {LOCK} 600000"));
        let asked = await_entry(&mut stage, "refused", if kind.is_empty() { 2 } else { 1 }, 0);
        stage.says("CLIENT KILL TYPE pubsub", ":1");
        await_entry(&mut stage, "queued", 1, asked);
        stage.says(&format!("AWAIT.WAITERS {LOCK} 1"), ":1");
        alice.does(&format!("{kind}unlock {LOCK}"), "");
        assert_eq!(waiting.outcome(), Ok(String::new()), "{kind}lock");
        bob.does(&format!("{kind}unlock {LOCK}"), "");
        stage.advance(5_000);
        stage.is_found(&[]);
    }
}

/// The number of the last of this many entries of the lock after one.
fn await_entry(stage: &mut Stage, event: &str, count: usize, since: i64) -> i64 {
    let line = format!("AWAIT.EVENT {event} KEY {LOCK} SINCE {since} COUNT {count}");
    let reply = stage.director.line(&line);
    reply.as_int().unwrap_or_else(|| panic!("{line}: {reply}"))
}

#[test]
fn threads_of_redisson_3_17_that_are_cut_off_are_right() {
    is_right_when_cut_off(redisson_3_17());
}

#[test]
fn threads_of_redisson_4_7_that_are_cut_off_are_right() {
    is_right_when_cut_off(redisson_4_7());
}

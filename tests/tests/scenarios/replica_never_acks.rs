//! Replica-never-acks: a lock is safe from a failover when a replica has it, and no replica says so in time.

use crate::pair::Pair;
use crate::stage::{LOCK, check, field, redisson_3_17, redisson_4_7};
use lockwheel_tests::client::Client;
use lockwheel_tests::reply::Reply;
use lockwheel_tests::steered::{Jvm, Setup};

/// How long the replica is waited for: as long as Redisson does by default.
const WAIT_MS: u64 = 1_000;

/// Somebody waits for the replica, in vain.
#[track_caller]
fn waits_in_vain(pair: &mut Pair) {
    check(&mut pair.master, "AWAIT.BLOCKED 1", ":1");
    pair.advance(WAIT_MS);
}

/// Alice takes the lock and asks whether the replica has it.
fn alice_asks() -> Pair {
    let mut pair = Pair::new();
    let port = pair.ports()[0];
    let mut alice = Client::connect_resp3(("127.0.0.1", port));
    let line = format!("LOCK.ACQUIRE {LOCK} alice PX 60000");
    assert_eq!(field(&mut alice, &line, "token"), Reply::Int(1));
    alice.send_line(&format!("WAIT 1 {WAIT_MS}"));
    waits_in_vain(&mut pair);
    assert_eq!(alice.read_reply(), Reply::Int(0));
    pair
}

/// She does not look at the answer.
#[test]
fn replica_never_acks_is_found() {
    let mut pair = alice_asks();
    pair.fails_over();
    check(&mut pair.heir, &format!("LOCK.ENTER {LOCK} alice"), ":1");
    pair.heir.line(&format!("LOCK.ACQUIRE {LOCK} bob PX 60000"));
    check(&mut pair.heir, &format!("LOCK.ENTER {LOCK} bob"), ":1");
    // Two hold it by what their servers say, and both have begun to work.
    pair.is_found_at_heir(&["violation mutual-exclusion", "violation mutual-exclusion"]);
}

/// Who looks gives the lock back, and has not begun to work.
#[test]
fn replica_never_acks_harms_nothing_when_the_answer_is_heeded() {
    let mut pair = alice_asks();
    check(&mut pair.master, &format!("LOCK.RELEASE {LOCK} alice"), ":0");
    pair.fails_over();
    pair.heir.line(&format!("LOCK.ACQUIRE {LOCK} bob PX 60000"));
    check(&mut pair.heir, &format!("LOCK.ENTER {LOCK} bob"), ":1");
    pair.is_found_at_heir(&[]);
}

/// Redisson throws an exception. Newer versions give the lock back too; one that did not leaves it for its lease.
fn is_told_to(jvm: Option<&Jvm>, gives_back: bool) {
    let Some(jvm) = jvm else { return };
    let mut pair = Pair::new();
    let client = jvm.client_of("alice", &pair.ports(), Setup::default());
    let alice = client.thread("worker");
    let call = alice.begins(&format!("lock {LOCK} 600000"));
    waits_in_vain(&mut pair);
    if gives_back {
        waits_in_vain(&mut pair);
    }
    let outcome = call.outcome();
    assert!(outcome.as_ref().is_err_and(|text| text.contains("RedisException")), "{outcome:?}");
    let left = if gives_back { ":0" } else { ":1" };
    check(&mut pair.master, &format!("EXISTS {LOCK}"), left);
}

#[test]
fn replica_never_acks_is_told_to_redisson_3_17() {
    is_told_to(redisson_3_17(), false);
}

#[test]
fn replica_never_acks_is_told_to_redisson_4_7() {
    is_told_to(redisson_4_7(), true);
}

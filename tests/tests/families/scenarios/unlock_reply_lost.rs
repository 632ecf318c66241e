//! Unlock-reply-lost: the lock was released, the client does not know, and releases it again.

use crate::scenarios::stage::{COMPARE_AND_DELETE, LOCK, Stage, check, redisson_3_17, redisson_4_7};
use lockwheel_tests::client::Client;
use lockwheel_tests::steered::{Jvm, Setup};

/// Sends a request that is executed but not answered; the connection is cut.
#[track_caller]
fn loses_the_answer<A: AsRef<[u8]>>(stage: &mut Stage, command: &[A]) {
    stage.says(&format!("FAULT.ADD lost KEY {LOCK} TIMES 1 DO CLOSEAFTER"), "+OK");
    let mut alice = stage.connection();
    check(&mut alice, "CLIENT SETNAME alice", "+OK");
    alice.send(command);
    assert_eq!(alice.read_to_close(), b"");
}

/// A second DEL, with bob's lock in between.
#[test]
fn unlock_reply_lost_is_found() {
    let mut stage = Stage::new();
    stage.says("CLIENT SETNAME alice", "+OK");
    stage.says(&format!("SET {LOCK} alice NX PX 10000"), "+OK");
    loses_the_answer(&mut stage, &["DEL", LOCK]);
    let mut bob = stage.connection();
    check(&mut bob, "CLIENT SETNAME bob", "+OK");
    check(&mut bob, &format!("SET {LOCK} bob NX PX 10000"), "+OK");
    stage.says(&format!("DEL {LOCK}"), ":1");
    // The first DEL was hers, by another connection.
    stage.is_found(&["lint bare-habits", "violation release-by-holder"]);
}

#[test]
fn unlock_reply_lost_harms_nothing_that_is_compared() {
    let mut stage = Stage::new();
    stage.says(&format!("SET {LOCK} alice NX PX 10000"), "+OK");
    let release = ["EVAL", COMPARE_AND_DELETE, "1", LOCK, "alice"];
    loses_the_answer(&mut stage, &release);
    stage.says(&format!("SET {LOCK} bob NX PX 10000"), "+OK");
    assert_eq!(stage.director.cmd(&release).to_string(), ":0");
    stage.is_found(&[]);
}

/// The token identifies the hold, even if the owner's name has been used again.
#[test]
fn unlock_reply_lost_harms_nothing_with_a_token() {
    let mut stage = Stage::new();
    assert_eq!(stage.token("alice"), 1);
    loses_the_answer(&mut stage, &["LOCK.RELEASE", LOCK, "alice", "TOKEN", "1"]);
    assert_eq!(stage.token("alice"), 2);
    stage.says(&format!("LOCK.RELEASE {LOCK} alice TOKEN 1"), "-STALE token 1 is not the current token 2");
    let holders = Client::line(&mut stage.director, &format!("HGETALL {LOCK}")).to_string();
    assert_eq!(holders, r#"{"alice": "1"}"#);
    stage.is_found(&[]);
}

/// The lock was released, whether the client gets the answer or not. Another attempt reports that the lock is not this
/// thread's, and does no harm.
fn harms_nothing_with(jvm: Option<&Jvm>, is_told: bool) {
    let Some(jvm) = jvm else { return };
    let mut stage = Stage::new();
    let client = stage.redisson(jvm, "alice", Setup { timeout_ms: 500, ..Setup::default() });
    let alice = client.thread("worker");
    alice.does(&format!("lock {LOCK} 600000"), "");
    stage.says(&format!("FAULT.ADD late KEY {LOCK} CONTAINS publish TIMES 1 DO DELAYREPLY 1000"), "+OK");
    assert_eq!(alice.calls(&format!("unlock {LOCK}")).is_ok(), is_told);
    stage.advance(1_000);
    stage.token("bob");
    alice.fails(&format!("unlock {LOCK}"), "IllegalMonitorStateException");
    stage.says(&format!("HGETALL {LOCK}"), r#"{"bob": "1"}"#);
}

#[test]
fn unlock_reply_lost_harms_nothing_with_redisson_3_17() {
    harms_nothing_with(redisson_3_17(), false);
}

/// The client asks again by itself, and its unlock latch has the first answer.
#[test]
fn unlock_reply_lost_harms_nothing_with_redisson_4_7() {
    harms_nothing_with(redisson_4_7(), true);
}

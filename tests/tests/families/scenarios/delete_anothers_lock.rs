//! Delete-another's-lock: a late owner deletes the lock of another one, and lets a third one in.

use crate::scenarios::stage::{COMPARE_AND_DELETE, LOCK, Stage, check, redisson_3_17, redisson_4_7};
use lockwheel_tests::steered::{Jvm, Setup, Thread};

/// Bob now has alice's former lock: a lock that is a string.
fn bob_has_the_lock_of_alice() -> Stage {
    let mut stage = Stage::new();
    stage.says(&format!("SET {LOCK} alice NX PX 10000"), "+OK");
    stage.advance(10_000);
    // Each owner has its own connection, as processes have.
    check(&mut stage.connection(), &format!("SET {LOCK} bob NX PX 10000"), "+OK");
    stage
}

#[test]
fn delete_anothers_lock_is_found() {
    let mut stage = bob_has_the_lock_of_alice();
    stage.enters("bob");
    stage.says(&format!("DEL {LOCK}"), ":1");
    stage.says(&format!("SET {LOCK} carol NX PX 10000"), "+OK");
    stage.enters("carol");
    stage.leaves("carol");
    stage.leaves("bob");
    stage.is_found(&["violation release-by-holder", "violation mutual-exclusion"]);
}

#[test]
fn delete_anothers_lock_cannot_happen_with_a_comparison() {
    let mut stage = bob_has_the_lock_of_alice();
    let mut alice = stage.connection();
    let release = alice.cmd(&["EVAL", COMPARE_AND_DELETE, "1", LOCK, "alice"]);
    assert_eq!(release.to_string(), ":0");
    stage.says(&format!("SET {LOCK} carol NX PX 10000"), "(nil)");
    stage.says(&format!("GET {LOCK}"), "\"bob\"");
    stage.is_found(&["suspect mutual-exclusion"]);
}

/// Two owners hold the lock one after the other. The parameters are alice's release, and whether carol then comes in
/// alongside bob.
fn with_redisson(
    jvm: Option<&Jvm>,
    alice_does: impl FnOnce(&Thread<'_>),
    carol_enters: bool,
    found: &[&str],
) {
    let Some(jvm) = jvm else { return };
    let mut stage = Stage::new();
    let clients = ["alice", "bob", "carol"].map(|name| stage.redisson(jvm, name, Setup::default()));
    let [alice, bob, carol] = [&clients[0], &clients[1], &clients[2]].map(|client| client.thread("worker"));
    alice.does(&format!("lock {LOCK} 10000"), "");
    stage.advance(10_000);
    bob.does(&format!("lock {LOCK} 10000"), "");
    stage.enters(&bob.owner());
    alice_does(&alice);
    carol.does(&format!("try-lock {LOCK} 0 10000"), &carol_enters.to_string());
    if carol_enters {
        stage.enters(&carol.owner());
        stage.leaves(&carol.owner());
    }
    stage.leaves(&bob.owner());
    stage.is_found(found);
}

/// Redisson compares the owner: alice's `unlock` fails.
fn unlocks(alice: &Thread<'_>) {
    alice.fails(&format!("unlock {LOCK}"), "IllegalMonitorStateException");
}

/// Alice calls `forceUnlock` in a `finally`, because it throws less often.
fn forces(alice: &Thread<'_>) {
    alice.does(&format!("force-unlock {LOCK}"), "true");
}

#[test]
fn delete_anothers_lock_is_found_with_redisson_3_17() {
    with_redisson(redisson_3_17(), forces, true, &["violation mutual-exclusion"]);
}

#[test]
fn delete_anothers_lock_is_found_with_redisson_4_7() {
    with_redisson(redisson_4_7(), forces, true, &["violation mutual-exclusion"]);
}

#[test]
fn delete_anothers_lock_is_refused_by_redisson_3_17() {
    with_redisson(redisson_3_17(), unlocks, false, &["suspect mutual-exclusion"]);
}

#[test]
fn delete_anothers_lock_is_refused_by_redisson_4_7() {
    with_redisson(redisson_4_7(), unlocks, false, &["suspect mutual-exclusion"]);
}

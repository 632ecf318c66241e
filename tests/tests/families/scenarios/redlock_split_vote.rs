//! Redlock-split-vote: of five servers, two are unreachable for one client, and the clock of a third jumps. Both
//! clients have a majority.

use crate::scenarios::stage::{LOCK, Stage, check, redisson_3_6, redisson_3_17, redisson_3_24, redisson_4_7};
use crate::scenarios::votes::Votes;
use lockwheel_tests::client::Client;
use lockwheel_tests::steered::{Jvm, Setup};

/// The number of servers that both clients reach at first. The last of them is the one whose clock jumps.
const REACHED: usize = 3;

/// A lease, in milliseconds.
const LEASE_MS: u64 = 600_000;

/// Five servers, each with a clock of its own.
fn five() -> Vec<Stage> {
    (0..5).map(|_| Stage::new()).collect()
}

/// The number of an owner's requests to the five servers that were granted.
fn votes(connections: &mut [Client], owner: &str) -> usize {
    let line = format!("LOCK.ACQUIRE {LOCK} {owner} PX {LEASE_MS}");
    connections
        .iter_mut()
        .map(|client| client.line(&line))
        .filter(|reply| reply.member("token").is_some())
        .count()
}

#[test]
fn redlock_split_vote_is_found() {
    let mut stages = five();
    let mut own: Vec<Client> = stages.iter().map(Stage::connection).collect();
    // The other two do not receive alice's requests.
    assert_eq!(votes(&mut own[..REACHED], "alice"), 3);
    let jumped = REACHED - 1;
    stages[jumped].enters("alice");
    stages[jumped].advance(LEASE_MS);
    assert_eq!(votes(&mut own, "bob"), 3);
    stages[jumped].enters("bob");
    stages[jumped].is_found(&["violation mutual-exclusion"]);
    // The written resource must know whose turn it is: the servers' tokens do not tell.
    for (client, token) in own.iter_mut().zip([1, 1, 2, 1, 1]) {
        check(client, &format!("LOCK.ASSERT {LOCK} {token}"), "+OK");
    }
}

fn is_found_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let mut stages = five();
    let setup = Setup { timeout_ms: 500, ..Setup::default() };
    let both = ["alice", "bob"].map(|name| {
        let clients = stages.iter().map(|stage| stage.redisson(jvm, name, setup));
        Votes::new(clients, REACHED - 1, LEASE_MS)
    });
    let [alice, bob] = &both;
    for stage in &mut stages[REACHED..] {
        let reply = stage.director.line("FAULT.PARTITION NAME alice BOTH");
        assert!(!reply.is_error(), "{reply}");
    }
    alice.are_a_majority(true);
    let jumped = &mut stages[REACHED - 1];
    jumped.enters(&alice.thread().owner());
    jumped.advance(LEASE_MS);
    bob.are_a_majority(true);
    jumped.enters(&bob.thread().owner());
    // Alice could ask: one of her three votes has gone, and the rest is no majority.
    alice.thread().does(&format!("held {LOCK}"), "false");
    bob.thread().does(&format!("held {LOCK}"), "true");
    jumped.is_found(&["violation mutual-exclusion"]);
}

#[test]
fn redlock_split_vote_is_found_with_redisson_3_6() {
    is_found_with(redisson_3_6());
}

#[test]
fn redlock_split_vote_is_found_with_redisson_3_17() {
    is_found_with(redisson_3_17());
}

#[test]
fn redlock_split_vote_is_found_with_redisson_3_24() {
    is_found_with(redisson_3_24());
}

#[test]
fn redlock_split_vote_is_found_with_redisson_4_7() {
    is_found_with(redisson_4_7());
}

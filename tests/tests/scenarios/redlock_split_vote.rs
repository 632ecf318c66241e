//! Redlock-split-vote: of five servers two are cut off from one client, and the clock of a third jumps. Both clients
//! have a majority.

use crate::stage::{LOCK, Stage, check, redisson_3_6, redisson_3_17, redisson_3_24, redisson_4_7};
use lockwheel_tests::client::Client;
use lockwheel_tests::steered::{self, Jvm, Setup};

/// Those that both clients reach at first: the last of them is the one whose clock jumps.
const REACHED: usize = 3;

/// A lease, in milliseconds.
const LEASE_MS: u64 = 600_000;

/// Five servers, each with a clock of its own.
fn five() -> Vec<Stage> {
    (0..5).map(|_| Stage::new()).collect()
}

/// How many of five owners' requests were granted.
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
    // The others do not hear alice.
    assert_eq!(votes(&mut own[..REACHED], "alice"), 3);
    let jumped = REACHED - 1;
    stages[jumped].enters("alice");
    stages[jumped].advance(LEASE_MS);
    assert_eq!(votes(&mut own, "bob"), 3);
    stages[jumped].enters("bob");
    stages[jumped].is_found(&["violation mutual-exclusion"]);
    // What is written to has to know whose turn it is: the servers' tokens do not tell.
    for (client, token) in own.iter_mut().zip([1, 1, 2, 1, 1]) {
        check(client, &format!("LOCK.ASSERT {LOCK} {token}"), "+OK");
    }
}

/// A client of each server's by one name.
fn clients<'a>(stages: &[Stage], jvm: &'a Jvm, name: &str) -> Vec<steered::Client<'a>> {
    let setup = Setup { timeout_ms: 500, ..Setup::default() };
    stages.iter().map(|stage| stage.redisson(jvm, name, setup)).collect()
}

fn is_found_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let mut stages = five();
    let both = ["alice", "bob"].map(|name| clients(&stages, jvm, name));
    let [alice, bob] = both.each_ref().map(|clients| clients[REACHED - 1].thread("worker"));
    for stage in &mut stages[REACHED..] {
        let reply = stage.director.line("FAULT.PARTITION NAME alice BOTH");
        assert!(!reply.is_error(), "{reply}");
    }
    let [of_alice, of_bob] = both.each_ref().map(|clients| {
        let names: Vec<String> = clients.iter().map(steered::Client::name).collect();
        names.join(" ")
    });
    let names = [&alice, &bob].map(|thread| thread.owner());
    alice.does(&format!("red-try-lock {LOCK} 20000 {LEASE_MS} {of_alice}"), "true");
    let jumped = &mut stages[REACHED - 1];
    jumped.enters(&names[0]);
    jumped.advance(LEASE_MS);
    bob.does(&format!("red-try-lock {LOCK} 20000 {LEASE_MS} {of_bob}"), "true");
    jumped.enters(&names[1]);
    // Alice could ask: of her three one has gone, and the rest is no majority.
    alice.does(&format!("held {LOCK}"), "false");
    bob.does(&format!("held {LOCK}"), "true");
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

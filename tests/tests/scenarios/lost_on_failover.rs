//! Lost-on-failover: the master has given the lock, and fails before its replica has been told.

use crate::pair::{LAG, Pair};
use crate::stage::{LOCK, check, field, redisson_3_6, redisson_3_17, redisson_4_7};
use lockwheel::{Time, Topology, TopologyBuilder};
use lockwheel_tests::client::Client;
use lockwheel_tests::reply::Reply;
use lockwheel_tests::steered::{Jvm, Setup};
use lockwheel_tests::{ours, verdict};
use std::time::Duration;

/// Alice has taken the lock at the master; the replica takes over a moment too early.
fn alice_is_forgotten() -> Pair {
    let mut pair = Pair::new();
    let line = format!("LOCK.ACQUIRE {LOCK} alice PX 60000");
    assert_eq!(field(&mut pair.master, &line, "token"), Reply::Int(1));
    pair.advance(LAG - 1);
    pair.fails_over();
    pair
}

/// Bob gets it from the heir.
#[track_caller]
fn bob_takes_it(pair: &mut Pair) {
    let line = format!("LOCK.ACQUIRE {LOCK} bob PX 60000");
    assert_eq!(field(&mut pair.heir, &line, "token"), Reply::Int(2));
}

#[test]
fn lost_on_failover_is_found() {
    let mut pair = alice_is_forgotten();
    check(&mut pair.heir, &format!("LOCK.ENTER {LOCK} alice"), ":1");
    bob_takes_it(&mut pair);
    check(&mut pair.heir, &format!("LOCK.ENTER {LOCK} bob"), ":1");
    // Two hold it by what their servers say, and both have begun to work.
    pair.is_found_at_heir(&["violation mutual-exclusion", "violation mutual-exclusion"]);
}

#[test]
fn lost_on_failover_harms_nothing_when_the_holder_asks_again() {
    let mut pair = alice_is_forgotten();
    check(&mut pair.heir, &format!("LOCK.ASSERT {LOCK} 1"), "-STALE token 1, current none");
    check(&mut pair.heir, &format!("LOCK.RENEW 1 {LOCK} alice PX 60000"), "[:0]");
    bob_takes_it(&mut pair);
    check(&mut pair.heir, &format!("LOCK.ENTER {LOCK} bob"), ":1");
    check(&mut pair.heir, &format!("LOCK.LEAVE {LOCK} bob"), ":1");
    // It was given twice; nobody has worked while another did.
    pair.is_found_at_heir(&["violation mutual-exclusion"]);
}

/// What has arrived is not lost.
#[test]
fn lost_on_failover_is_a_matter_of_one_millisecond() {
    let mut pair = Pair::new();
    pair.master.line(&format!("LOCK.ACQUIRE {LOCK} alice PX 60000"));
    pair.advance(LAG);
    pair.fails_over();
    check(&mut pair.heir, &format!("LOCK.ACQUIRE {LOCK} bob"), "(nil)");
    pair.is_found_at_heir(&[]);
}

/// Two processes that use Redisson: alice's has the master, bob's comes when the heir has taken over.
fn is_found_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let mut pair = Pair::new();
    let ports = pair.ports();
    let clients =
        [("alice", ports[0]), ("bob", ports[1])].map(|(name, port)| jvm.client(name, port, Setup::default()));
    let [alice, bob] = [&clients[0], &clients[1]].map(|client| client.thread("worker"));
    alice.does(&format!("lock {LOCK} 600000"), "");
    pair.fails_over();
    let names = [&alice, &bob].map(|thread| thread.owner());
    check(&mut pair.heir, &format!("LOCK.ENTER {LOCK} {}", names[0]), ":1");
    bob.does(&format!("try-lock {LOCK} 0 600000"), "true");
    check(&mut pair.heir, &format!("LOCK.ENTER {LOCK} {}", names[1]), ":1");
    // Each is told that it is the holder, by the server that it knows.
    alice.does(&format!("held {LOCK}"), "true");
    bob.does(&format!("held {LOCK}"), "true");
    // Two hold it by what their servers say, and both have begun to work.
    pair.is_found_at_heir(&["violation mutual-exclusion", "violation mutual-exclusion"]);
}

#[test]
fn lost_on_failover_is_found_with_redisson_3_17() {
    is_found_with(redisson_3_17());
}

#[test]
fn lost_on_failover_is_found_with_redisson_4_7() {
    is_found_with(redisson_4_7());
}

/// Longer than a failover takes by the clock that is turned, in milliseconds; a lease is longer still.
const LONG_LAG: Duration = Duration::from_secs(600);
const LONG_LEASE_MS: u64 = 3_600_000;

/// Two hold it by what their servers say, and both have begun to work.
const TWICE: [&str; 2] = ["violation mutual-exclusion"; 2];

/// A topology whose replicas lag far behind, with a history, and a connection to each of its servers.
fn far_behind(shape: impl FnOnce(lockwheel::Builder) -> TopologyBuilder) -> (Topology, Vec<Client>) {
    let builder = ours::builder().time(Time::Manual).lock_history(true);
    let topology = shape(builder).lag(LONG_LAG).start().expect("they start");
    let clients = connected(&topology);
    (topology, clients)
}

fn connected(topology: &Topology) -> Vec<Client> {
    topology.servers().iter().map(|server| Client::connect_resp3(server.addr())).collect()
}

/// Somebody takes the lock and begins to work.
#[track_caller]
fn works(client: &mut Client, owner: &str) {
    let line = format!("LOCK.ACQUIRE {LOCK} {owner} PX {LONG_LEASE_MS}");
    let reply = client.line(&line);
    assert!(reply.member("token").is_some(), "{line}: {reply}");
    check(client, &format!("LOCK.ENTER {LOCK} {owner}"), ":1");
}

/// Alice's master is killed, by way of another server.
#[track_caller]
fn master_is_killed(clients: &mut [Client], master: usize, other: usize) {
    works(&mut clients[master], "alice");
    check(&mut clients[other], &format!("FAULT.DOWN {master}"), "+OK");
}

/// Those who watch find out by the clock.
#[track_caller]
fn time_passes(client: &mut Client, ms: u64) {
    let turned = client.line(&format!("CLOCK.ADVANCE {ms}"));
    assert!(!turned.is_error(), "{turned}");
}

/// The heir gives it to bob, too.
#[track_caller]
fn is_given_twice(topology: &Topology, heir: usize) {
    let mut heir = Client::connect_resp3(topology.servers()[heir].addr());
    works(&mut heir, "bob");
    assert_eq!(verdict::findings(&mut heir), TWICE, "{}", heir.line("LOCK.VERIFY"));
}

#[test]
fn lost_on_failover_is_found_when_sentinels_replace_the_master() {
    let (topology, mut clients) = far_behind(|builder| builder.sentinels(3).replicas(1));
    master_is_killed(&mut clients, 0, 1);
    let mut sentinel = Client::connect(topology.sentinels()[0].addr());
    time_passes(&mut sentinel, 120_000);
    let named = sentinel.line("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster").to_string();
    assert!(named.contains(&topology.servers()[1].port().to_string()), "{named}");
    is_given_twice(&topology, 1);
}

#[test]
fn lost_on_failover_is_found_when_a_cluster_replaces_the_master() {
    let (topology, mut clients) = far_behind(|builder| builder.cluster(3, 1));
    let slot = clients[0].line(&format!("CLUSTER KEYSLOT {LOCK}")).as_int().expect("a number");
    let master = usize::try_from(slot * 3 / 16_384).expect("there are three");
    let (other, heir) = ((master + 1) % 3, master + 3);
    master_is_killed(&mut clients, master, other);
    time_passes(&mut clients[other], 120_000);
    let moved = clients[other].line(&format!("GET {LOCK}")).to_string();
    assert_eq!(moved, format!("-MOVED {slot} {}", topology.servers()[heir].addr()));
    is_given_twice(&topology, heir);
}

/// Redisson's clients find the new master by their sentinels: alice is told that she holds nothing, if she asks.
#[test]
fn lost_on_failover_is_found_with_sentinels_and_redisson_3_6() {
    let Some(jvm) = redisson_3_6() else { return };
    let (topology, mut clients) = far_behind(|builder| builder.sentinels(3).replicas(1));
    let port = topology.sentinels()[0].port();
    let both = ["alice", "bob"].map(|name| jvm.client_by_sentinel(name, port, Setup::default()));
    let [alice, bob] = [&both[0], &both[1]].map(|client| client.thread("worker"));
    alice.does(&format!("lock {LOCK} {LONG_LEASE_MS}"), "");
    let names = [&alice, &bob].map(|thread| thread.owner());
    check(&mut clients[0], &format!("LOCK.ENTER {LOCK} {}", names[0]), ":1");
    let mut sentinel = Client::connect(topology.sentinels()[0].addr());
    check(&mut sentinel, "SENTINEL FAILOVER mymaster", "+OK");
    time_passes(&mut sentinel, 20_000);
    let mut heir = Client::connect_resp3(topology.servers()[1].addr());
    assert!(heir.line("ROLE").to_string().contains("\"master\""));
    // It writes there once it has heard of it.
    for thread in [&alice, &bob] {
        while thread.calls(&format!("try-lock {} 0 {LONG_LEASE_MS}", thread.owner())).as_deref() != Ok("true")
        {
        }
    }
    alice.does(&format!("held {LOCK}"), "false");
    bob.does(&format!("try-lock {LOCK} 0 {LONG_LEASE_MS}"), "true");
    check(&mut heir, &format!("LOCK.ENTER {LOCK} {}", names[1]), ":1");
    assert_eq!(verdict::findings(&mut heir), TWICE, "{}", heir.line("LOCK.VERIFY"));
}

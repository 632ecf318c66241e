//! Failovers of several servers in one process, whose clock is turned, while Redisson's clients hold a lock that is
//! renewed and wait for it: in a cluster, by sentinels, and with servers that tell who is who (*replicated*).

use crate::redisson::{V3_6, V3_17, V3_24, V4_7, prepared};
use lockwheel::{Time, Topology};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::redisson::{Redisson, Version};
use lockwheel_tests::steered::{self, Jvm, Replicas, Setup, Thread};
use std::time::{Duration, Instant};

/// The lock, of the first master's slots.
const LOCK: &str = "{bar}lock";

/// The lease, which the client renews every third of it, in real milliseconds.
const WATCHDOG_MS: i64 = 24_000;

/// After so long without a renewal, of real time, there will be none: six should have come.
const GIVEN_UP: Duration = Duration::from_secs(48);

/// The largest number of tries of the whole test.
const TRIES: usize = 5;

/// The number of times that a client sends a command again. A request that waits for the lock may be sent to a master
/// that the client has not discovered yet.
const RETRIES: u64 = 20;

/// The length of an advance in milliseconds: shorter than a lease.
const TURN_MS: i64 = 20_000;

#[derive(Clone, Copy, Debug)]
enum Shape {
    Cluster,
    Sentinels,
    Replicated,
}

impl Shape {
    fn start(self) -> Topology {
        let builder = ours::builder().time(Time::Manual);
        let topology = match self {
            Shape::Cluster => builder.cluster(3, 1),
            Shape::Sentinels => builder.sentinels(3).replicas(2),
            Shape::Replicated => builder.replicas(2),
        };
        topology.start().expect("they start")
    }

    /// The use that a client makes of replicas. A client of 3.17.0 that uses none soon stops asking which server is the
    /// master.
    fn replicas(self, version: Version) -> Replicas {
        match self {
            Shape::Replicated if version == V3_17 => Replicas::Asked,
            _ => Replicas::Unused,
        }
    }

    fn client<'a>(
        self,
        jvm: &'a Jvm,
        topology: &Topology,
        name: &str,
        replicas: Replicas,
    ) -> steered::Client<'a> {
        let watchdog_ms = WATCHDOG_MS.unsigned_abs();
        let setup = Setup { watchdog_ms, retries: RETRIES, replicas, ..Setup::default() };
        let ports: Vec<u16> = topology.servers().iter().map(lockwheel::Server::port).collect();
        match self {
            Shape::Cluster => jvm.client_of_cluster(name, &ports, setup),
            Shape::Sentinels => jvm.client_by_sentinel(name, topology.sentinels()[0].port(), setup),
            Shape::Replicated => jvm.client_of_replicated(name, &ports, setup),
        }
    }

    /// A replica becomes the master; a connection to it.
    fn fail_over(self, topology: &Topology) -> Client {
        let heir = match self {
            Shape::Cluster => 3,
            Shape::Sentinels => return by_sentinels(topology),
            Shape::Replicated => 1,
        };
        let mut client = Client::connect(topology.servers()[heir].addr());
        assert_eq!(client.line(&format!("FAULT.FAILOVER {heir}")).to_string(), "+OK");
        Client::connect(topology.servers()[heir].addr())
    }
}

fn by_sentinels(topology: &Topology) -> Client {
    let mut sentinel = Client::connect(topology.sentinels()[0].addr());
    assert_eq!(sentinel.line("SENTINEL FAILOVER mymaster").to_string(), "+OK");
    turn(&mut sentinel);
    let mut clients = topology.servers()[1..].iter().map(|server| Client::connect(server.addr()));
    let is_master = |client: &mut Client| client.line("ROLE").to_string().contains("\"master\"");
    clients
        .find_map(|mut client| is_master(&mut client).then_some(client))
        .expect("one of them is the master")
}

fn turn(client: &mut Client) {
    let turned = client.line(&format!("CLOCK.ADVANCE {TURN_MS}"));
    assert!(!turned.is_error(), "{turned}");
}

/// Waits until the lease is whole again: whether the client has renewed it, and not given up meanwhile.
fn is_renewed(client: &mut Client) -> bool {
    let began = Instant::now();
    while client.line(&format!("PTTL {LOCK}")).as_int() != Some(WATCHDOG_MS) {
        if began.elapsed() > GIVEN_UP {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

/// Waits until the client has been answered what it has just renewed: with a lost answer older versions renew no more.
fn until_answered(master: &mut Client, holder: &Thread<'_>) {
    while !master.line("INFO clients").to_string().contains("blocked_clients:0") {
        std::thread::yield_now();
    }
    // The next request comes after that reply.
    (0..3).for_each(|_| holder.does(&format!("held {LOCK}"), "true"));
}

/// A client has found the new master once it writes there.
fn follow(thread: &Thread<'_>) {
    let own = format!("{{bar}}{}", thread.owner());
    while thread.calls(&format!("try-lock {own} 0 600000")).as_deref() != Ok("true") {}
}

/// Alice, whose lease is renewed, holds the lock before and after; bob, who has waited since before, gets it after her.
///
/// Where a renewal comes too early for a client that has yet to find the new master, versions before 4.7.0 renew no
/// more: then all of it is tried again.
#[track_caller]
fn goes_on(version: Version, shape: Shape) {
    let Some(redisson) = prepared(version) else { return };
    assert!((0..TRIES).any(|_| has_gone_on(&redisson, version, shape)), "{shape:?}: it is not renewed");
}

/// Whether the lease was renewed all the time.
fn has_gone_on(redisson: &Redisson, version: Version, shape: Shape) -> bool {
    let (jvm, topology) = (Jvm::start(redisson), shape.start());
    let both = ["alice", "bob"].map(|name| shape.client(&jvm, &topology, name, shape.replicas(version)));
    let [alice, bob] = both.each_ref().map(|client| client.thread("worker"));
    let mut master = Client::connect(topology.servers()[0].addr());
    alice.does(&format!("lock {LOCK}"), "");
    let waits = bob.begins(&format!("lock {LOCK} 600000"));
    assert_eq!(master.line(&format!("AWAIT.WAITERS {LOCK} 1")).to_string(), ":1");
    // The next renewal is far away.
    assert!(!master.line("CLOCK.ADVANCE 1").is_error());
    if !is_renewed(&mut master) {
        return false;
    }
    until_answered(&mut master, &alice);
    let mut heir = shape.fail_over(&topology);
    follow(&alice);
    alice.does(&format!("held {LOCK}"), "true");
    let left = heir.line(&format!("PTTL {LOCK}")).as_int();
    assert!(left.is_some_and(|left| left > 0), "{left:?}");
    if !is_renewed(&mut heir) {
        return false;
    }
    // As long as two leases, but for a little: without renewals it would be over.
    turn(&mut heir);
    if !is_renewed(&mut heir) {
        return false;
    }
    follow(&both[1].thread("other"));
    alice.does(&format!("unlock {LOCK}"), "");
    assert_eq!(waits.outcome().as_deref(), Ok(""), "{shape:?}");
    bob.does(&format!("held {LOCK}"), "true");
    alice.does(&format!("held {LOCK}"), "false");
    bob.does(&format!("unlock {LOCK}"), "");
    true
}

#[test]
fn redisson_3_17_survives_a_cluster_failover_on_the_manual_clock() {
    goes_on(V3_17, Shape::Cluster);
}

#[test]
fn redisson_4_7_survives_a_cluster_failover_on_the_manual_clock() {
    goes_on(V4_7, Shape::Cluster);
}

#[test]
fn redisson_3_17_survives_a_sentinel_failover_on_the_manual_clock() {
    goes_on(V3_17, Shape::Sentinels);
}

#[test]
fn redisson_4_7_survives_a_sentinel_failover_on_the_manual_clock() {
    goes_on(V4_7, Shape::Sentinels);
}

#[test]
fn redisson_3_6_survives_a_promotion_on_the_manual_clock() {
    goes_on(V3_6, Shape::Replicated);
}

#[test]
fn redisson_3_17_survives_a_promotion_on_the_manual_clock() {
    goes_on(V3_17, Shape::Replicated);
}

#[test]
fn redisson_3_24_survives_a_promotion_on_the_manual_clock() {
    goes_on(V3_24, Shape::Replicated);
}

#[test]
fn redisson_4_7_survives_a_promotion_on_the_manual_clock() {
    goes_on(V4_7, Shape::Replicated);
}

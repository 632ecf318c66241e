//! RedLock over five masters, each with a replica and sentinels. Two do not receive alice's requests, and one of the
//! three that gave her their votes fails over. Its replica may have her lock, or may not have received it yet.

use crate::scenarios::heirs::{WAIT_MS, turn};
use crate::scenarios::stage::{LOCK, check, redisson_3_6, redisson_3_17, redisson_3_24, redisson_4_7};
use crate::scenarios::votes::Votes;
use lockwheel::{Time, Topology};
use lockwheel_tests::client::Client;
use lockwheel_tests::steered::{Jvm, Replicas, Setup};
use lockwheel_tests::{ours, verdict};
use std::time::Duration;

/// The number of masters that alice reaches.
const REACHED: usize = 3;

/// A lease, in milliseconds: it outlives all advances of the clock.
const LEASE_MS: u64 = 3_600_000;

/// Longer than a failover takes, and not as long as a lease.
const LAG: Duration = Duration::from_secs(600);

/// The time a client waits for a withheld answer.
const TIMEOUT_MS: u64 = 2_000;

/// One of the five: a master and its replica, and the client that controls them.
struct One {
    topology: Topology,
    master: Client,
    heir: Client,
}

impl One {
    fn new(lag: Duration) -> One {
        let builder = ours::builder().time(Time::Manual).seed(7).lock_history(true);
        let topology = builder.sentinels(3).replicas(1).lag(lag).start().expect("they start");
        let [master, heir] = connected(&topology);
        One { topology, master, heir }
    }

    /// The sentinels promote the replica with its current data.
    fn fails_over(&mut self) {
        let mut sentinel = Client::connect(self.topology.sentinels()[0].addr());
        check(&mut sentinel, "SENTINEL FAILOVER mymaster", "+OK");
        let turned = sentinel.line("CLOCK.ADVANCE 20000");
        assert!(!turned.is_error(), "{turned}");
        // A sentinel disconnects the clients of the servers whose role it changes.
        [self.master, self.heir] = connected(&self.topology);
        assert!(self.heir.line("ROLE").to_string().contains("\"master\""));
        let named = sentinel.line("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster").to_string();
        assert!(named.contains(&self.topology.servers()[1].port().to_string()), "{named}");
    }
}

/// Connections to both servers.
fn connected(topology: &Topology) -> [Client; 2] {
    [0, 1].map(|at| Client::connect_resp3(topology.servers()[at].addr()))
}

/// A client of one name at each of the five, through its sentinels.
fn votes<'a>(jvm: &'a Jvm, name: &str, five: &[One], setup: Setup) -> Votes<'a> {
    let sentinel = |one: &One| one.topology.sentinels()[0].port();
    Votes::new(five.iter().map(|one| jvm.client_by_sentinel(name, sentinel(one), setup)), 0, LEASE_MS)
}

/// Waits until the first client has found the new master and writes there.
fn follow(votes: &Votes<'_>) {
    let own = votes.thread().owner();
    while votes.thread().calls(&format!("try-lock {own} 0 {LEASE_MS}")).as_deref() != Ok("true") {}
}

/// Alice has the votes of three of five.
fn alice_has_three(jvm: &Jvm, lag: Duration) -> (Vec<One>, [Votes<'_>; 2]) {
    let mut five: Vec<One> = (0..5).map(|_| One::new(lag)).collect();
    let setup = Setup { timeout_ms: TIMEOUT_MS, ..Setup::default() };
    let both = ["alice", "bob"].map(|name| votes(jvm, name, &five, setup));
    for one in &mut five[REACHED..] {
        let reply = one.master.line("FAULT.PARTITION NAME alice BOTH");
        assert!(!reply.is_error(), "{reply}");
    }
    both[0].are_a_majority(true);
    (five, both)
}

#[track_caller]
fn all_is_well(five: &mut [One]) {
    for one in five {
        assert_eq!(
            verdict::findings(&mut one.heir),
            Vec::<String>::new(),
            "{}",
            one.heir.line("LOCK.VERIFY")
        );
    }
}

/// The replica has the lock: bob, who reaches all five, has no majority before alice has released it.
fn is_kept_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let (mut five, [alice, bob]) = alice_has_three(jvm, Duration::ZERO);
    five[0].fails_over();
    [&alice, &bob].into_iter().for_each(follow);
    alice.thread().does(&format!("held {LOCK}"), "true");
    bob.are_a_majority(false);
    alice.give_back();
    bob.are_a_majority(true);
    all_is_well(&mut five);
}

/// The replica has not received the lock: its vote and those of the two that alice does not reach are a majority as
/// well.
fn is_lost_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let (mut five, [alice, bob]) = alice_has_three(jvm, LAG);
    let first = &mut five[0];
    let enter = |client: &mut Client, who: &Votes<'_>| {
        check(client, &format!("LOCK.ENTER {LOCK} {}", who.thread().owner()), ":1");
    };
    enter(&mut first.master, &alice);
    first.fails_over();
    [&alice, &bob].into_iter().for_each(follow);
    bob.are_a_majority(true);
    enter(&mut first.heir, &bob);
    alice.thread().does(&format!("held {LOCK}"), "false");
    let found = verdict::findings(&mut first.heir);
    assert!(
        found.iter().any(|one| one == "violation mutual-exclusion"),
        "{}",
        first.heir.line("LOCK.VERIFY")
    );
}

/// Newer versions do not take a lock that no replica has acknowledged, and release the parts that they got. A third
/// missing vote is one too many; once the replicas follow, the lock is taken.
fn is_not_taken_with(jvm: Option<&Jvm>) {
    let Some(jvm) = jvm else { return };
    let mut five: Vec<One> = (0..5).map(|_| One::new(LAG)).collect();
    let setup = Setup { replicas: Replicas::Heeded, ..Setup::default() };
    let alice = votes(jvm, "alice", &five, setup);
    let call = alice.thread().begins(&alice.call(-1));
    for one in &mut five[..REACHED] {
        for _of_two in ["the lock", "its end"] {
            check(&mut one.master, "AWAIT.BLOCKED 1", ":1");
            turn(&mut one.master, WAIT_MS);
        }
    }
    assert_eq!(call.outcome().as_deref(), Ok("false"));
    for one in &mut five {
        check(&mut one.master, &format!("EXISTS {LOCK}"), ":0");
        check(&mut one.master, "FAULT.LAG 0", "+OK");
    }
    alice.are_a_majority(true);
    all_is_well(&mut five);
}

#[test]
fn redlock_is_not_taken_when_no_replica_acks_with_redisson_3_24() {
    is_not_taken_with(redisson_3_24());
}

#[test]
fn redlock_is_not_taken_when_no_replica_acks_with_redisson_4_7() {
    is_not_taken_with(redisson_4_7());
}

#[test]
fn redlock_is_kept_through_a_failover_with_redisson_3_6() {
    is_kept_with(redisson_3_6());
}

#[test]
fn redlock_is_kept_through_a_failover_with_redisson_3_17() {
    is_kept_with(redisson_3_17());
}

#[test]
fn redlock_is_kept_through_a_failover_with_redisson_3_24() {
    is_kept_with(redisson_3_24());
}

#[test]
fn redlock_is_kept_through_a_failover_with_redisson_4_7() {
    is_kept_with(redisson_4_7());
}

#[test]
fn redlock_is_lost_by_a_failover_with_redisson_3_6() {
    is_lost_with(redisson_3_6());
}

#[test]
fn redlock_is_lost_by_a_failover_with_redisson_3_17() {
    is_lost_with(redisson_3_17());
}

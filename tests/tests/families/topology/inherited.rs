//! Holds that a server has not granted itself, but has taken over or received by replication, and their entries in the
//! history.

use crate::topology::sentinels::text;
use lockwheel::{Filter, Level, Time, Topology};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;

/// A master and a replica on a manual clock, with a history, and a client of each.
fn recorded() -> (Topology, Vec<Client>) {
    let builder = ours::builder().time(Time::Manual).lock_history(true);
    let topology = builder.replicas(1).start().expect("they start");
    let clients = clients_of(&topology);
    (topology, clients)
}

fn clients_of(topology: &Topology) -> Vec<Client> {
    topology.servers().iter().map(|server| Client::connect(server.addr())).collect()
}

/// The entries of the history about a key: events, owners, grants and causes.
fn entries_of_key(topology: &Topology, key: &str) -> Vec<(String, String, i64, String)> {
    let entries = topology.servers()[1].history().entries(&Filter::all().key(key)).expect("it is on").entries;
    let of = |entry: lockwheel::Entry| {
        let (owner, grant) = (entry.owner.unwrap_or_default(), entry.grant.unwrap_or_default());
        (entry.event, owner, grant, entry.cause.unwrap_or_default())
    };
    entries.into_iter().map(of).collect()
}

fn entry(event: &str, owner: &str, grant: i64, cause: &str) -> (String, String, i64, String) {
    (event.to_owned(), owner.to_owned(), grant, cause.to_owned())
}

fn assert_sound(topology: &Topology) {
    let verdict = topology.servers()[1].verify(Level::Violation, None).expect("it is on");
    assert!(verdict.findings.is_empty(), "{:?}", verdict.findings);
}

#[test]
fn the_history_records_the_release_of_an_inherited_hold() {
    let give_back = [
        ("LOCK.ACQUIRE r me PX 60000", "LOCK.RELEASE r me", "released"),
        ("LOCK.ACQUIRE r me SHARED PX 60000", "LOCK.RELEASE r me", "released"),
        ("LOCK.ACQUIRE r me FAIR PX 60000", "LOCK.RELEASE r me", "released"),
        ("LOCK.ACQUIRE r me PX 60000", "LOCK.FORCEUNLOCK r", "forced"),
        ("LOCK.ACQUIRE r me PX 60000", "DEL r", "deleted"),
        ("SET r me NX PX 60000", "DELIFEQ r me", "released"),
    ];
    for promote in ["FAULT.FAILOVER 1", "REPLICAOF NO ONE"] {
        for (take, end, cause) in give_back {
            let (topology, mut clients) = recorded();
            text(&mut clients[0], take);
            assert_eq!(text(&mut clients[1], promote), "+OK");
            text(&mut clients[1], end);
            text(&mut clients[1], "LOCK.ACQUIRE r you PX 5000");
            let entries = entries_of_key(&topology, "r");
            let ended = |one: &&(String, String, i64, String)| one.1 == "me" && one.2 == 1 && one.3 == cause;
            assert_eq!(entries.iter().filter(ended).count(), 1, "{promote}, {end}: {entries:?}");
            assert_sound(&topology);
        }
    }
}

#[test]
fn the_history_records_the_renewal_and_end_of_an_inherited_hold() {
    let (topology, mut clients) = recorded();
    text(&mut clients[0], "LOCK.ACQUIRE r me PX 5000");
    text(&mut clients[1], "FAULT.FAILOVER 1");
    text(&mut clients[1], "LOCK.RENEW 1 r me PX 9000");
    text(&mut clients[1], "CLOCK.ADVANCE 9000");
    let expected =
        [entry("acquired", "me", 1, ""), entry("renewed", "me", 1, ""), entry("lost", "me", 1, "expired")];
    assert_eq!(entries_of_key(&topology, "r"), expected);
}

/// The new master knows the hold before its clock advances, also within one advance.
#[test]
fn an_inherited_hold_can_end_in_the_advance_of_its_failover() {
    let builder = ours::builder().time(Time::Manual).seed(3).lock_history(true);
    let topology = builder.sentinels(3).replicas(1).start().expect("they start");
    let mut clients = clients_of(&topology);
    text(&mut clients[0], "LOCK.ACQUIRE r me PX 100000");
    text(&mut clients[1], "FAULT.DOWN 0");
    text(&mut clients[2], "CLOCK.ADVANCE 120000");
    assert_eq!(
        entries_of_key(&topology, "r"),
        [entry("acquired", "me", 1, ""), entry("lost", "me", 1, "expired")]
    );
}

#[test]
fn an_old_master_that_still_has_an_inherited_hold_is_a_violation() {
    let (topology, mut clients) = recorded();
    text(&mut clients[0], "LOCK.ACQUIRE r me PX 60000");
    text(&mut clients[1], "FAULT.FAILOVER 1");
    // The clients of the old master were disconnected.
    clients[0] = Client::connect(topology.servers()[0].addr());
    text(&mut clients[0], "REPLICAOF NO ONE");
    text(&mut clients[1], "LOCK.RELEASE r me");
    text(&mut clients[1], "LOCK.ACQUIRE r you PX 60000");
    text(&mut clients[0], "LOCK.RELEASE r me");
    text(&mut clients[0], "LOCK.ACQUIRE r they PX 60000");
    let verdict = topology.servers()[1].verify(Level::Violation, Some("r")).expect("it is on");
    assert!(verdict.findings.iter().any(|found| found.invariant == "mutual-exclusion"), "{verdict:?}");
}

/// A lock that moves to another node of a cluster.
#[test]
fn a_migrated_lock_keeps_its_grant() {
    let builder = ours::builder().time(Time::Manual).lock_history(true).cluster(3, 0);
    let topology = builder.start().expect("they start");
    let mut clients = clients_of(&topology);
    let ids: Vec<String> =
        clients.iter_mut().map(|client| text(client, "CLUSTER MYID").trim_matches('"').to_owned()).collect();
    for _ in 0..3 {
        text(&mut clients[0], "LOCK.ACQUIRE {bar}l first PX 600000");
        text(&mut clients[0], "LOCK.RELEASE {bar}l first");
    }
    text(&mut clients[0], "LOCK.ACQUIRE {bar}l alice PX 600000");
    text(&mut clients[1], &format!("CLUSTER SETSLOT 5061 IMPORTING {}", ids[0]));
    text(&mut clients[0], &format!("CLUSTER SETSLOT 5061 MIGRATING {}", ids[1]));
    let port = topology.servers()[1].port();
    assert_eq!(text(&mut clients[0], &format!("MIGRATE 127.0.0.1 {port} {{bar}}l 0 1000")), "+OK");
    assert!(text(&mut clients[0], "LOCK.RELEASE {bar}l alice").starts_with("-ASK "));
    for node in [1, 0] {
        text(&mut clients[node], &format!("CLUSTER SETSLOT 5061 NODE {}", ids[1]));
    }
    assert_eq!(text(&mut clients[1], "LOCK.RELEASE {bar}l alice TOKEN 4"), ":0");
    text(&mut clients[1], "LOCK.ACQUIRE {bar}l bob PX 600000");
    let expected = [
        entry("acquired", "alice", 4, ""),
        entry("lost", "alice", 4, "migrated"),
        entry("acquired", "alice", 4, "migrated"),
        entry("released", "alice", 4, "released"),
        entry("acquired", "bob", 5, ""),
    ];
    let entries = entries_of_key(&topology, "{bar}l");
    assert_eq!(entries[entries.len() - 5..], expected, "{entries:?}");
    let verdict = topology.servers()[1].verify(Level::Lint, None).expect("it is on");
    assert!(verdict.findings.is_empty(), "{:?}", verdict.findings);
}

/// A waiter for the fair lock `r` at a server, which then has this number of waiters.
fn waits_fairly(topology: &Topology, server: usize, owner: &str, waiting: usize) -> Client {
    let addr = topology.servers()[server].addr();
    let mut client = Client::connect(addr);
    client.send_line(&format!("LOCK.ACQUIRE r {owner} FAIR PX 1000 BLOCK 0"));
    assert_eq!(text(&mut Client::connect(addr), &format!("AWAIT.WAITERS r {waiting}")), ":1");
    client
}

/// The queue has come with the keys; its members ask anew, in any order.
#[test]
fn the_new_master_keeps_the_order_of_a_fair_queue() {
    let (topology, mut clients) = recorded();
    text(&mut clients[0], "LOCK.ACQUIRE r me PX 60000");
    let _old = [waits_fairly(&topology, 0, "one", 1), waits_fairly(&topology, 0, "two", 2)];
    assert_eq!(text(&mut clients[1], "FAULT.FAILOVER 1"), "+OK");
    let mut two = waits_fairly(&topology, 1, "two", 1);
    let mut one = waits_fairly(&topology, 1, "one", 2);
    text(&mut clients[1], "LOCK.RELEASE r me");
    assert!(one.read_reply().to_string().contains("released"));
    text(&mut clients[1], "CLOCK.ADVANCE 1000");
    assert!(two.read_reply().to_string().contains("expired"));
    assert_sound(&topology);
}

#[test]
fn an_inherited_fair_queue_skips_a_waiter_that_gives_up() {
    let (topology, mut clients) = recorded();
    text(&mut clients[0], "LOCK.ACQUIRE r me PX 60000");
    let old = ["one", "two", "three"].into_iter().zip(1..);
    let _old: Vec<_> = old.map(|(owner, waiting)| waits_fairly(&topology, 0, owner, waiting)).collect();
    assert_eq!(text(&mut clients[1], "FAULT.FAILOVER 1"), "+OK");
    let _three = waits_fairly(&topology, 1, "three", 1);
    let mut two = waits_fairly(&topology, 1, "two", 2);
    let one = waits_fairly(&topology, 1, "one", 3);
    one.close();
    assert_eq!(text(&mut clients[1], "AWAIT.WAITERS r 2 ATMOST"), ":1");
    text(&mut clients[1], "LOCK.RELEASE r me");
    assert!(two.read_reply().to_string().contains("released"));
}

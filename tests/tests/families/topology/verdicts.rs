//! The history of several servers, and its verdict: each server's numbers, renewals, order, gaps.

use crate::topology::sentinels::text;
use lockwheel::{Filter, Level, Time, Topology};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use std::time::Duration;

fn clients_of(topology: &Topology) -> Vec<Client> {
    topology.servers().iter().map(|server| Client::connect(server.addr())).collect()
}

/// A master and replicas on a manual clock, with a history, and a client of each.
fn recorded(replicas: usize) -> (Topology, Vec<Client>) {
    let builder = ours::builder().time(Time::Manual).lock_history(true);
    let topology = builder.replicas(replicas).start().expect("they start");
    let clients = clients_of(&topology);
    (topology, clients)
}

fn cluster(lag: Duration) -> (Topology, Vec<Client>) {
    let builder = ours::builder().time(Time::Manual).lock_history(true).cluster(3, 1).lag(lag);
    let topology = builder.start().expect("they start");
    let clients = clients_of(&topology);
    (topology, clients)
}

fn found(topology: &Topology, invariant: &str) -> usize {
    let verdict = topology.servers()[0].verify(Level::Violation, None).expect("it is on");
    verdict.findings.iter().filter(|found| found.invariant == invariant).count()
}

fn events(topology: &Topology, event: &str) -> usize {
    let entries = topology.servers()[0].history().entries(&Filter::all()).expect("it is on").entries;
    entries.iter().filter(|entry| entry.event == event).count()
}

fn faults(topology: &Topology) -> Vec<String> {
    let entries = topology.servers()[1].history().entries(&Filter::all()).expect("it is on").entries;
    entries.into_iter().filter_map(|entry| entry.fault).collect()
}

#[test]
fn each_master_numbers_its_own_grants() {
    let (topology, mut clients) = cluster(Duration::ZERO);
    for n in 0..3 {
        text(&mut clients[0], &format!("LOCK.ACQUIRE {{bar}}{n} me PX 60000"));
    }
    text(&mut clients[2], "LOCK.ACQUIRE foo me PX 60000");
    let (two, mut masters) = recorded(1);
    text(&mut masters[1], "REPLICAOF NO ONE");
    text(&mut masters[0], "LOCK.ACQUIRE a me PX 60000");
    text(&mut masters[1], "LOCK.ACQUIRE b me PX 60000");
    for topology in [&topology, &two] {
        let verdict = topology.servers()[0].verify(Level::Lint, None).expect("it is on");
        assert!(verdict.findings.is_empty(), "{:?}", verdict.findings);
    }
}

#[test]
fn a_grant_by_an_earlier_number_on_another_server_is_found() {
    let (topology, mut clients) = recorded(1);
    text(&mut clients[0], "LOCK.ACQUIRE k me PX 1000");
    text(&mut clients[1], "FAULT.FAILOVER 1 TOKENS");
    text(&mut clients[1], "CLOCK.ADVANCE 1000");
    text(&mut clients[1], "LOCK.ACQUIRE k you PX 1000");
    assert_eq!(found(&topology, "token-order"), 1);
}

/// The lease of a connection that a partitioned master continues to renew.
#[test]
fn automatic_renewals_of_a_session_are_verified_at_once() {
    let (topology, mut clients) = recorded(1);
    text(&mut clients[0], "LOCK.ACQUIRE k me SESSION PX 9000");
    text(&mut clients[1], "FAULT.PARTITION NODES 0");
    text(&mut clients[1], "REPLICAOF NO ONE");
    text(&mut clients[1], "CLOCK.ADVANCE 9500");
    assert_eq!(events(&topology, "renewed"), 3);
    text(&mut clients[1], "LOCK.ACQUIRE k you PX 60000");
    assert_eq!(found(&topology, "mutual-exclusion"), 1);
}

#[test]
fn advances_are_ordered_with_entries_of_other_servers() {
    let (topology, mut clients) = recorded(1);
    text(&mut clients[1], "REPLICAOF NO ONE");
    text(&mut clients[0], "CLOCK.ADVANCE 10");
    text(&mut clients[0], "CLOCK.ADVANCE 10");
    text(&mut clients[1], "LOCK.ACQUIRE k me PX 1000");
    text(&mut clients[0], "CLOCK.ADVANCE 10");
    let entries = topology.servers()[0].history().entries(&Filter::all()).expect("it is on").entries;
    let order: Vec<&str> = entries
        .iter()
        .map(|entry| &*entry.event)
        .filter(|event| ["clock", "acquired"].contains(event))
        .collect();
    assert_eq!(order, ["clock", "acquired", "clock"]);
    assert!(entries.is_sorted_by_key(|entry| entry.monotonic));
    // Entries that were read do not change.
    text(&mut clients[0], "CLOCK.ADVANCE 10");
    let again = topology.servers()[0].history().entries(&Filter::all()).expect("it is on").entries;
    let shown = |entries: &[lockwheel::Entry]| format!("{entries:?}");
    assert_eq!(shown(&again[..entries.len()]), shown(&entries));
}

#[test]
fn a_server_without_a_history_makes_the_verdict_inconclusive() {
    let (topology, mut clients) = recorded(1);
    text(&mut clients[0], "LOCK.ACQUIRE k me PX 1000");
    assert!(text(&mut clients[1], "LOCK.VERIFY").contains("\"ok\""));
    text(&mut clients[0], "CONFIG SET lock-history no");
    for client in &mut clients {
        let verdict = text(client, "LOCK.VERIFY");
        assert!(verdict.contains("\"inconclusive\""), "{verdict}");
        assert!(verdict.contains("the history is off"), "{verdict}");
    }
    drop(topology);
}

#[test]
fn the_history_records_writes_that_a_forced_failover_loses() {
    for take_over in ["CLUSTER FAILOVER FORCE", "CLUSTER FAILOVER TAKEOVER", "FAULT.FAILOVER 3"] {
        let (topology, mut clients) = cluster(Duration::from_millis(100));
        text(&mut clients[1], "CLOCK.ADVANCE 1000");
        text(&mut clients[0], "LOCK.ACQUIRE {bar}x me PX 60000");
        text(&mut clients[0], "SET {bar}y 1");
        assert_eq!(text(&mut clients[3], take_over), "+OK");
        let lost: Vec<String> =
            faults(&topology).into_iter().filter(|text| text.starts_with("LOST")).collect();
        assert_eq!(lost, ["LOST 3 {bar}x {bar}y"], "{take_over}");
    }
}

#[test]
fn the_history_records_writes_that_were_never_sent_to_the_successor() {
    let (topology, mut clients) = recorded(2);
    text(&mut clients[0], "SET old 1");
    text(&mut clients[0], "FAULT.LAG");
    text(&mut clients[2], "REPLICAOF NO ONE");
    let port = topology.servers()[0].port();
    text(&mut clients[2], &format!("REPLICAOF 127.0.0.1 {port}"));
    text(&mut clients[0], "LOCK.ACQUIRE k me PX 60000");
    text(&mut clients[0], "FAULT.FAILOVER 2");
    assert_eq!(text(&mut clients[2], "EXISTS k old"), ":1");
    assert_eq!(faults(&topology), ["FAULT.LAG", "FAULT.FAILOVER 2", "LOST 2 k"]);
}

/// One key of two servers is no key of two layouts.
#[test]
fn grants_by_two_masters_in_two_layouts_are_a_violation() {
    let plain = ["LOCK.ACQUIRE k me PX 60000", "LOCK.ACQUIRE k me FAIR PX 60000", "SET k me NX PX 60000"];
    let shared = "LOCK.ACQUIRE k you SHARED PX 60000";
    for takes in plain.iter().flat_map(|plain| [[*plain, shared], [shared, *plain]]) {
        let (topology, mut clients) = recorded(1);
        text(&mut clients[1], "REPLICAOF NO ONE");
        text(&mut clients[0], takes[0]);
        text(&mut clients[1], takes[1]);
        assert_eq!([found(&topology, "mutual-exclusion"), lint(&topology)], [1, 0], "{takes:?}");
    }
}

/// The number of findings about locks in two layouts.
fn lint(topology: &Topology) -> usize {
    let verdict = topology.servers()[0].verify(Level::Lint, None).expect("it is on");
    verdict.findings.iter().filter(|found| found.invariant == "layout-mix").count()
}

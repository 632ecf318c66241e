//! One history of locks of all servers, and its verdict.

use crate::topology::sentinels::{master_port_of, text};
use lockwheel::{Filter, Level, Time, Topology};
use lockwheel_tests::client::{Client, is_refused};
use lockwheel_tests::ours;
use std::collections::BTreeSet;

/// A master and two replicas on a manual clock, with a history, and a client of each.
fn recorded() -> (Topology, Vec<Client>) {
    let builder = ours::builder().time(Time::Manual).lock_history(true);
    let topology = builder.replicas(2).start().expect("they start");
    let mut clients: Vec<Client> =
        topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    // The history also contains the clients' connections.
    clients.iter_mut().for_each(|client| assert_eq!(text(client, "PING"), "+PONG"));
    (topology, clients)
}

/// The events of locks: the event, the owner and the server's index.
fn events(topology: &Topology, place: usize) -> Vec<(String, String, usize)> {
    let address = |node: String| {
        let place = topology.servers().iter().position(|server| server.addr().to_string() == node);
        place.expect("it is a member")
    };
    let entries =
        topology.servers()[place].history().entries(&Filter::all().key("*")).expect("it is on").entries;
    let of = |entry: lockwheel::Entry| {
        (entry.event, entry.owner.unwrap_or_default(), address(entry.node.expect("a node")))
    };
    entries.into_iter().map(of).collect()
}

fn event(name: &str, owner: &str, place: usize) -> (String, String, usize) {
    (name.to_owned(), owner.to_owned(), place)
}

#[test]
fn each_server_returns_the_history_of_all_servers() {
    let (topology, mut clients) = recorded();
    clients[0].line("LOCK.ACQUIRE l one PX 1000");
    clients[0].line("LOCK.RELEASE l one");
    clients[1].line("REPLICAOF NO ONE");
    clients[1].line("LOCK.ACQUIRE l two PX 1000");
    clients[0].line("LOCK.ACQUIRE other three PX 1000");
    let expected = [
        event("acquired", "one", 0),
        event("released", "one", 0),
        event("acquired", "two", 1),
        event("acquired", "three", 0),
    ];
    for place in 0..3 {
        assert_eq!(events(&topology, place), expected, "{place}");
    }
    let numbers = |client: &mut Client| text(client, "LOCK.HISTORY FORMAT JSON");
    let all: Vec<String> = clients.iter_mut().map(numbers).collect();
    assert!(all[0].contains("\\\"seq\\\":1,") && all.iter().all(|one| *one == all[0]), "{}", all[0]);
    assert!(all[0].contains("\\\"truncated\\\":false"));
}

/// Statistics are those of the requested server, also if the history of all was read before.
#[test]
fn lock_stats_shows_the_requested_server_after_a_history_reading() {
    let (topology, mut clients) = recorded();
    clients[1].line("REPLICAOF NO ONE");
    clients[1].line("LOCK.ACQUIRE own me PX 1000");
    clients[0]
        .line("EVAL \"for i = 1, 20000 do redis.call('set', 'lock:' .. i, 'x', 'NX', 'PX', 9000) end\" 0");
    let mut other = Client::connect(topology.servers()[1].addr());
    let alone = text(&mut clients[1], "LOCK.STATS");
    clients[1].send_line("LOCK.VERIFY");
    assert_eq!(text(&mut other, "LOCK.STATS"), alone);
    clients[1].read_reply();
}

#[test]
fn syntax_errors_of_requests_to_all_servers_are_explained() {
    let (_topology, mut clients) = recorded();
    for line in ["LOCK.VERIFY FOO BAR", "LOCK.HISTORY FOO BAR"] {
        let error = text(&mut clients[1], line);
        assert!(error.starts_with("-ERR syntax error: "), "{error}");
    }
}

#[test]
fn an_advance_of_the_shared_clock_is_one_entry() {
    let (topology, mut clients) = recorded();
    clients[2].line("CLOCK.ADVANCE 500");
    let entries = topology.servers()[1].history().entries(&Filter::all()).expect("it is on").entries;
    assert_eq!(entries.iter().filter(|entry| entry.event == "clock").count(), 1);
}

#[test]
fn a_lock_granted_by_two_masters_is_a_violation_that_names_them() {
    let (topology, mut clients) = recorded();
    clients[0].line("FAULT.LAG 100");
    assert_eq!(text(&mut clients[0], "SET order first NX PX 10000"), "+OK");
    clients[1].line("FAULT.FAILOVER 1");
    assert_eq!(text(&mut clients[1], "SET order second NX PX 10000"), "+OK");
    let verdict = topology.servers()[2].verify(Level::Violation, None).expect("it is on");
    let found = &verdict.findings[0];
    assert_eq!(found.invariant, "mutual-exclusion");
    assert_eq!(found.owners, ["first", "second"]);
    for server in &topology.servers()[..2] {
        assert!(found.to_string().contains(&server.addr().to_string()), "{found}");
    }
    // The history contains the losses.
    let entries = topology.servers()[2].history().entries(&Filter::all()).expect("it is on").entries;
    let lost = |entry: &lockwheel::Entry| entry.fault.as_deref() == Some("LOST 1 order");
    assert!(entries.iter().any(lost), "{entries:?}");
}

/// The entries of the history about faults.
fn faults(topology: &Topology) -> Vec<String> {
    let entries = topology.servers()[1].history().entries(&Filter::all()).expect("it is on").entries;
    entries.into_iter().filter_map(|entry| entry.fault).collect()
}

#[test]
fn the_history_records_writes_that_a_forced_successor_lacks() {
    let (topology, mut clients) = recorded();
    clients[0].line("SET early 1");
    clients[0].line("FAULT.LAG 100");
    clients[0].line("SET late 1");
    let heir = topology.servers()[1].port();
    let line = format!("FAILOVER TO 127.0.0.1 {heir} FORCE TIMEOUT 50");
    assert_eq!(text(&mut clients[0], &line), "+OK");
    clients[2].line("CLOCK.ADVANCE 49");
    assert_eq!(faults(&topology), ["FAULT.LAG 100"]);
    clients[2].line("CLOCK.ADVANCE 1");
    assert_eq!(faults(&topology), ["FAULT.LAG 100", "LOST 1 late"]);
}

#[test]
fn a_client_refused_by_a_killed_server_is_in_no_history() {
    let (topology, mut clients) = recorded();
    let address = topology.servers()[0].addr();
    let known = |event: &str| {
        let entries = topology.servers()[1].history().entries(&Filter::all()).expect("it is on").entries;
        let node = address.to_string();
        let of = |entry: &lockwheel::Entry| entry.event == event && entry.node.as_ref() == Some(&node);
        entries.into_iter().filter(of).filter_map(|entry| entry.client).collect::<BTreeSet<_>>()
    };
    assert_eq!(text(&mut clients[1], "FAULT.DOWN 0"), "+OK");
    let come = known("connect");
    for _ in 0..3 {
        assert!(is_refused(address));
    }
    assert_eq!(known("connect"), come);
    assert_eq!(text(&mut clients[1], "FAULT.UP 0"), ":1");
    assert_eq!(text(&mut Client::connect(address), "PING"), "+PONG");
    assert!(known("connect").len() > come.len());
    assert!(known("disconnect").is_subset(&known("connect")));
}

#[test]
fn the_history_says_what_a_promoted_replica_lacks() {
    let (topology, mut clients) = recorded();
    clients[0].line("FAULT.LAG 50");
    clients[0].line("MSET a 1 b 2");
    clients[0].line("DEL c a");
    clients[2].line("REPLICAOF NO ONE");
    // The keys are those that the lost commands name, whether they had a value or not.
    assert_eq!(faults(&topology), ["FAULT.LAG 50", "LOST 2 a b c"]);
    // A killed server takes its unreplicated writes with it.
    clients[2].line("FAULT.DOWN 0");
    assert_eq!(faults(&topology)[2..], ["FAULT.DOWN 0", "LOST 1 a b c"]);
}

#[test]
fn a_replicated_lock_is_held_after_a_failover() {
    let (topology, mut clients) = recorded();
    clients[0].line("SET order first NX PX 10000");
    clients[1].line("FAULT.FAILOVER 1");
    assert_eq!(text(&mut clients[1], "SET order second NX PX 10000"), "(nil)");
    clients[1].line("CLOCK.ADVANCE 10000");
    assert_eq!(text(&mut clients[1], "SET order second NX PX 10000"), "+OK");
    let verdict = topology.servers()[0].verify(Level::Violation, None).expect("it is on");
    assert!(verdict.findings.is_empty(), "{:?}", verdict.findings);
}

#[test]
fn a_lease_lost_with_its_server_ends_at_its_deadline() {
    let (topology, mut clients) = recorded();
    clients[0].line("FAULT.LAG");
    clients[0].line("SET order first NX PX 1000");
    clients[1].line("FAULT.FAILOVER 1");
    clients[1].line("CLOCK.ADVANCE 1000");
    assert_eq!(text(&mut clients[1], "SET order second NX PX 1000"), "+OK");
    let verdict = topology.servers()[0].verify(Level::Violation, None).expect("it is on");
    assert!(verdict.findings.is_empty(), "{:?}", verdict.findings);
}

#[test]
fn grant_numbers_continue_after_a_failover() {
    let (topology, mut clients) = recorded();
    for _ in 0..5 {
        clients[0].line("LOCK.ACQUIRE l one PX 1000");
        clients[0].line("LOCK.RELEASE l one");
    }
    clients[1].line("FAULT.DOWN 0");
    clients[1].line("REPLICAOF NO ONE");
    clients[1].line("LOCK.ACQUIRE l two PX 1000");
    let verdict = topology.servers()[1].verify(Level::Violation, None).expect("it is on");
    assert!(verdict.findings.is_empty(), "{:?}", verdict.findings);
    let entries = topology.servers()[1].history().entries(&Filter::all().key("l")).expect("it is on").entries;
    let grants: Vec<i64> =
        entries.iter().filter(|entry| entry.event == "acquired").filter_map(|entry| entry.grant).collect();
    assert!(grants.len() == 6 && grants.is_sorted(), "{grants:?}");
}

#[test]
fn lock_verify_finds_a_split_brain() {
    let builder = ours::builder().time(Time::Manual).seed(3).lock_history(true);
    let topology = builder.sentinels(3).replicas(1).start().expect("they start");
    let mut clients: Vec<Client> =
        topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    clients[0].line("FAULT.PARTITION NODES 0");
    clients[2].line("CLOCK.ADVANCE 60000");
    assert_eq!(master_port_of(&mut clients[2]), topology.servers()[1].port());
    // A sentinel disconnects the clients of servers whose role it changes.
    clients[1] = Client::connect(topology.servers()[1].addr());
    assert_eq!(text(&mut clients[0], "SET order first NX PX 600000"), "+OK");
    assert_eq!(text(&mut clients[1], "SET order second NX PX 600000"), "+OK");
    let verdict = topology.servers()[1].verify(Level::Violation, Some("order")).expect("it is on");
    let both = |found: &lockwheel::Finding| {
        found.invariant == "mutual-exclusion" && found.owners == ["first", "second"]
    };
    assert_eq!(verdict.findings.iter().filter(|found| both(found)).count(), 1, "{:?}", verdict.findings);
}

#[test]
fn a_server_without_a_history_returns_that_of_the_others() {
    let (topology, mut clients) = recorded();
    clients[0].line("LOCK.ACQUIRE l one PX 1000");
    assert_eq!(text(&mut clients[1], "CONFIG SET lock-history no"), "+OK");
    for place in 0..3 {
        assert_eq!(events(&topology, place), [event("acquired", "one", 0)], "{place}");
    }
    // The server has no history of its own by that.
    let answer = text(&mut clients[1], "CONFIG GET lock-history");
    assert!(answer.contains("\"no\""), "{answer}");
    clients[1].line("REPLICAOF NO ONE");
    clients[1].line("LOCK.ACQUIRE l two PX 1000");
    assert_eq!(events(&topology, 1), [event("acquired", "one", 0)]);
    for client in &mut clients {
        assert_eq!(text(client, "CONFIG SET lock-history no"), "+OK");
    }
    let off = "-ERR the history of locks is off: CONFIG SET lock-history yes turns it on";
    assert_eq!(text(&mut clients[1], "LOCK.HISTORY"), off);
}

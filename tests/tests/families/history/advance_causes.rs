//! The attribution of entries during an advance of the clock: they belong to the client that advances it, whoever is
//! served on the way.

use crate::history::fixture::Server;

/// The entries of advances: the client, its name, its request, and the length of the advance.
fn clock_entries(server: &mut Server) -> Vec<String> {
    let history = server.history("");
    let entries = history["entries"].as_array().expect("entries").iter();
    let of_clock = entries.filter(|entry| entry["event"] == "clock").map(|entry| {
        let by = entry["to"].as_i64().expect("to") - entry["from"].as_i64().expect("from");
        format!("{} {} {} {by}", entry["client"], entry["clientname"], entry["by"]).replace('"', "")
    });
    of_clock.collect()
}

/// A server with a waiter that is served during an advance, and the controlling client, which is named `admin`.
fn with_a_waiter() -> Server {
    let mut server = Server::new();
    let [holder, waiter] = [server.client(), server.client()];
    server.send(waiter, "CLIENT SETNAME waiter");
    server.ask("CLIENT SETNAME admin");
    server.send(holder, "LOCK.ACQUIRE l a PX 100");
    server.send(waiter, "LOCK.ACQUIRE l b PX 100 BLOCK 0");
    server
}

#[test]
fn an_advance_is_recorded_for_its_client_and_not_for_a_served_waiter() {
    let mut server = with_a_waiter();
    server.advance(150);
    server.ask("LOCK.MARK next");
    server.ask("CLOCK.NEXT");
    let told = ["1 admin clock.advance 100", "1 admin clock.advance 50", "1 admin clock.next 50"];
    assert_eq!(clock_entries(&mut server), told);
    server.ask("CLOCK.STEP 5");
    server.ask("CLOCK.SET 7");
    let told = clock_entries(&mut server);
    assert!(told[3].starts_with("1 admin clock.step 5"), "{told:?}");
    assert!(told[4].starts_with("1 admin clock.set -"), "{told:?}");
}

#[test]
fn an_advance_by_a_script_is_recorded_for_its_client() {
    let mut server = with_a_waiter();
    server.ask("EVAL \"return redis.call('clock.advance', 150)\" 0");
    let told = clock_entries(&mut server);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told.iter().all(|line| line.starts_with("1 admin ") && !line.contains("lock.acquire")),
        "{told:?}"
    );
}

/// An advance that continues another one forms one entry with it, if the same client makes it.
#[test]
fn advances_of_two_clients_are_two_entries() {
    let mut server = Server::new();
    let other = server.client();
    server.send(other, "CLIENT SETNAME other");
    server.advance(10);
    server.advance(10);
    server.send(other, "CLOCK.ADVANCE 5");
    assert_eq!(clock_entries(&mut server), ["1 null clock.advance 20", "2 other clock.advance 5"]);
}

/// While an advance waits for clients to react, requests of other clients run.
#[test]
fn an_advance_that_settles_is_recorded_for_one_client() {
    let mut server = with_a_waiter();
    let other = server.client();
    server.send(other, "CLIENT SETNAME other");
    let asker = server.asker;
    server.simulation.send(asker, "CLOCK.ADVANCE 150 SETTLE 20");
    assert_eq!(server.simulation.read(asker), "", "it waits for the waiter to react");
    server.send(other, "LOCK.ACQUIRE m c PX 10000");
    server.pass(50);
    assert!(server.simulation.read(asker).contains("settled"));
    let told = ["1 admin clock.advance 100", "1 admin clock.advance 50"];
    assert_eq!(clock_entries(&mut server), told);
}

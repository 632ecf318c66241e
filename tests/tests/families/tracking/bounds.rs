//! The table of keys is bounded, and entries are removed with their client.

use lockwheel::Config;
use lockwheel_engine::core::Simulation;

use crate::tracking::leave;

/// A server, and two clients, one of which speaks RESP3.
fn server() -> (Simulation, u64, u64) {
    let mut server = Simulation::new(Config::default(), 7);
    let [tracking, other] = [0; 2].map(|_| server.connect());
    server.ask(tracking, "HELLO 3");
    (server, tracking, other)
}

fn figure(server: &mut Simulation, client: u64, name: &str) -> u64 {
    let info = server.ask(client, "INFO everything");
    let line = info.lines().find_map(|line| line.strip_prefix(&format!("{name}:")).map(str::to_owned));
    line.unwrap_or_else(|| panic!("no {name}")).parse().expect("a number")
}

fn invalidations(text: &str) -> usize {
    text.matches("invalidate").count()
}

#[test]
fn info_counts_tracking_clients_keys_and_prefixes() {
    let (mut server, client, other) = server();
    server.ask(client, "CLIENT TRACKING on");
    server.ask(client, "MGET a b c");
    server.ask(other, "CLIENT TRACKING on BCAST PREFIX x PREFIX y");
    let figures = ["clients", "total_keys", "total_items", "total_prefixes"];
    let read =
        |server: &mut Simulation| figures.map(|name| figure(server, other, &format!("tracking_{name}")));
    assert_eq!(read(&mut server), [2, 3, 3, 2]);
    let list = server.ask(other, "CLIENT LIST");
    assert!(list.contains("flags=t ") && list.contains("flags=tB ") && list.contains(" redir=0 "), "{list}");
    server.ask(other, "DEL a b");
    server.ask(other, "RESET");
    assert_eq!(read(&mut server), [1, 1 + 2, 3, 0], "what is not there is not deleted");
    server.ask(other, "MSET a 1 b 2");
    assert_eq!(read(&mut server), [1, 1, 1, 0]);
    leave(&mut server, client);
    assert_eq!(read(&mut server), [0, 1, 1, 0], "the other one has tracked keys too");
    leave(&mut server, other);
    let last = server.connect();
    assert_eq!(figure(&mut server, last, "tracking_total_keys"), 0);
}

#[test]
fn keys_beyond_the_limit_are_forgotten_and_invalidated() {
    let (mut server, client, other) = server();
    server.ask(client, "CLIENT TRACKING on");
    for n in 0..2500 {
        server.ask(client, &format!("GET key:{n}"));
    }
    assert_eq!(figure(&mut server, other, "tracking_total_keys"), 2500);
    server.ask(other, "CONFIG SET tracking-table-max-keys 10");
    assert_eq!(figure(&mut server, other, "tracking_total_keys"), 10);
    assert_eq!(invalidations(&server.read(client)), 2490);
    let told = server.ask(client, "MGET x y z");
    assert_eq!(invalidations(&told), 3, "after the reply: {told}");
    assert!(told.starts_with("*3\r\n_\r\n_\r\n_\r\n>2"), "{told}");
    server.ask(other, "CONFIG SET tracking-table-max-keys 0");
    assert_eq!(invalidations(&server.ask(client, "MGET 1 2 3 4 5")), 0);
}

/// A limit of keys also limits bytes: to a mebibyte at least.
#[test]
fn long_key_names_count_in_the_memory_of_the_table() {
    let (mut server, client, other) = server();
    server.ask(other, "CONFIG SET tracking-table-max-keys 1000");
    server.ask(client, "CLIENT TRACKING on");
    let long = "x".repeat(100_000);
    for n in 0..50 {
        server.ask(client, &format!("GET {long}{n}"));
    }
    let keys = figure(&mut server, other, "tracking_total_keys");
    assert!((5..=10).contains(&keys), "{keys}");
}

#[test]
fn the_table_counts_as_memory_and_is_given_back() {
    let (mut server, client, other) = server();
    // The records of latency grow with each new maximum.
    server.ask(other, "CONFIG SET latency-tracking no");
    let before = figure(&mut server, other, "used_memory");
    server.ask(client, "CLIENT TRACKING on");
    for n in 0..10_000 {
        server.ask(client, &format!("GET some:key:that:is:not:there:{n}"));
    }
    let with = figure(&mut server, other, "used_memory");
    assert!(with > before + 10_000 * 50, "{before} {with}");
    leave(&mut server, client);
    let after = figure(&mut server, other, "used_memory");
    assert!(after < before + 50_000, "{before} {with} {after}");
}

/// Clients that come and go leave nothing at a key that all read.
#[test]
fn disconnected_clients_are_removed_from_tracked_keys() {
    let (mut server, client, other) = server();
    server.ask(client, "CLIENT TRACKING on");
    for _ in 0..1000 {
        let passing = server.connect();
        server.ask(passing, "CLIENT TRACKING on");
        server.ask(passing, "GET k");
        leave(&mut server, passing);
    }
    let items = figure(&mut server, other, "tracking_total_items");
    assert!(items <= 8, "{items}");
}

/// A million prefixes are quickly checked for overlaps, and quickly searched for each key that changes.
#[test]
fn very_many_prefixes_cost_little() {
    let (mut server, client, other) = server();
    let prefixes: String = (100_000..200_000).map(|n| format!(" PREFIX {n}")).collect();
    assert_eq!(server.ask(client, &format!("CLIENT TRACKING on BCAST{prefixes}")), "+OK\r\n");
    let refused = server.ask(client, &format!("CLIENT TRACKING on BCAST PREFIX z{prefixes}"));
    assert!(
        refused.starts_with("-ERR Prefix '100000' overlaps with an existing prefix '100000'."),
        "{refused}"
    );
    for n in 0..1000 {
        server.ask(other, &format!("SET {}:{n} v", 100_000 + n));
    }
    assert_eq!(invalidations(&server.read(client)), 1000);
}

/// Redis answers some such requests twice.
#[test]
fn overlapping_prefixes_get_one_error() {
    let (mut server, client, _) = server();
    let answer = server.ask(client, "CLIENT TRACKING on BCAST PREFIX a PREFIX b PREFIX bc");
    assert_eq!(
        answer,
        "-ERR Prefix 'b' overlaps with another provided prefix 'bc'. Prefixes for a single client must not overlap.\r\n"
    );
    assert_eq!(server.ask(client, "PING"), "+PONG\r\n");
    assert!(server.ask(client, "CLIENT TRACKINGINFO").contains("off"));
}

/// A client's prefixes count as its own memory, until it stops tracking.
#[test]
fn prefixes_count_in_the_memory_of_their_client() {
    let (mut server, client, other) = server();
    let memory = |server: &mut Simulation| {
        let line = server.ask(other, &format!("CLIENT LIST ID {client}"));
        let total = line.split(' ').find_map(|field| field.strip_prefix("tot-mem="));
        total.expect("it has this field").parse::<usize>().expect("a number")
    };
    let before = memory(&mut server);
    let prefixes: String = (0..100).map(|n| format!(" PREFIX {n:01000}")).collect();
    server.ask(client, &format!("CLIENT TRACKING on BCAST{prefixes}"));
    let with = memory(&mut server);
    assert!((100_000..120_000).contains(&(with - before)), "{before} {with}");
    server.ask(client, "CLIENT TRACKING off");
    assert!(memory(&mut server) <= before);
    server.ask(client, &format!("CLIENT TRACKING on BCAST{prefixes}"));
    server.ask(client, "RESET");
    assert!(memory(&mut server) <= before);
}

#[test]
fn a_reset_keeps_tracking_on_and_invalidates_all_keys() {
    let (mut server, client, other) = server();
    server.ask(client, "CLIENT TRACKING on");
    server.ask(client, "GET k");
    server.ask(other, "CONTROL.RESET KEEPCLIENTS");
    assert_eq!(server.read(client), ">2\r\n$10\r\ninvalidate\r\n_\r\n");
    server.ask(client, "GET k");
    server.ask(other, "SET k v");
    assert_eq!(invalidations(&server.read(client)), 1);
    server.ask(other, "CONTROL.RESET");
    assert_eq!(figure(&mut server, other, "tracking_clients"), 0);
    assert!(!server.is_connected(client));
}

/// A waiting client is notified about keys that it has read, and reads by waiting.
#[test]
fn a_blocked_tracking_client_gets_invalidations_too() {
    let (mut server, client, other) = server();
    server.ask(client, "CLIENT TRACKING on");
    server.ask(client, "LRANGE l 0 -1");
    server.ask(client, "LRANGE l2 0 -1");
    server.send(client, "BLMOVE l l2 LEFT LEFT 0");
    server.ask(other, "RPUSH l x");
    let told = server.read(client);
    let at = |text: &str| told.find(text).unwrap_or_else(|| panic!("{told:?}"));
    assert!(at("$1\r\nl\r\n") < at("$1\r\nx\r\n") && at("$1\r\nx\r\n") < at("$2\r\nl2\r\n"), "{told:?}");
    server.send(client, "XREAD BLOCK 0 STREAMS s $");
    server.ask(other, "XADD s 1-1 f v");
    let told = server.read(client);
    assert!(told.starts_with(">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\ns\r\n%1\r\n"), "{told:?}");
}

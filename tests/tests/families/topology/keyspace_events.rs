//! Keyspace events in a cluster: each node publishes its own, to its own subscribers.

use lockwheel::{Config, Topology};
use lockwheel_store::keyspace::EventClasses;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;

/// Three masters, the first of which owns the key's slot, a replica of each, and subscribers to all events of each.
fn cluster_with_listeners() -> (Topology, Vec<Client>) {
    let mut config = Config::default();
    config.notify_keyspace_events = EventClasses::parse(b"KEA").expect("known letters");
    let topology = ours::configured(config).cluster(3, 1).start().expect("they start");
    let listeners = topology.servers().iter().map(|server| {
        let mut client = Client::connect(server.addr());
        client.line("PSUBSCRIBE *");
        client
    });
    let listeners = listeners.collect();
    (topology, listeners)
}

/// Returns the messages of a subscriber up to one that all nodes receive.
fn before_end(listener: &mut Client) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        let words = listener.read_frame().into_elements().expect("a message");
        let text = |at: usize| String::from_utf8_lossy(words[at].as_bytes().unwrap_or_default()).into_owned();
        if text(2) == "end" {
            return told;
        }
        told.push(format!("{} {}", text(2), text(3)));
    }
}

#[test]
fn keyspace_events_stay_on_their_node() {
    let (topology, mut listeners) = cluster_with_listeners();
    let [mut first, mut replica] = [0, 3].map(|at| Client::connect(topology.servers()[at].addr()));
    for line in ["SET {bar}k v", "PEXPIRE {bar}k 600000", "DEL {bar}k"] {
        assert!(!first.line(line).is_error(), "{line}");
    }
    assert_eq!(first.line("WAIT 1 0").to_string(), ":1");
    first.line("PUBLISH end now");
    let own = [
        "__keyspace@0__:{bar}k set",
        "__keyevent@0__:set {bar}k",
        "__keyspace@0__:{bar}k expire",
        "__keyevent@0__:expire {bar}k",
        "__keyspace@0__:{bar}k del",
        "__keyevent@0__:del {bar}k",
    ];
    assert_eq!(before_end(&mut listeners[0]), own);
    for other in [1, 2, 4, 5] {
        assert_eq!(before_end(&mut listeners[other]), Vec::<String>::new(), "{other}");
    }
    // Its replica executes the replicated commands, and has events of its own: here of the same names.
    let of_replica = before_end(&mut listeners[3]);
    assert!(of_replica.contains(&own[5].to_owned()), "{of_replica:?}");
    assert_eq!(replica.line("READONLY").to_string(), "+OK");
    assert_eq!(replica.line("EXISTS {bar}k").to_string(), ":0");
}

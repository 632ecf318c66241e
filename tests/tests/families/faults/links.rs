//! Frozen clients and partitions.

use super::Scene;
use lockwheel::Server;
use lockwheel_tests::client::Client;

#[test]
fn no_bytes_are_read_from_or_written_to_a_frozen_client() {
    let mut scene = Scene::new();
    let [client, other] = [scene.client(), scene.client()];
    scene.server.ask(client, "SUBSCRIBE c");
    scene.steer(&format!("FAULT.FREEZECLIENT {client} FOREVER"), ":1");
    scene.server.send(client, "UNSUBSCRIBE c");
    scene.check(other, "PUBLISH c hello", ":1");
    assert_eq!(scene.read(client), "");
    scene.steer(&format!("FAULT.THAWCLIENT {client}"), ":1");
    assert_eq!(scene.read(client), "*3 $7 message $1 c $5 hello *3 $11 unsubscribe $1 c :0");
    scene.steer(&format!("FAULT.THAWCLIENT {client}"), ":0");
}

#[test]
fn a_frozen_client_loses_its_lease() {
    let mut scene = Scene::new();
    let client = scene.client();
    assert!(scene.ask(client, "LOCK.ACQUIRE lock me PX 1000").contains("token"));
    scene.check(client, "CLIENT SETNAME worker-1", "+OK");
    scene.steer("FAULT.FREEZECLIENT NAME worker-* 1500", ":1");
    scene.server.send(client, "LOCK.RELEASE lock me");
    scene.advance(1499);
    assert_eq!(scene.read(client), "");
    scene.steer("EXISTS lock", ":0");
    scene.advance(1);
    assert!(scene.read(client).starts_with("-LOCKLOST"));
}

#[test]
fn clients_are_frozen_and_thawed_by_the_name_of_their_library() {
    let mut scene = Scene::new();
    let [redisson, same, other] = [scene.client(), scene.client(), scene.client()];
    for client in [redisson, same] {
        scene.check(client, "CLIENT SETINFO LIB-NAME redisson", "+OK");
    }
    scene.check(other, "CLIENT SETINFO LIB-NAME jedis", "+OK");
    scene.steer("FAULT.FREEZECLIENT LIB lettuce FOREVER", ":0");
    scene.steer("FAULT.FREEZECLIENT LIB redis* FOREVER", ":2");
    for (client, answer) in [(redisson, ""), (same, ""), (other, "+PONG")] {
        scene.check(client, "PING", answer);
    }
    scene.steer("FAULT.THAWCLIENT LIB jedis", ":0");
    scene.steer("FAULT.THAWCLIENT LIB redisson", ":2");
    for client in [redisson, same] {
        assert_eq!(scene.read(client), "+PONG");
    }
    scene.steer("FAULT.FREEZECLIENT LIB redisson 40", ":2");
    scene.check(same, "PING", "");
    scene.advance(40);
    assert_eq!(scene.read(same), "+PONG");
}

#[test]
fn a_partition_holds_one_direction_or_both_and_heals() {
    for (direction, runs, answers) in [("IN", false, false), ("OUT", true, false), ("BOTH", false, false)] {
        let mut scene = Scene::new();
        let client = scene.client();
        scene.steer(&format!("FAULT.PARTITION ALL {direction}"), ":1");
        scene.check(client, "SET k v", "");
        scene.steer("EXISTS k", if runs { ":1" } else { ":0" });
        assert_eq!(!scene.read(client).is_empty(), answers);
        scene.steer("FAULT.HEAL", ":1");
        assert_eq!(scene.read(client), "+OK", "{direction}");
        scene.steer("EXISTS k", ":1");
    }
}

#[test]
fn a_partition_holds_new_connections_but_not_exempt_clients() {
    let mut scene = Scene::new();
    let exempt = scene.client();
    scene.check(exempt, "FAULT.EXEMPT ON", "+OK");
    scene.steer("FAULT.PARTITION ALL", ":0");
    let new = scene.client();
    scene.check(new, "PING", "");
    scene.check(exempt, "PING", "+PONG");
    scene.check(exempt, "FAULT.EXEMPT OFF", "");
    scene.check(exempt, "PING", "");
    scene.steer("FAULT.HEAL", ":1");
    assert_eq!((scene.read(new), scene.read(exempt)), ("+PONG".into(), "+OK +PONG".into()));
}

/// Otherwise nobody could end a partition, once the client that asked for the partition is gone.
#[test]
fn fault_heal_gets_through_a_partition() {
    for direction in ["IN", "OUT", "BOTH"] {
        let mut scene = Scene::new();
        let client = scene.client();
        scene.steer(&format!("FAULT.PARTITION ALL {direction}"), ":1");
        scene.check(client, "Fault.Heal", ":1");
        scene.check(client, "PING", "+PONG");
    }
}

#[test]
fn only_a_bare_fault_heal_gets_through_a_partition() {
    let mut scene = Scene::new();
    let [behind, other, frozen] = std::array::from_fn(|_| scene.client());
    scene.steer(&format!("FAULT.FREEZECLIENT {frozen} FOREVER"), ":1");
    scene.steer("FAULT.PARTITION ALL", ":3");
    scene.check(behind, "PING", "");
    scene.check(behind, "FAULT.HEAL", "");
    scene.check(other, "FAULT.HEAL now", "");
    scene.check(frozen, "FAULT.HEAL", "");
    scene.steer("FAULT.HEAL", ":1");
    assert_eq!((scene.read(behind), scene.read(frozen)), ("+PONG :0".into(), String::new()));
    assert!(scene.read(other).starts_with("-ERR wrong number of arguments"));
}

#[test]
fn clients_are_partitioned_by_name_and_by_library() {
    let mut scene = Scene::new();
    let [named, library, other] = std::array::from_fn(|_| scene.client());
    scene.check(library, "CLIENT SETINFO LIB-NAME redisson", "+OK");
    scene.steer("FAULT.PARTITION NAME pool-*", ":0");
    scene.steer("FAULT.PARTITION LIB redisson", ":1");
    // The client's name reaches the server; from then on nothing does.
    scene.check(named, "CLIENT SETNAME pool-7", "");
    scene.check(named, "PING", "");
    scene.check(library, "PING", "");
    scene.check(other, "PING", "+PONG");
    scene.steer("FAULT.HEAL", ":2");
    assert_eq!((scene.read(named), scene.read(library)), ("+OK +PONG".into(), "+PONG".into()));
}

/// Only real connections have addresses.
#[test]
fn clients_are_partitioned_by_address() {
    let server = Server::builder().port(0).start().expect("loopback has a free port");
    let [mut steer, mut cut, mut other] = std::array::from_fn(|_| Client::connect(server.addr()));
    assert_eq!(cut.line("PING").to_string(), "+PONG");
    assert_eq!(steer.line("FAULT.PARTITION ADDR 192.0.2.1:1").to_string(), ":0");
    assert_eq!(steer.line(&format!("FAULT.PARTITION ADDR {} OUT", cut.local())).to_string(), ":1");
    cut.send_line("SET k v");
    assert_eq!(steer.line("AWAIT.KEY k EXISTS").to_string(), ":1");
    assert_eq!(other.line("GET k").to_string(), "\"v\"");
    assert_eq!(steer.line("FAULT.HEAL").to_string(), ":2");
    assert_eq!(cut.read_reply().to_string(), "+OK");
}

#[test]
fn the_close_of_a_frozen_client_is_not_noticed() {
    let mut scene = Scene::new();
    let [waiter, other] = [scene.client(), scene.client()];
    scene.check(waiter, "BLPOP q 0", "");
    scene.steer(&format!("FAULT.FREEZECLIENT {waiter} FOREVER"), ":1");
    scene.server.close(waiter);
    scene.server.notice();
    scene.check(other, "RPUSH q v", ":1");
    scene.check(other, "LLEN q", ":0");
    scene.steer(&format!("FAULT.THAWCLIENT {waiter}"), ":1");
    scene.server.notice();
    assert!(!scene.server.is_connected(waiter));
}

#[test]
fn wrong_groups_are_refused() {
    let mut scene = Scene::new();
    for line in [
        "FAULT.PARTITION 7",
        "FAULT.PARTITION NAME",
        "FAULT.PARTITION ALL SIDEWAYS",
        "FAULT.PARTITION ALL IN OUT",
        "FAULT.FREEZECLIENT ALL FOREVER",
        "FAULT.FREEZECLIENT NAME x",
        "FAULT.FREEZECLIENT NAME x 1 2",
        "FAULT.THAWCLIENT ALL",
        "FAULT.THAWCLIENT 7 FOREVER",
    ] {
        let arity = scene.ask(scene.steer, line);
        assert!(
            arity.starts_with("-ERR syntax error: ") || arity.contains("wrong number"),
            "{line}: {arity}"
        );
    }
    scene.steer("FAULT.FREEZECLIENT -1 FOREVER", "-ERR value is out of range, must be positive: *");
    scene.steer("FAULT.FREEZECLIENT 99 soon", "-ERR value is not an integer or out of range: *");
    scene.steer("FAULT.FREEZECLIENT 99 -1", "-ERR value is out of range, must be positive: *");
    scene.steer("FAULT.FREEZECLIENT 99 5", ":0");
    scene.steer("FAULT.HEAL", ":0");
}

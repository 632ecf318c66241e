//! A master and its replicas in one process: the replicas have every write that the master has acknowledged.

use crate::replication::servers::{self, noise};
use crate::topology::manual;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::rng::Rng;

fn text(client: &mut Client, line: &str) -> String {
    client.line(line).to_string()
}

fn info(client: &mut Client, field: &str) -> String {
    let reply = client.line("INFO replication");
    let text = String::from_utf8_lossy(reply.as_bytes().expect("a text")).into_owned();
    let found = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    found.unwrap_or_else(|| panic!("no {field}:\n{text}")).to_owned()
}

#[test]
fn replicas_have_each_write_by_the_time_of_its_reply() {
    let (_topology, mut clients) = manual();
    let mut rng = Rng::new(7);
    for step in 0..300 {
        let (key, value) = (rng.below(20), rng.below(1000));
        let line = match rng.below(8) {
            0 => format!("SET k{key} {value}"),
            1 => format!("DEL k{key} h{key}"),
            2 => format!("HSET h{key} f{value} {step}"),
            3 => format!("RPUSH l{key} {value}"),
            4 => format!("ZADD z{key} {value} m{step}"),
            5 => format!("SET k{key} v PX {}", value + 1),
            6 => format!(
                "EVAL \"redis.call('incr', KEYS[1]) redis.call('sadd', KEYS[2], ARGV[1])\" 2 n{key} s{key} {value}"
            ),
            _ => format!("CLOCK.ADVANCE {value}"),
        };
        clients[0].line(&line);
        let digests: Vec<String> = clients.iter_mut().map(|client| text(client, "DEBUG DIGEST")).collect();
        assert!(digests.iter().all(|digest| *digest == digests[0]), "{line}: {digests:?}");
    }
}

#[test]
fn a_master_and_its_replicas_know_each_other() {
    let (topology, mut clients) = manual();
    assert_eq!(info(&mut clients[0], "connected_slaves"), "2");
    let port = topology.servers()[0].port().to_string();
    for replica in 1..3 {
        assert_eq!(info(&mut clients[replica], "master_link_status"), "up");
        assert_eq!(info(&mut clients[replica], "master_port"), port);
        let line = info(&mut clients[0], &format!("slave{}", replica - 1));
        let own = format!("port={},state=online,", topology.servers()[replica].port());
        assert!(line.contains(&own), "{line}");
        let refused = text(&mut clients[replica], "SET k v");
        assert_eq!(refused, "-READONLY You can't write against a read only replica.");
    }
    assert_eq!(text(&mut clients[0], "WAIT 2 0"), ":2");
    clients[0].line("SET k v");
    assert_eq!(text(&mut clients[0], "WAIT 2 0"), ":2");
}

#[test]
fn a_replica_is_promoted_and_the_others_follow_it() {
    let (topology, mut clients) = manual();
    clients[0].line("SET k before");
    assert_eq!(text(&mut clients[1], "REPLICAOF NO ONE"), "+OK");
    let port = topology.servers()[1].port();
    clients[2].line(&format!("REPLICAOF 127.0.0.1 {port}"));
    clients[1].line("SET k after");
    assert_eq!(text(&mut clients[2], "GET k"), "\"after\"");
    assert_eq!(text(&mut clients[0], "GET k"), "\"before\"");
    assert_eq!(info(&mut clients[1], "connected_slaves"), "1");
    assert_eq!(info(&mut clients[0], "connected_slaves"), "0");
}

#[test]
fn messages_reach_subscribers_of_replicas() {
    let (_topology, mut clients) = manual();
    clients[2].line("SUBSCRIBE news");
    clients[0].line("PUBLISH news hello");
    assert_eq!(clients[2].read_frame().to_string(), "[\"message\", \"news\", \"hello\"]");
}

#[test]
fn a_lease_ends_on_all_servers_at_its_instant() {
    let (_topology, mut clients) = manual();
    clients[0].line("LOCK.ACQUIRE l owner PX 1000");
    clients[2].line("CLOCK.ADVANCE 999");
    let exists = |clients: &mut Vec<Client>| -> Vec<String> {
        clients.iter_mut().map(|client| text(client, "EXISTS l")).collect()
    };
    assert_eq!(exists(&mut clients), [":1", ":1", ":1"]);
    clients[2].line("CLOCK.ADVANCE 1");
    assert_eq!(exists(&mut clients), [":0", ":0", ":0"]);
}

#[test]
fn a_disconnected_replica_reconnects() {
    let topology = ours::builder().replicas(1).start().expect("they start");
    let mut clients: Vec<Client> =
        topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    assert_eq!(text(&mut clients[0], "CLIENT KILL TYPE replica"), ":1");
    clients[0].line("SET k v");
    while info(&mut clients[1], "master_link_status") != "up" {}
    assert_eq!(text(&mut clients[1], "GET k"), "\"v\"");
    let ids = |client: &mut Client| {
        let list = client.line("CLIENT LIST");
        let text = String::from_utf8_lossy(list.as_bytes().expect("a text")).into_owned();
        text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect::<Vec<_>>()
    };
    for client in &mut clients {
        let mut all = ids(client);
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count, "{all:?}");
    }
}

/// Redisson may subscribe at a replica, and nobody there receives the master's own messages.
#[test]
fn a_replica_of_a_disconnected_replica_reconnects_with_it() {
    for (middle, last) in [(1, 2), (2, 1)] {
        let (topology, mut clients) = manual();
        let port = topology.servers()[middle].port();
        clients[last].line(&format!("REPLICAOF 127.0.0.1 {port}"));
        clients[0].line(&format!("FAULT.DOWN {middle} 100"));
        clients[0].line("SET k v");
        clients[0].line("CLOCK.ADVANCE 100");
        assert_eq!(text(&mut clients[last], "GET k"), "\"v\"");
    }
}

/// The connection is not refused at each instant at which something happens.
#[test]
fn a_replica_reconnects_once_its_master_has_found_a_master() {
    let (topology, mut clients) = manual();
    let [port, middle] = [0, 1].map(|server| topology.servers()[server].port());
    // Nobody listens there.
    clients[1].line("REPLICAOF 127.0.0.1 1");
    clients[2].line(&format!("REPLICAOF 127.0.0.1 {middle}"));
    clients[1].line("CONFIG RESETSTAT");
    for ms in 1..100 {
        clients[0].line(&format!("SET k{ms} v PX {ms}"));
    }
    clients[0].line("CLOCK.ADVANCE 5000");
    let errors = text(&mut clients[1], "INFO errorstats");
    assert!(!errors.contains("NOMASTERLINK"), "{errors}");
    assert_eq!(info(&mut clients[2], "master_link_status"), "down");
    clients[0].line("SET k v");
    clients[1].line(&format!("REPLICAOF 127.0.0.1 {port}"));
    assert_eq!(text(&mut clients[2], "GET k"), "\"v\"");
}

#[test]
fn a_native_release_reaches_subscribers_of_a_replica() {
    let (_topology, mut clients) = manual();
    clients[2].line("SUBSCRIBE redisson_lock__channel:{l}");
    clients[0].line("LOCK.ACQUIRE l owner PX 1000");
    clients[0].line("LOCK.RELEASE l owner");
    let message = clients[2].read_frame().to_string();
    assert_eq!(message, "[\"message\", \"redisson_lock__channel:{l}\", \"0\"]");
}

#[test]
fn hello_shows_the_role_and_the_link_is_no_client() {
    let (_topology, mut clients) = manual();
    for (client, role) in clients.iter_mut().zip(["master", "replica", "replica"]) {
        let hello = text(client, "HELLO");
        assert!(hello.contains(&format!("\"role\", \"{role}\"")), "{hello}");
        let list = text(client, "CLIENT LIST");
        assert!(list.contains("cmd=client|list") && !list.contains("in-process"), "{list}");
        assert_eq!(text(client, "AWAIT.CLIENTS 1"), ":1");
    }
    text(&mut clients[1], "REPLICAOF NO ONE");
    assert!(text(&mut clients[1], "HELLO 3").contains("master"));
}

#[test]
fn a_master_knows_the_offsets_of_its_replicas_at_once() {
    let (_topology, mut clients) = manual();
    clients[0].line("SET k v");
    let offset = info(&mut clients[0], "master_repl_offset");
    for replica in ["slave0", "slave1"] {
        let line = info(&mut clients[0], replica);
        assert!(line.ends_with(&format!(",state=online,offset={offset},lag=0")), "{line}");
    }
}

/// The acknowledgements that real replicas send once a second are due by the shared clock.
#[test]
fn the_lag_of_a_partitioned_replica_follows_the_shared_clock() {
    let (_topology, mut clients) = manual();
    for line in ["CONFIG SET min-replicas-to-write 2", "CONFIG SET min-replicas-max-lag 10"] {
        assert_eq!(text(&mut clients[0], line), "+OK");
    }
    clients[0].line("CLOCK.ADVANCE 100000");
    assert_eq!(text(&mut clients[0], "SET k v"), "+OK");
    assert_eq!(text(&mut clients[0], "FAULT.PARTITION NODES 2"), ":1");
    clients[0].line("CLOCK.ADVANCE 10999");
    assert_eq!(text(&mut clients[0], "SET k v"), "+OK");
    clients[0].line("CLOCK.ADVANCE 1");
    assert_eq!(text(&mut clients[0], "SET k w"), "-NOREPLICAS Not enough good replicas to write.");
    assert!(info(&mut clients[0], "slave0").ends_with("lag=0"));
    assert!(info(&mut clients[0], "slave1").ends_with("lag=11"));
    assert_eq!(info(&mut clients[0], "min_slaves_good_slaves"), "1");
    assert_eq!(info(&mut clients[1], "master_last_io_seconds_ago"), "0");
    assert_eq!(info(&mut clients[2], "master_last_io_seconds_ago"), "11");
    clients[0].line("FAULT.HEAL");
    assert_eq!(text(&mut clients[0], "SET k w"), "+OK");
    assert_eq!(info(&mut clients[2], "master_last_io_seconds_ago"), "0");
    assert_eq!(text(&mut clients[2], "GET k"), "\"w\"");
}

#[test]
fn a_link_times_out_on_the_shared_clock() {
    let (_topology, mut clients) = manual();
    let mut control = clients.remove(2);
    control.line("FAULT.DOWN 0 60000");
    control.line("CLOCK.ADVANCE 42500");
    assert_eq!(info(&mut control, "master_link_status"), "down");
    assert_eq!(info(&mut control, "master_link_down_since_seconds"), "42");
    control.line("CLOCK.ADVANCE 17500");
    assert_eq!(info(&mut control, "master_link_status"), "up");
}

#[test]
fn a_partition_keeps_no_stream_for_a_replica_over_its_limit() {
    const WRITES: u64 = 100;
    const MB: usize = 1 << 20;
    let (_topology, mut clients) = manual();
    let used = |client: &mut Client| {
        let figure = servers::info(client, "memory", "used_memory");
        figure.parse::<usize>().expect("it is a number")
    };
    clients[0].line("CONFIG SET client-output-buffer-limit \"replica 1mb 0 0\"");
    assert_eq!(text(&mut clients[0], "FAULT.PARTITION NODES 1"), ":1");
    let before = used(&mut clients[0]);
    for seed in 0..WRITES {
        clients[0].cmd(&["SET", "k", &noise(100_000, seed)]);
        clients[0].cmd(&["DEL", "k"]);
    }
    let after = used(&mut clients[0]);
    // The backlog, and the limit.
    assert!(after < before + 4 * MB, "{before} {after}");
    clients[0].line("SET last v");
    clients[0].line("FAULT.HEAL");
    clients[0].line("CLOCK.ADVANCE 5000");
    assert_eq!(text(&mut clients[1], "GET last"), "\"v\"");
}

//! A cluster in one process: all nodes know all others at once, and fail and take over by the manual clock.

use lockwheel::{Time, Topology};
use lockwheel_tests::client::Client;
use lockwheel_tests::{ours, reply};
use std::time::Duration;

/// Three masters, a replica of each, and a client of each. The replicas lag by this duration.
fn cluster(lag: Duration) -> (Topology, Vec<Client>) {
    let builder = ours::builder().time(Time::Manual).cluster(3, 1).lag(lag);
    let topology = builder.start().expect("they start");
    let clients = topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    (topology, clients)
}

fn text(client: &mut Client, line: &str) -> String {
    client.line(line).to_string()
}

/// A key of the first master.
const KEY: &str = "{bar}k";

fn moved_to(topology: &Topology, at: usize) -> String {
    format!("-MOVED 5061 {}", topology.servers()[at].addr())
}

#[test]
fn all_nodes_know_each_other_after_the_start() {
    let (topology, mut clients) = cluster(Duration::ZERO);
    for client in &mut clients {
        let info = text(client, "CLUSTER INFO");
        for field in ["cluster_state:ok", "cluster_slots_ok:16384", "cluster_known_nodes:6", "cluster_size:3"]
        {
            assert!(info.contains(field), "{info}");
        }
        assert!(!text(client, "CLUSTER NODES").contains("disconnected"));
    }
    let slots = text(&mut clients[0], "CLUSTER SLOTS");
    for server in topology.servers() {
        assert_eq!(slots.matches(&server.port().to_string()).count(), 1, "{slots}");
    }
    assert_eq!(text(&mut clients[0], "SET {bar}k v"), "+OK");
    assert_eq!(text(&mut clients[1], "SET {bar}k v"), moved_to(&topology, 0));
    text(&mut clients[3], "READONLY");
    assert_eq!(text(&mut clients[3], "GET {bar}k"), "\"v\"");
    assert_eq!(text(&mut clients[0], "PUBLISH c m"), ":0");
}

/// Messages are counted by kind, under Redis' names, and in total.
#[test]
fn messages_between_nodes_are_counted_by_kind() {
    let (_topology, mut clients) = cluster(Duration::ZERO);
    text(&mut clients[0], "CLOCK.ADVANCE 60000");
    text(&mut clients[1], "PUBLISH c m");
    text(&mut clients[1], "SPUBLISH foo m");
    text(&mut clients[3], "CLUSTER FAILOVER");
    let told = |client: &mut Client, what: &str| -> Vec<(String, u64)> {
        let info = text(client, "CLUSTER INFO");
        let lines = info.split("\\r\\n").filter_map(|line| line.strip_prefix("cluster_stats_messages_"));
        let of = lines.filter_map(|line| line.split_once(':')).filter(|(name, _)| name.ends_with(what));
        of.map(|(name, count)| (name.to_owned(), count.parse().expect("a number"))).collect()
    };
    let sent = told(&mut clients[3], "sent");
    let names: Vec<&str> = sent.iter().map(|(name, _)| name.as_str()).collect();
    let [ref kinds @ .., (_, ref all)] = sent[..] else { panic!("{names:?}") };
    assert_eq!(names, ["ping_sent", "pong_sent", "auth-req_sent", "mfstart_sent", "sent"]);
    assert_eq!(kinds.iter().map(|(_, count)| count).sum::<u64>(), *all);
    let received = told(&mut clients[4], "received");
    let has = |name: &&str| received.iter().any(|(kind, count)| kind == name && *count > 0);
    let kinds = ["ping_received", "pong_received", "publish_received", "received"];
    assert!(kinds.iter().all(has), "{received:?}");
}

#[test]
fn a_failover_is_complete_when_it_is_answered() {
    let (topology, mut clients) = cluster(Duration::ZERO);
    text(&mut clients[0], &format!("SET {KEY} before"));
    assert_eq!(text(&mut clients[3], "CLUSTER FAILOVER"), "+OK");
    assert_eq!(text(&mut clients[3], &format!("SET {KEY} after")), "+OK");
    for other in [0, 1, 2, 4, 5] {
        assert_eq!(text(&mut clients[other], &format!("GET {KEY}")), moved_to(&topology, 3), "{other}");
    }
    text(&mut clients[0], "READONLY");
    assert_eq!(text(&mut clients[0], &format!("GET {KEY}")), "\"after\"");
}

/// Blocked clients are not redirected to the new master, and their connections end, as in redis-server.
#[test]
fn a_demoted_master_unblocks_its_waiters_with_an_error() {
    let (topology, mut clients) = cluster(Duration::ZERO);
    let mut waiting = ["BLPOP {bar}q 0", "XREAD BLOCK 0 STREAMS {bar}s $", "LOCK.ACQUIRE {bar}l b BLOCK 0"];
    text(&mut clients[0], "LOCK.ACQUIRE {bar}l a");
    let mut waiting = waiting.each_mut().map(|line| {
        let mut client = Client::connect(topology.servers()[0].addr());
        client.send_line(line);
        client
    });
    while text(&mut clients[0], "AWAIT.BLOCKED 3") != ":1" {}
    assert_eq!(text(&mut clients[3], "CLUSTER FAILOVER"), "+OK");
    for client in &mut waiting {
        let told = client.read_reply().to_string();
        assert!(
            told.starts_with("-UNBLOCKED force unblock from blocking operation, instance state"),
            "{told}"
        );
        assert_eq!(client.read_to_close(), b"");
    }
}

#[test]
fn a_forced_failover_loses_writes_that_have_not_arrived() {
    let (_topology, mut clients) = cluster(Duration::from_millis(100));
    text(&mut clients[0], &format!("SET {KEY} arrived"));
    text(&mut clients[0], "CLOCK.ADVANCE 100");
    text(&mut clients[0], &format!("SET {KEY} lost"));
    text(&mut clients[0], "CLOCK.ADVANCE 99");
    assert_eq!(text(&mut clients[3], "CLUSTER FAILOVER FORCE"), "+OK");
    assert_eq!(text(&mut clients[3], &format!("GET {KEY}")), "\"arrived\"");
}

#[test]
fn a_failover_waits_for_writes_that_have_not_arrived() {
    let (_topology, mut clients) = cluster(Duration::from_millis(1000));
    text(&mut clients[0], "CLOCK.ADVANCE 2000");
    text(&mut clients[0], &format!("SET {KEY} kept"));
    assert_eq!(text(&mut clients[3], "CLUSTER FAILOVER"), "+OK");
    assert!(text(&mut clients[3], "ROLE").contains("slave"));
    text(&mut clients[1], "CLOCK.ADVANCE 1100");
    assert!(text(&mut clients[3], "ROLE").contains("master"));
    assert_eq!(text(&mut clients[3], &format!("GET {KEY}")), "\"kept\"");
}

/// The first node and the others no longer receive each other's messages.
fn cut_off(clients: &mut [Client]) {
    // The node does not consider itself failed.
    text(&mut clients[0], "CONFIG SET cluster-node-timeout 600000");
    assert!(matches!(clients[0].line("FAULT.PARTITION NODES 0"), reply::Reply::Int(_)));
}

#[test]
fn a_partitioned_node_is_replaced_when_the_clock_advances() {
    let mut seen = Vec::new();
    for _ in 0..2 {
        let (topology, mut clients) = cluster(Duration::ZERO);
        text(&mut clients[0], &format!("SET {KEY} v"));
        cut_off(&mut clients);
        text(&mut clients[1], "CLOCK.ADVANCE 10000");
        assert_eq!(text(&mut clients[1], &format!("GET {KEY}")), moved_to(&topology, 0));
        let (mut passed, mut is_down) = (10_000, false);
        while text(&mut clients[1], &format!("GET {KEY}")) != moved_to(&topology, 3) {
            is_down |= text(&mut clients[1], &format!("GET {KEY}")) == "-CLUSTERDOWN The cluster is down";
            text(&mut clients[1], "CLOCK.ADVANCE 100");
            passed += 100;
            // A replica that has requested votes before the masters detected the failure repeats its request after four
            // timeouts.
            assert!(passed < 120_000, "{}", text(&mut clients[3], "CLUSTER NODES"));
        }
        assert!(is_down, "while nobody had the slots");
        assert_eq!(text(&mut clients[3], &format!("GET {KEY}")), "\"v\"");
        assert!(!text(&mut clients[1], "CLUSTER INFO").contains("cluster_current_epoch:3"));
        seen.push(passed);
        // An isolated node works until it is reachable again; its writes since then are lost.
        assert_eq!(text(&mut clients[0], &format!("SET {KEY} lost")), "+OK");
        text(&mut clients[1], "FAULT.HEAL");
        text(&mut clients[1], "CLOCK.ADVANCE 30000");
        assert_eq!(text(&mut clients[0], &format!("GET {KEY}")), moved_to(&topology, 3));
        text(&mut clients[0], "READONLY");
        assert_eq!(text(&mut clients[0], &format!("GET {KEY}")), "\"v\"");
    }
    assert_eq!(seen[0], seen[1], "by one seed it is the same each time");
}

#[test]
fn a_killed_master_is_replaced_and_returns_as_a_replica() {
    let (topology, mut clients) = cluster(Duration::ZERO);
    text(&mut clients[0], &format!("SET {KEY} v"));
    assert_eq!(text(&mut clients[1], "FAULT.DOWN 0"), "+OK");
    text(&mut clients[1], "CLOCK.ADVANCE 120000");
    assert_eq!(text(&mut clients[1], &format!("GET {KEY}")), moved_to(&topology, 3));
    assert_eq!(text(&mut clients[3], &format!("GET {KEY}")), "\"v\"");
    assert_eq!(text(&mut clients[1], "FAULT.UP 0"), ":1");
    text(&mut clients[1], "CLOCK.ADVANCE 10000");
    let mut back = Client::connect(topology.servers()[0].addr());
    assert!(text(&mut back, "ROLE").contains("slave"));
    text(&mut back, "READONLY");
    assert_eq!(text(&mut back, &format!("GET {KEY}")), "\"v\"");
}

#[test]
fn a_replica_takes_over_its_masters_slots_when_it_is_promoted() {
    let (topology, mut clients) = cluster(Duration::from_millis(100));
    text(&mut clients[0], "CLOCK.ADVANCE 100");
    text(&mut clients[0], &format!("SET {KEY} lost"));
    assert_eq!(text(&mut clients[1], "FAULT.FAILOVER 3"), "+OK");
    assert_eq!(text(&mut clients[1], &format!("GET {KEY}")), moved_to(&topology, 3));
    assert_eq!(text(&mut clients[3], &format!("SET {KEY} v NX")), "+OK");
    text(&mut clients[1], "CLOCK.ADVANCE 10000");
    let mut old = Client::connect(topology.servers()[0].addr());
    assert!(text(&mut old, "ROLE").contains("slave"));
    assert_eq!(text(&mut old, &format!("GET {KEY}")), moved_to(&topology, 3));
}

/// A node announces an address that others can use, or none.
#[test]
fn a_node_with_an_invalid_announced_address_still_communicates() {
    let (_topology, mut clients) = cluster(Duration::ZERO);
    for address in ["localhost", "no address at all", &"x".repeat(300)] {
        assert_eq!(text(&mut clients[0], &format!("CONFIG SET cluster-announce-ip '{address}'")), "+OK");
        text(&mut clients[1], "CLOCK.ADVANCE 60000");
        assert!(!text(&mut clients[1], "CLUSTER NODES").contains("fail"), "{address}");
    }
}

#[test]
fn partitions_are_bounded() {
    let (_topology, mut clients) = cluster(Duration::ZERO);
    for _ in 0..1000 {
        assert!(matches!(clients[1].line("FAULT.PARTITION NODES 0,0 FROM 3"), reply::Reply::Int(_)));
    }
    let refused = text(&mut clients[1], "FAULT.PARTITION NODES 0 FROM 3");
    assert_eq!(refused, "-ERR too many partitions: the maximum is 1000");
    assert_eq!(text(&mut clients[1], "FAULT.HEAL"), ":1000");
}

#[test]
fn no_node_fails_when_the_clock_advances_by_a_day() {
    let (_topology, mut clients) = cluster(Duration::ZERO);
    text(&mut clients[0], "CLOCK.ADVANCE 86400000");
    for client in &mut clients {
        assert!(!text(client, "CLUSTER NODES").contains("fail"));
        assert!(text(client, "CLUSTER INFO").contains("cluster_state:ok"));
    }
}

#[test]
fn keys_move_between_nodes_of_one_process() {
    let (topology, mut clients) = cluster(Duration::ZERO);
    let ids: Vec<String> =
        clients.iter_mut().map(|client| text(client, "CLUSTER MYID").replace('"', "")).collect();
    text(&mut clients[0], &format!("SET {KEY} v"));
    assert_eq!(text(&mut clients[1], &format!("CLUSTER SETSLOT 5061 IMPORTING {}", ids[0])), "+OK");
    assert_eq!(text(&mut clients[0], &format!("CLUSTER SETSLOT 5061 MIGRATING {}", ids[1])), "+OK");
    let port = topology.servers()[1].port();
    assert_eq!(text(&mut clients[0], &format!("MIGRATE 127.0.0.1 {port} {KEY} 0 60000")), "+OK");
    for node in [1, 0] {
        assert_eq!(text(&mut clients[node], &format!("CLUSTER SETSLOT 5061 NODE {}", ids[1])), "+OK");
    }
    assert_eq!(text(&mut clients[2], &format!("GET {KEY}")), moved_to(&topology, 1), "it was told at once");
    text(&mut clients[4], "READONLY");
    assert_eq!(text(&mut clients[4], &format!("GET {KEY}")), "\"v\"");
    assert_eq!(text(&mut clients[3], "DBSIZE"), ":0");
}

#[test]
fn every_node_knows_a_moved_slot_at_once() {
    let (_topology, mut clients) = cluster(Duration::ZERO);
    let id = |client: &mut Client| text(client, "CLUSTER MYID").trim_matches('"').to_owned();
    let [from, to] = [id(&mut clients[0]), id(&mut clients[1])];
    for slot in 0..3 {
        assert_eq!(text(&mut clients[1], &format!("CLUSTER SETSLOT {slot} IMPORTING {from}")), "+OK");
        assert_eq!(text(&mut clients[0], &format!("CLUSTER SETSLOT {slot} MIGRATING {to}")), "+OK");
        assert_eq!(text(&mut clients[1], &format!("CLUSTER SETSLOT {slot} NODE {to}")), "+OK");
        for client in &mut clients {
            let nodes = text(client, "CLUSTER NODES");
            let moved = if slot == 0 { " 0 5461-".to_owned() } else { format!(" 0-{slot} 5461-") };
            assert!(nodes.contains(&moved), "slot {slot}: {nodes}");
        }
    }
}

/// A cluster with a history whose first node gives the slot of [`KEY`] to the second, and its clients.
fn moving() -> (Topology, Vec<Client>) {
    let builder = ours::builder().time(Time::Manual).lock_history(true).cluster(3, 0);
    let topology = builder.start().expect("they start");
    let mut clients: Vec<Client> =
        topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    let ids: Vec<String> =
        clients.iter_mut().map(|client| text(client, "CLUSTER MYID").trim_matches('"').to_owned()).collect();
    text(&mut clients[0], "LOCK.ACQUIRE {bar}l alice PX 600000");
    assert_eq!(text(&mut clients[1], &format!("CLUSTER SETSLOT 5061 IMPORTING {}", ids[0])), "+OK");
    assert_eq!(text(&mut clients[0], &format!("CLUSTER SETSLOT 5061 MIGRATING {}", ids[1])), "+OK");
    (topology, clients)
}

fn migrate(topology: &Topology, client: &mut Client, keys: &str) {
    let port = topology.servers()[1].port();
    assert_eq!(text(client, &format!("MIGRATE 127.0.0.1 {port} \"\" 0 1000 KEYS {keys}")), "+OK");
}

#[test]
fn a_waiter_for_a_migrated_key_is_redirected_like_a_new_request() {
    let (topology, mut clients) = moving();
    let connect = || Client::connect(topology.servers()[0].addr());
    let [mut blocked, mut other, mut by_ticket] = [(); 3].map(|()| connect());
    blocked.send_line("LOCK.ACQUIRE {bar}l bob PX 600000 BLOCK 60000");
    other.send_line("LOCK.ACQUIRE {bar}l carol PX 600000 BLOCK 60000");
    while text(&mut clients[0], "AWAIT.BLOCKED 2") != ":1" {}
    by_ticket.line("HELLO 3");
    let ticket = text(&mut by_ticket, "LOCK.ACQUIRE {bar}l dora PX 600000 ASYNC BLOCK 60000");
    assert!(ticket.contains("QUEUED"), "{ticket}");
    migrate(&topology, &mut clients[0], "{bar}l");
    let ask = format!("-ASK 5061 {}", topology.servers()[1].addr());
    assert_eq!(blocked.read_reply().to_string(), ask);
    assert_eq!(other.read_reply().to_string(), ask);
    let told = by_ticket.read_push().to_string();
    assert!(told.contains(&ask[1..]), "{told}");
    assert_eq!(text(&mut blocked, "LOCK.ACQUIRE {bar}l bob PX 600000 BLOCK 60000"), ask);
    text(&mut clients[1], "ASKING");
    assert!(text(&mut clients[1], "LOCK.INFO {bar}l").contains("alice"));
}

#[test]
fn migrating_a_lock_is_no_bare_habit() {
    let (topology, mut clients) = moving();
    migrate(&topology, &mut clients[0], "{bar}l");
    assert!(text(&mut clients[2], "LOCK.HISTORY").contains("migrate"));
    let verdict = text(&mut clients[2], "LOCK.VERIFY");
    assert!(!verdict.contains("bare"), "{verdict}");
}

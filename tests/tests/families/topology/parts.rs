//! The roles of a topology's servers: a reset affects all together, and all know the roles at once. A partition of
//! nodes also blocks MIGRATE.

use crate::topology::sentinels::{field, master_port_of, text, watched};
use lockwheel::{Time, Topology};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;

/// A key of the first master.
const KEY: &str = "{bar}k";

/// Three masters and a replica of each, and a client of each.
fn cluster() -> (Topology, Vec<Client>) {
    let topology = ours::builder().time(Time::Manual).cluster(3, 1).start().expect("they start");
    let clients = clients_of(&topology);
    (topology, clients)
}

fn clients_of(topology: &Topology) -> Vec<Client> {
    topology.servers().iter().map(|server| Client::connect(server.addr())).collect()
}

fn ids(clients: &mut [Client]) -> Vec<String> {
    clients.iter_mut().map(|client| text(client, "CLUSTER MYID").trim_matches('"').to_owned()).collect()
}

/// All have their initial roles, and serve all slots.
fn assert_at_start(topology: &Topology) {
    let mut clients = clients_of(topology);
    for _ in 0..2 {
        for (at, client) in clients.iter_mut().enumerate() {
            let role = text(client, "ROLE");
            assert!(role.starts_with(if at < 3 { "[\"master\"" } else { "[\"slave\"" }), "{at}: {role}");
            let info = text(client, "CLUSTER INFO");
            assert!(info.contains("cluster_state:ok") && info.contains("cluster_size:3"), "{at}: {info}");
        }
        let slots = text(&mut clients[1], "CLUSTER SLOTS");
        assert!(slots.contains("[:0, :5460, "), "{slots}");
        assert_eq!(text(&mut clients[0], &format!("SET {KEY} v")), "+OK");
        text(&mut clients[3], "READONLY");
        assert_eq!(text(&mut clients[3], &format!("GET {KEY}")), "\"v\"");
        text(&mut clients[1], "CLOCK.ADVANCE 20000");
    }
}

#[test]
fn resets_in_any_order_restore_the_roles_after_a_failover() {
    for order in [[0, 1, 2, 3, 4, 5], [3, 0, 5, 4, 2, 1]] {
        let (topology, mut clients) = cluster();
        text(&mut clients[0], &format!("SET {KEY} old"));
        assert_eq!(text(&mut clients[3], "CLUSTER FAILOVER"), "+OK");
        for node in order {
            assert_eq!(text(&mut clients_of(&topology)[node], "CONTROL.RESET"), "+OK");
        }
        assert_at_start(&topology);
    }
}

#[test]
fn a_reset_of_one_node_restores_the_roles_of_all() {
    for node in 0..6 {
        let (topology, mut clients) = cluster();
        text(&mut clients[0], &format!("SET {KEY} old"));
        text(&mut clients[2], "SET a stays");
        assert_eq!(text(&mut clients[3], "CLUSTER FAILOVER"), "+OK");
        assert_eq!(text(&mut clients[node], "CONTROL.RESET"), "+OK");
        // The node that was reset has lost its data; the others keep theirs.
        let [first, other] = [(0, format!("GET {KEY}")), (2, "GET a".to_owned())]
            .map(|(at, line)| text(&mut Client::connect(topology.servers()[at].addr()), &line));
        assert_eq!(first, if node == 0 { "(nil)" } else { "\"old\"" }, "{node}");
        assert_eq!(other, if node == 2 { "(nil)" } else { "\"stays\"" }, "{node}");
        assert_at_start(&topology);
    }
}

/// The first server is the master of the next two, and the sentinels behind these watch it.
fn assert_watched_at_start(topology: &Topology) {
    let mut clients = clients_of(topology);
    let port = topology.servers()[0].port();
    for _ in 0..2 {
        assert!(text(&mut clients[0], "ROLE").starts_with("[\"master\""));
        for replica in &mut clients[1..3] {
            let role = text(replica, "ROLE");
            assert!(role.contains(&format!(":{port}, \"connected\"")), "{role}");
        }
        for sentinel in &mut clients[3..] {
            assert_eq!(master_port_of(sentinel), port);
            assert_eq!(field(&sentinel.line("SENTINEL MASTER mymaster"), "num-slaves"), "2");
        }
        let value = text(&mut clients[0], "GET k");
        assert_eq!(text(&mut clients[2], "GET k"), value);
        text(&mut clients[1], "CLOCK.ADVANCE 60000");
    }
}

#[test]
fn a_reset_of_one_server_restores_the_roles_with_sentinels() {
    let by_sentinels: fn(&mut [Client]) = |clients| {
        assert_eq!(text(&mut clients[4], "SENTINEL FAILOVER mymaster"), "+OK");
        text(&mut clients[0], "CLOCK.ADVANCE 20000");
    };
    let unfinished: fn(&mut [Client]) = |clients| {
        assert_eq!(text(&mut clients[4], "SENTINEL FAILOVER mymaster"), "+OK");
        text(&mut clients[0], "CLOCK.ADVANCE 300");
    };
    let by_fault: fn(&mut [Client]) = |clients| assert_eq!(text(&mut clients[0], "FAULT.FAILOVER 2"), "+OK");
    let by_hand: fn(&mut [Client]) = |clients| assert_eq!(text(&mut clients[1], "REPLICAOF NO ONE"), "+OK");
    for (seed, fail_over) in (1..).zip([by_sentinels, unfinished, by_fault, by_hand]) {
        for server in 0..3 {
            let (topology, mut clients) = watched(seed);
            text(&mut clients[0], "SET k v");
            fail_over(&mut clients);
            assert_eq!(text(&mut clients_of(&topology)[server], "CONTROL.RESET"), "+OK");
            let value = text(&mut Client::connect(topology.servers()[0].addr()), "GET k");
            assert_eq!(value, if server == 0 { "(nil)" } else { "\"v\"" }, "{server}");
            assert_watched_at_start(&topology);
            let verdict = text(&mut clients_of(&topology)[0], "LOCK.VERIFY");
            assert!(verdict.contains("\"ok\""), "{verdict}");
        }
    }
}

/// A master and two replicas on one manual clock, and a client of each.
fn replicas() -> (Topology, Vec<Client>) {
    let topology = ours::builder().time(Time::Manual).replicas(2).start().expect("they start");
    let clients = clients_of(&topology);
    (topology, clients)
}

#[test]
fn a_failover_that_waits_ends_with_the_reset_of_another_server() {
    // The server that fails over, its target, and whether a short wait must suffice.
    for (master, heir, words) in
        [(0, 1, " FORCE TIMEOUT 50"), (0, 1, " TIMEOUT 60000"), (1, 0, " TIMEOUT 60000")]
    {
        let (topology, mut clients) = replicas();
        if master == 1 {
            assert_eq!(text(&mut clients[2], "FAULT.FAILOVER 1"), "+OK");
            clients = clients_of(&topology);
        }
        text(&mut clients[2], "FAULT.PARTITION NODES 0 FROM 1");
        assert_eq!(text(&mut clients[master], "SET a 1"), "+OK");
        let to = topology.servers()[heir].port();
        assert_eq!(text(&mut clients[master], &format!("FAILOVER TO 127.0.0.1 {to}{words}")), "+OK");
        text(&mut clients[2], "CLOCK.ADVANCE 300");
        assert_eq!(text(&mut clients[2], "CONTROL.RESET"), "+OK");
        let mut clients = clients_of(&topology);
        assert_eq!(text(&mut clients[0], "SET b 2"), "+OK", "{master} {words}");
        text(&mut clients[0], "CLOCK.ADVANCE 5000");
        assert_eq!(text(&mut clients[0], "WAIT 2 0"), ":2", "{master} {words}");
        assert!(text(&mut clients[0], "INFO replication").contains("master_failover_state:no-failover"));
        assert_eq!(text(&mut clients[1], "GET b"), "\"2\"");
    }
}

#[test]
fn a_reset_without_the_first_master_changes_no_role() {
    let (topology, mut clients) = replicas();
    assert_eq!(text(&mut clients[0], "FAULT.FAILOVER 1"), "+OK");
    Client::connect(topology.servers()[0].addr()).send_line("SHUTDOWN NOSAVE");
    let mut other = Client::connect(topology.servers()[1].addr());
    while text(&mut other, "CLOCK.ADVANCE 1").is_empty()
        || !lockwheel_tests::client::is_refused(topology.servers()[0].addr())
    {}
    let mut last = Client::connect(topology.servers()[2].addr());
    assert_eq!(text(&mut last, "CONTROL.RESET"), "+OK");
    let mut master = Client::connect(topology.servers()[1].addr());
    assert_eq!(text(&mut master, "SET a 2"), "+OK");
}

#[test]
fn a_server_missed_by_a_reset_does_not_undo_later_changes() {
    let (topology, mut clients) = watched(5);
    let names = |topology: &Topology| -> Vec<u16> {
        topology
            .sentinels()
            .iter()
            .map(|sentinel| master_port_of(&mut Client::connect(sentinel.addr())))
            .collect()
    };
    clients[2].send_line("EVAL \"while true do end\" 0");
    let mut killer = Client::connect(topology.servers()[2].addr());
    while !text(&mut killer, "PING").starts_with("-BUSY") {}
    assert_eq!(text(&mut clients[0], "CONTROL.RESET"), "+OK");
    assert_eq!(text(&mut clients[0], "FAULT.FAILOVER 1"), "+OK");
    let port = topology.servers()[1].port();
    assert_eq!(names(&topology), [port; 3]);
    assert_eq!(text(&mut killer, "SCRIPT KILL"), "+OK");
    let mut master = Client::connect(topology.servers()[1].addr());
    assert_eq!(text(&mut master, "SET k v"), "+OK");
    assert_eq!(text(&mut master, "WAIT 2 0"), ":2");
    assert_eq!(names(&topology), [port; 3]);
}

#[test]
fn the_first_reset_moves_slots_back() {
    let (topology, mut clients) = cluster();
    let ids = ids(&mut clients);
    for client in &mut clients[..3] {
        assert_eq!(text(client, &format!("CLUSTER SETSLOT 5061 NODE {}", ids[1])), "+OK");
    }
    assert_eq!(text(&mut clients[1], &format!("SET {KEY} there")), "+OK");
    for node in 0..6 {
        assert_eq!(text(&mut clients_of(&topology)[node], "CONTROL.RESET"), "+OK");
        let size = text(&mut Client::connect(topology.servers()[1].addr()), "DBSIZE");
        assert_eq!(size, ":0", "a key of another's slot");
    }
    assert_at_start(&topology);
}

/// A refused message is lost: its connection ends, and the next one asks anew.
#[test]
fn a_returned_node_that_refused_messages_is_not_failed_for_ever() {
    let (topology, mut clients) = cluster();
    assert_eq!(text(&mut clients[0], "FAULT.ADD refuses ON cluster DO ERROR \"ERR a rule says so\""), "+OK");
    assert_eq!(text(&mut clients[1], "FAULT.DOWN 0"), "+OK");
    text(&mut clients[1], "CLOCK.ADVANCE 40000");
    assert!(text(&mut clients[1], "CLUSTER NODES").contains("master,fail"));
    assert_eq!(text(&mut clients[1], "FAULT.UP 0"), ":1");
    (0..3).for_each(|_| _ = text(&mut clients[1], "CLOCK.ADVANCE 1000"));
    let mut clients = clients_of(&topology);
    assert_eq!(text(&mut clients[0], "FAULT.CLEAR"), ":1");
    // Nobody is silent meanwhile, as in one long advance: no connection times out.
    (0..60).for_each(|_| _ = text(&mut clients[0], "CLOCK.ADVANCE 1000"));
    for client in &mut clients {
        let nodes = text(client, "CLUSTER NODES");
        assert!(!nodes.contains("fail") && !nodes.contains("disconnected"), "{nodes}");
    }
}

#[test]
fn a_failover_and_its_reversal_are_complete_when_answered() {
    let (_topology, mut clients) = cluster();
    for (heir, other) in [(3, 0), (0, 3)] {
        assert_eq!(text(&mut clients[heir], "CLUSTER FAILOVER"), "+OK");
        let ids = ids(&mut clients);
        for client in &mut clients {
            let nodes = text(client, "CLUSTER NODES");
            let line = nodes.split("\\n").find(|line| line.contains(&format!("{} 127", ids[other])));
            assert!(line.expect("it is known").contains("slave"), "{nodes}");
        }
        assert!(text(&mut clients[heir], "ROLE").starts_with("[\"master\""));
        assert!(text(&mut clients[other], "ROLE").starts_with("[\"slave\""));
    }
}

#[test]
fn a_shard_message_reaches_subscribers_of_the_old_master() {
    let (topology, mut clients) = cluster();
    assert_eq!(text(&mut clients[3], "CLUSTER FAILOVER"), "+OK");
    let mut listening = Client::connect_resp3(topology.servers()[0].addr());
    listening.send_line("SSUBSCRIBE {bar}c");
    listening.read_push();
    text(&mut clients[3], "SPUBLISH {bar}c hello");
    assert!(listening.read_push().to_string().contains("hello"));
}

#[test]
fn migrate_fails_to_a_partitioned_server() {
    let (topology, mut clients) = cluster();
    let ids = ids(&mut clients);
    let port = topology.servers()[1].port();
    text(&mut clients[0], &format!("SET {KEY} v"));
    text(&mut clients[1], &format!("CLUSTER SETSLOT 5061 IMPORTING {}", ids[0]));
    text(&mut clients[0], "FAULT.PARTITION NODES 1");
    let line = format!("MIGRATE 127.0.0.1 {port} {KEY} 0 1000");
    assert_eq!(text(&mut clients[0], &line), "-IOERR error or timeout connecting to the client");
    assert_eq!(text(&mut clients[0], "DBSIZE"), ":1");
    text(&mut clients[0], "FAULT.HEAL");
    assert_eq!(text(&mut clients[0], &line), "+OK");
    assert_eq!(text(&mut clients[1], "DBSIZE"), ":1");
}

//! Nodes that exchange messages: they meet, redis-cli creates a cluster of them, they fail, and they take over.

use crate::cluster::nodes::{fresh_directory, node_config, redis_cli, start_node, until_ok};
use lockwheel::Server;
use lockwheel_tests::client::Client;
use std::path::PathBuf;

/// Nodes that know nobody, and a client of each.
struct Nodes {
    servers: Vec<Option<Server>>,
    directories: Vec<PathBuf>,
    clients: Vec<Client>,
}

/// The silence after which a node of these tests may count as failed, in milliseconds: long enough for a slow machine.
const TIMEOUT_MS: i64 = 3000;

impl Nodes {
    fn start(count: usize, password: &str) -> Nodes {
        let mut nodes = Nodes { servers: Vec::new(), directories: Vec::new(), clients: Vec::new() };
        for _ in 0..count {
            let directory = fresh_directory();
            let mut config = node_config(0, &directory);
            config.cluster.node_timeout = TIMEOUT_MS;
            // This port for nodes is only announced: nobody listens there.
            config.cluster.port = 1;
            config.requirepass = password.as_bytes().to_vec();
            config.replication.masterauth = config.requirepass.clone();
            config.seed = Some(nodes.servers.len() as u64);
            let server = lockwheel::Server::builder().config(config).start().expect("any port will do");
            let mut client = Client::connect(server.addr());
            if !password.is_empty() {
                client.line(&format!("AUTH {password}"));
            }
            nodes.clients.push(client);
            nodes.servers.push(Some(server));
            nodes.directories.push(directory);
        }
        nodes
    }

    fn port(&self, at: usize) -> u16 {
        self.servers[at].as_ref().expect("it runs").port()
    }

    fn text(&mut self, at: usize, line: &str) -> String {
        self.clients[at].line(line).to_string()
    }

    /// Waits until a node's answer meets a condition.
    fn until(&mut self, at: usize, line: &str, holds: impl Fn(&str) -> bool) -> String {
        loop {
            let answer = self.text(at, line);
            if holds(&answer) {
                return answer;
            }
            std::thread::yield_now();
        }
    }

    fn id(&mut self, at: usize) -> String {
        self.text(at, "CLUSTER MYID").trim_matches('"').to_owned()
    }

    /// The first node meets all others, and each third of the slots has a master.
    fn make_cluster(&mut self, replicas: usize) {
        for (at, slots) in ["0 5460", "5461 10922", "10923 16383"].iter().enumerate() {
            assert_eq!(self.text(at, &format!("CLUSTER ADDSLOTSRANGE {slots}")), "+OK");
            self.text(at, &format!("CLUSTER SET-CONFIG-EPOCH {}", at + 1));
        }
        let all = 3 + replicas;
        for other in 1..all {
            let port = self.port(other);
            assert_eq!(self.text(0, &format!("CLUSTER MEET 127.0.0.1 {port}")), "+OK");
        }
        for at in 0..all {
            self.until(at, "CLUSTER INFO", |info| {
                info.contains(&format!("cluster_known_nodes:{all}"))
                    && info.contains("cluster_slots_assigned:16384")
            });
            self.until(at, "CLUSTER NODES", |nodes| !nodes.contains("handshake"));
        }
        for replica in 3..all {
            let master = self.id(replica % 3);
            assert_eq!(self.text(replica, &format!("CLUSTER REPLICATE {master}")), "+OK");
            self.until(replica, "INFO replication", |info| info.contains("master_link_status:up"));
        }
        for at in 0..all {
            until_ok(&mut self.clients[at]);
            self.until(at, "CLUSTER NODES", |nodes| nodes.matches("slave").count() == replicas);
        }
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.servers.clear();
        for directory in &self.directories {
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

#[test]
fn a_node_that_meets_one_node_learns_of_all_and_replicates() {
    for password in ["", "secret"] {
        let mut nodes = Nodes::start(4, password);
        nodes.make_cluster(1);
        assert_eq!(nodes.text(0, "SET {bar}k v"), "+OK");
        nodes.text(3, "READONLY");
        nodes.until(3, "GET {bar}k", |answer| answer == "\"v\"");
        let moved = format!("-MOVED 5061 127.0.0.1:{}", nodes.port(0));
        assert_eq!(nodes.text(3, "SET {bar}k v"), moved);
        nodes.text(3, "READWRITE");
        assert_eq!(nodes.text(3, "GET {bar}k"), moved);
        // Each node creates its own links, some later than others.
        nodes.until(0, "CLUSTER LINKS", |links| {
            (links.matches("\"to\"").count(), links.matches("\"from\"").count()) == (3, 3)
        });
        let other = nodes.id(1);
        assert_eq!(nodes.text(0, &format!("CLUSTER COUNT-FAILURE-REPORTS {other}")), ":0");
    }
}

#[test]
fn redis_cli_makes_a_cluster_with_replicas() {
    let mut nodes = Nodes::start(6, "");
    let addresses: Vec<String> = (0..6).map(|at| format!("127.0.0.1:{}", nodes.port(at))).collect();
    let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
    let options = ["--cluster", "create", "--cluster-yes", "--cluster-replicas", "1"];
    let Some((content, text)) = redis_cli(&[&options[..], &addresses].concat()) else { return };
    assert!(content && text.contains("All 16384 slots covered."), "{text}");
    for at in 0..6 {
        until_ok(&mut nodes.clients[at]);
        nodes.until(at, "CLUSTER NODES", |nodes| nodes.matches("slave").count() == 3);
    }
    let (content, text) = redis_cli(&["--cluster", "check", addresses[4]]).expect("it is there");
    assert!(content && text.contains("1 additional replica(s)"), "{text}");
    for at in 3..6 {
        nodes.until(at, "INFO replication", |info| info.contains("master_link_status:up"));
    }
}

#[test]
fn a_replica_takes_over_on_request() {
    let mut nodes = Nodes::start(4, "");
    nodes.make_cluster(1);
    nodes.text(0, "SET {bar}k v");
    assert_eq!(nodes.text(3, "CLUSTER FAILOVER"), "+OK");
    nodes.until(3, "ROLE", |role| role.contains("master"));
    let moved = format!("-MOVED 5061 127.0.0.1:{}", nodes.port(3));
    for other in 0..3 {
        nodes.until(other, "GET {bar}k", |answer| answer == moved);
    }
    assert_eq!(nodes.text(3, "GET {bar}k"), "\"v\"");
    nodes.until(0, "INFO replication", |info| info.contains("master_link_status:up"));
    assert_eq!(nodes.text(3, "SET {bar}k after"), "+OK");
    nodes.text(0, "READONLY");
    nodes.until(0, "GET {bar}k", |answer| answer == "\"after\"");
    // The way back, by takeover without a vote.
    assert_eq!(nodes.text(0, "CLUSTER FAILOVER TAKEOVER"), "+OK");
    nodes.until(3, "ROLE", |role| role.contains("slave"));
    assert_eq!(nodes.text(0, "GET {bar}k"), "\"after\"");
}

#[test]
fn a_replica_replaces_a_lost_master_which_returns_as_a_replica() {
    let mut nodes = Nodes::start(4, "");
    nodes.make_cluster(1);
    nodes.text(0, "SET {bar}k v");
    nodes.until(3, "DBSIZE", |keys| keys == ":1");
    let (id, port) = (nodes.id(0), nodes.port(0));
    nodes.servers[0] = None;
    nodes.until(3, "ROLE", |role| role.contains("master"));
    assert_eq!(nodes.text(3, "GET {bar}k"), "\"v\"");
    let moved = format!("-MOVED 5061 127.0.0.1:{}", nodes.port(3));
    for other in 1..3 {
        nodes.until(other, "GET {bar}k", |answer| answer == moved);
        let line = nodes.until(other, "CLUSTER NODES", |nodes| nodes.contains("master,fail "));
        assert!(line.contains(&format!("{id} 127.0.0.1:{port}")), "{line}");
    }
    // The node comes back with the contents of its file.
    let file = std::fs::read_to_string(nodes.directories[0].join("nodes.conf")).expect("it was written");
    let directory = fresh_directory();
    let mut config = node_config(0, &directory);
    config.cluster.port = 1;
    config.cluster.node_timeout = TIMEOUT_MS;
    let again = start_node(config, &file).expect("any port will do");
    let mut client = Client::connect(again.addr());
    while !client.line("ROLE").to_string().contains("slave") {}
    while !client.line("INFO replication").to_string().contains("master_link_status:up") {}
    nodes.until(1, "CLUSTER NODES", |nodes| !nodes.contains("fail"));
    client.line("READONLY");
    assert_eq!(client.line("GET {bar}k").to_string(), "\"v\"");
    nodes.directories.push(directory);
}

#[test]
fn messages_reach_all_nodes_and_shard_messages_their_shard() {
    let mut nodes = Nodes::start(4, "");
    nodes.make_cluster(1);
    for at in 1..4 {
        nodes.text(at, "SUBSCRIBE news");
    }
    assert_eq!(nodes.text(0, "PUBLISH news hello"), ":0");
    for at in 1..4 {
        assert_eq!(nodes.clients[at].read_frame().to_string(), "[\"message\", \"news\", \"hello\"]");
    }
    nodes.text(3, "UNSUBSCRIBE news");
    nodes.text(3, "SSUBSCRIBE {bar}c");
    nodes.text(0, "SPUBLISH {bar}c mine");
    assert_eq!(nodes.clients[3].read_frame().to_string(), "[\"smessage\", \"{bar}c\", \"mine\"]");
}

#[test]
fn a_forgotten_node_is_not_added_again() {
    let mut nodes = Nodes::start(4, "");
    nodes.make_cluster(0);
    let port = nodes.port(3);
    nodes.text(0, &format!("CLUSTER MEET 127.0.0.1 {port}"));
    for at in 0..3 {
        nodes.until(at, "CLUSTER INFO", |info| info.contains("cluster_known_nodes:4"));
    }
    let id = nodes.id(3);
    for at in 0..3 {
        assert_eq!(nodes.text(at, &format!("CLUSTER FORGET {id}")), "+OK");
    }
    nodes.text(3, "CLUSTER RESET HARD");
    for at in 0..3 {
        assert!(nodes.text(at, "CLUSTER INFO").contains("cluster_known_nodes:3"));
    }
    assert_ne!(nodes.id(3), id);
    assert!(nodes.text(3, "CLUSTER INFO").contains("cluster_known_nodes:1"));
}

#[test]
fn malformed_gossip_messages_are_refused() {
    let mut nodes = Nodes::start(1, "");
    let refused = "-ERR Invalid message of a node";
    for message in [&b""[..], b"\x01", b"\x02abc", &[1; 5000]] {
        let answer = nodes.clients[0].cmd(&[&b"CLUSTER"[..], b"GOSSIP", message]).to_string();
        assert_eq!(answer, refused);
    }
    assert_eq!(nodes.text(0, "ACL SETUSER u on nopass +cluster -@admin"), "+OK");
    nodes.text(0, "AUTH u x");
    assert!(nodes.text(0, "CLUSTER GOSSIP x").starts_with("-NOPERM"));
}

//! Addresses that are announced at run time, as behind mapped ports, compared with redis-server.

use lockwheel_tests::shapes::{Cluster, Make, Replicated, until};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;

/// A port that a replica announces.
const ANNOUNCED: &str = "7999";

/// Opens the outer port of a mapped port: its connections reach `inner`, for as long as the test runs.
fn mapped_port(inner: SocketAddr) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let port = listener.local_addr().expect("it listens").port();
    thread::spawn(move || {
        for outer in listener.incoming().map_while(Result::ok) {
            let Ok(inner) = TcpStream::connect(inner) else { continue };
            for (from, to) in [(&outer, &inner), (&inner, &outer)] {
                let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else { continue };
                // The end of one side ends the other.
                thread::spawn(move || {
                    let _has_ended = io::copy(&mut from, &mut to);
                    let _has_ended = to.shutdown(std::net::Shutdown::Both);
                });
            }
        }
    });
    port
}

/// Returns the view of two nodes on a cluster whose first node has begun to announce another port and a name.
fn view_of_announced_node(make: Make) -> Option<Vec<String>> {
    let cluster = Cluster::start(make, 0)?;
    let mapped = mapped_port(cluster.nodes()[0].addr());
    let mut first = cluster.client(0);
    for set in
        [format!("cluster-announce-port {mapped}"), "cluster-announce-hostname node.example".to_owned()]
    {
        assert_eq!(first.line(&format!("CONFIG SET {set}")).to_string(), "+OK", "{set}");
    }
    let knows = |node: usize| {
        let nodes = cluster.nodes()[node].says("CLUSTER NODES");
        nodes.contains(&format!(":{mapped}@"))
            && nodes.contains("node.example")
            && !nodes.contains("disconnected")
    };
    until("all know the address", || (0..3).all(knows));
    let mut told = Vec::new();
    for node in [0, 1] {
        for line in ["CLUSTER NODES", "CLUSTER SLOTS", "CLUSTER SHARDS", "GET bar", "GET foo"] {
            let text = cluster.nodes()[node].says(line);
            let text = text.replace(&mapped.to_string(), "MAPPED");
            told.push(format!("{node} {line}: {}", masked(&text, &cluster.ports())));
        }
    }
    Some(told)
}

/// A text without the parts that differ each time: ports, times, offsets, the order of nodes.
fn masked(text: &str, ports: &[u16]) -> String {
    let mut text = text.to_owned();
    for (at, port) in ports.iter().enumerate() {
        text = text.replace(&(port + 10_000).to_string(), &format!("BUS{at}"));
        text = text.replace(&port.to_string(), &format!("PORT{at}"));
    }
    if text.contains("connected") {
        let line = |line: &str| {
            let mut words: Vec<&str> = line.split(' ').collect();
            words[4..7].fill("n");
            words.join(" ")
        };
        let mut lines: Vec<String> = text.lines().map(line).collect();
        lines.sort_unstable();
        return lines.join("\n");
    }
    let mut shards: Vec<String> =
        text.split("[\"slots\"").map(|shard| shard.trim_end_matches(", ").to_owned()).collect();
    shards.sort_unstable();
    shards.iter().map(|shard| without_offset(shard)).collect::<Vec<_>>().join("\n")
}

/// A shard without the offset of its node, and without the end that depends on its position.
fn without_offset(shard: &str) -> String {
    match shard.split_once("\"replication-offset\", :") {
        Some((before, after)) => format!("{before}{}", after.split_once(", ").map_or("", |(_, rest)| rest)),
        None => shard.to_owned(),
    }
    .trim_end_matches(']')
    .to_owned()
}

#[test]
fn a_node_with_an_announced_address_is_shown_as_by_redis_server() {
    let Some(expected) = view_of_announced_node(Make::Redis) else { return };
    let told = view_of_announced_node(Make::Ours).expect("it is ours");
    assert!(expected[1].contains("MAPPED") && expected[8].contains("MOVED"), "{expected:#?}");
    for (ours, real) in told.iter().zip(&expected) {
        assert_eq!(ours, real);
    }
}

/// Returns a master's view on a replica that begins to announce another address: at once, after a reconnect, and after
/// its promotion.
fn view_of_announced_replica(make: Make) -> Option<Vec<String>> {
    let servers = Replicated::start(make, 1)?;
    let [master, replica] = servers.servers() else { unreachable!("there are two") };
    let port = replica.port().to_string();
    let line = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split(",state=").next().unwrap_or_default().replace(&port, "PORT")
    };
    let mut told = Vec::new();
    let mut note = |what: &str| {
        told.push(format!("{what}: {}", line(&master.says("INFO replication"), "slave0")));
        let role = master.says("ROLE").replace(&port, "PORT");
        let is_first = |text: &&str| text.contains("PORT") || text.contains(ANNOUNCED);
        told.push(
            role.split("[[")
                .filter(is_first)
                .map(|one| one.split(", \"").take(2).collect::<Vec<_>>().join(", "))
                .collect(),
        );
    };
    for set in ["replica-announce-ip localhost", "replica-announce-port 7999"] {
        assert_eq!(replica.says(&format!("CONFIG SET {set}")), "OK", "{set}");
    }
    servers.settle(0);
    note("at once");
    let come_again = |shown: &str| {
        assert_eq!(replica.says("CLIENT KILL TYPE master"), ":1");
        until("it has come again", || {
            master.says("INFO replication").contains(&format!("slave0:ip={shown},state=online"))
        });
    };
    come_again("localhost,port=7999");
    note("again");
    assert_eq!(replica.says("CONFIG SET replica-announce-port 0"), "OK");
    come_again(&format!("localhost,port={port}"));
    servers.settle(0);
    assert_eq!(master.says(&format!("FAILOVER TO localhost {port} TIMEOUT 20000")), "OK");
    until("it follows", || master.says("INFO replication").contains("master_link_status:up"));
    let info = master.says("INFO replication");
    told.extend(["master_host", "master_port"].map(|name| line(&info, name)));
    Some(told)
}

#[test]
fn a_replica_with_an_announced_address_is_shown_as_by_redis_server() {
    let Some(expected) = view_of_announced_replica(Make::Redis) else { return };
    assert!(expected[2].contains("localhost,port=7999"), "{expected:#?}");
    assert_eq!(view_of_announced_replica(Make::Ours).expect("it is ours"), expected);
}

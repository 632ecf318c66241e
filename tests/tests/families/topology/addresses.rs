//! The addresses of a topology's servers for clients: on IPv6 if they listen on nothing else, or the announced ones.

use lockwheel::{Builder, Config, Server, Time};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use std::net::{Ipv6Addr, TcpListener};

/// Servers that listen on IPv6 alone. `None` on a machine without IPv6.
fn on_ipv6() -> Option<Builder> {
    TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).ok()?;
    let mut config = Config::default();
    (config.bind, config.port) = (vec!["::1".to_owned()], 0);
    Some(Server::builder().config(config))
}

#[test]
fn a_cluster_on_ipv6_redirects_clients_to_ipv6() {
    let Some(builder) = on_ipv6() else { return };
    let topology = builder.cluster(3, 1).start().expect("it starts");
    let [first, _, third, ..] = topology.servers() else { panic!("there are six") };
    assert_eq!(third.addr().ip(), Ipv6Addr::LOCALHOST);
    let mut client = Client::connect(first.addr());
    let moved = format!("-MOVED 12182 ::1:{}", third.port());
    assert_eq!(client.line("GET foo").to_string(), moved);
    let slots = client.line("CLUSTER SLOTS").to_string();
    assert!(slots.contains("::1") && !slots.contains("127.0.0.1"), "{slots}");
    let nodes = client.line("CLUSTER NODES").to_string();
    assert_eq!(nodes.matches(" ::1:").count(), 6, "{nodes}");
    assert_eq!(Client::connect(third.addr()).line("SET foo 1").to_string(), "+OK");
    // A write reaches the replica before its reply.
    let replica = &topology.servers()[5];
    let mut replica = Client::connect(replica.addr());
    assert_eq!(replica.line("READONLY").to_string(), "+OK");
    assert_eq!(replica.line("GET foo").to_string(), "\"1\"");
}

#[test]
fn a_sentinel_on_ipv6_names_a_master_on_ipv6() {
    let Some(builder) = on_ipv6() else { return };
    let topology = builder.sentinels(3).replicas(2).start().expect("it starts");
    let master = &topology.servers()[0];
    let mut sentinel = Client::connect(topology.sentinels()[0].addr());
    let ask = |sentinel: &mut Client| sentinel.line("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster").to_string();
    let told = ask(&mut sentinel);
    assert!(told.contains("::1") && told.contains(&master.port().to_string()), "{told}");
    let info = Client::connect(topology.servers()[1].addr()).line("INFO replication").to_string();
    assert!(info.contains("master_host:::1") && info.contains("master_link_status:up"), "{info}");
    // Another master is found there too.
    let mut replica = Client::connect(topology.servers()[1].addr());
    assert_eq!(replica.line("FAULT.FAILOVER 1").to_string(), "+OK");
    let told_now = ask(&mut sentinel);
    assert!(told_now.contains("::1") && told_now != told, "{told_now}");
}

/// An address for documentation, which no machine has: only traffic within the process reaches its server.
const OUTSIDE: &str = "203.0.113.7";

#[test]
fn a_cluster_redirects_clients_to_announced_ports() {
    let mut config = Config::default();
    config.port = 0;
    (config.cluster.announce_ip, config.cluster.announce_port) = (OUTSIDE.to_owned(), 7100);
    config.cluster.announce_bus_port = 17_100;
    let topology = Server::builder().config(config).cluster(3, 1).start().expect("it starts");
    let [first, _, third, ..] = topology.servers() else { panic!("there are six") };
    let mut client = Client::connect(first.addr());
    assert_eq!(client.line("GET foo").to_string(), format!("-MOVED 12182 {OUTSIDE}:7102"));
    for request in ["CLUSTER NODES", "CLUSTER SLOTS", "CLUSTER SHARDS"] {
        let told = client.line(request).to_string();
        assert!(told.contains(OUTSIDE) && !told.contains("127.0.0.1"), "{request}: {told}");
        assert!((7100..7106).all(|port| told.contains(&port.to_string())), "{request}: {told}");
    }
    let nodes = client.line("CLUSTER NODES").to_string();
    assert!(nodes.contains(&format!("{OUTSIDE}:7105@17105 ")), "{nodes}");
    assert!(client.line("CLUSTER INFO").to_string().contains("cluster_state:ok"));
    assert_eq!(Client::connect(third.addr()).line("SET foo 1").to_string(), "+OK");
    let mut replica = Client::connect(topology.servers()[5].addr());
    assert_eq!(replica.line("READONLY").to_string(), "+OK");
    assert_eq!(replica.line("GET foo").to_string(), "\"1\"");
    let info = replica.line("INFO replication").to_string();
    assert!(info.contains(&format!("master_host:{OUTSIDE}")) && info.contains("master_port:7102"), "{info}");
}

#[test]
fn sentinels_find_replicas_at_announced_addresses() {
    let mut config = Config::default();
    config.port = 0;
    (config.replication.announce_ip, config.replication.announce_port) = (OUTSIDE.to_owned(), 7200);
    let topology = Server::builder().config(config).sentinels(3).replicas(2).start().expect("it starts");
    let mut sentinel = Client::connect(topology.sentinels()[0].addr());
    let told = sentinel.line("SENTINEL REPLICAS mymaster").to_string();
    for port in [7201, 7202] {
        assert!(told.contains(&format!("{OUTSIDE}:{port}")), "{told}");
    }
    assert!(!told.contains("s_down") && !told.contains("disconnected"), "{told}");
    assert_eq!(Client::connect(topology.servers()[0].addr()).line("WAIT 2 1000").to_string(), ":2");
}

#[test]
fn a_topology_with_invalid_announced_ports_is_refused() {
    type Set = fn(&mut Config, u16);
    let of_nodes: [(Set, u16); 4] = [
        (|config, port| config.cluster.announce_port = port, 6),
        (|config, port| config.cluster.announce_tls_port = port, 6),
        (|config, port| config.cluster.announce_bus_port = port, 6),
        (|config, port| (config.cluster.announce_port, config.port) = (7100, port), 6),
    ];
    for (set, servers) in of_nodes {
        let mut config = Config::default();
        config.port = 0;
        set(&mut config, u16::MAX - servers + 2);
        let refused =
            Server::builder().config(config).cluster(3, 1).start().expect_err("there are none left");
        assert!(refused.to_string().contains("behind 65535"), "{refused}");
    }
    for (port, starts) in [(65_533, true), (65_534, false)] {
        let mut config = Config::default();
        config.port = 0;
        (config.replication.announce_ip, config.replication.announce_port) = (OUTSIDE.to_owned(), port);
        let started = Server::builder().config(config).sentinels(3).replicas(2).start();
        assert_eq!(started.is_ok(), starts, "{port}");
    }
}

/// A server begins to announce another address.
fn announce(client: &mut Client, kind: &str, port: u16) {
    for set in [format!("{kind}-announce-ip {OUTSIDE}"), format!("{kind}-announce-port {port}")] {
        assert_eq!(client.line(&format!("CONFIG SET {set}")).to_string(), "+OK", "{set}");
    }
}

#[test]
fn an_address_announced_by_a_running_node_is_used() {
    let builder = ours::builder().time(Time::Manual);
    let topology = builder.cluster(3, 1).start().expect("it starts");
    let mut clients: Vec<Client> =
        topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    announce(&mut clients[2], "cluster", 7102);
    announce(&mut clients[5], "cluster", 7105);
    assert!(!clients[0].line("CLOCK.ADVANCE 5000").is_error());
    let (moved_to_2, moved_to_5) = [7102, 7105].map(|port| format!("-MOVED 12182 {OUTSIDE}:{port}")).into();
    assert_eq!(clients[0].line("GET foo").to_string(), moved_to_2);
    for request in ["CLUSTER NODES", "CLUSTER SLOTS", "CLUSTER SHARDS"] {
        let told = clients[1].line(request).to_string();
        assert!([OUTSIDE, "7102", "7105"].iter().all(|word| told.contains(word)), "{request}: {told}");
    }
    let info = clients[5].line("INFO replication").to_string();
    let shown = [&format!("master_host:{OUTSIDE}"), "master_port:7102", "master_link_status:up"];
    assert!(shown.iter().all(|word| info.contains(*word)), "{info}");
    assert_eq!(clients[2].line("SET foo 1").to_string(), "+OK");
    clients[5].line("READONLY");
    assert_eq!(clients[5].line("GET foo").to_string(), "\"1\"");
    assert_eq!(clients[0].line(&format!("FAULT.FAILOVER {OUTSIDE}:7105")).to_string(), "+OK");
    assert!(!clients[0].line("CLOCK.ADVANCE 5000").is_error());
    assert_eq!(clients[0].line("GET foo").to_string(), moved_to_5);
    assert_eq!(clients[0].line(&format!("FAULT.DOWN {OUTSIDE}:7105")).to_string(), "+OK");
    assert!(!clients[0].line("CLOCK.ADVANCE 60000").is_error());
    assert_eq!(clients[0].line("GET foo").to_string(), moved_to_2);
}

#[test]
fn an_address_announced_by_a_running_replica_survives_a_failover() {
    let builder = ours::builder().time(Time::Manual);
    let topology = builder.sentinels(3).replicas(2).start().expect("it starts");
    let mut clients: Vec<Client> =
        topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    for (replica, port) in [(1, 7201), (2, 7202)] {
        announce(&mut clients[replica], "replica", port);
        assert_eq!(clients[replica].line("CLIENT KILL TYPE master").to_string(), ":1");
    }
    // Sentinels poll a master every ten seconds.
    assert!(!clients[0].line("CLOCK.ADVANCE 20000").is_error());
    let role = clients[0].line("ROLE").to_string();
    let told = clients[3].line("SENTINEL REPLICAS mymaster").to_string();
    for port in [7201, 7202] {
        assert!(role.contains(&format!("\"{OUTSIDE}\", \"{port}\"")), "{role}");
        assert!(told.contains(&format!("{OUTSIDE}:{port}")), "{told}");
    }
    for (asked, replica, port, other) in [(0, 1, 7201, 2), (2, 2, 7202, 1)] {
        assert_eq!(clients[asked].line(&format!("FAULT.FAILOVER {OUTSIDE}:{port}")).to_string(), "+OK");
        assert!(clients[replica].line("ROLE").to_string().contains("\"master\""), "{port}");
        for sentinel in &mut clients[3..] {
            let named = sentinel.line("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster").to_string();
            assert_eq!(named, format!("[\"{OUTSIDE}\", \"{port}\"]"));
        }
        let mut other = Client::connect(topology.servers()[other].addr());
        let role = other.line("ROLE").to_string();
        assert!(role.contains(&format!("\"slave\", \"{OUTSIDE}\", :{port}, \"connected\"")), "{role}");
    }
    // They also find a master that they have replaced themselves.
    let mut old = Client::connect(topology.servers()[0].addr());
    assert_eq!(old.line(&format!("FAULT.DOWN {OUTSIDE}:7202")).to_string(), "+OK");
    assert!(!old.line("CLOCK.ADVANCE 120000").is_error());
    let named =
        Client::connect(topology.servers()[3].addr()).line("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster");
    assert!(!named.to_string().contains("7202"), "{named}");
}

#[test]
fn an_address_announced_by_a_running_sentinel_is_used() {
    let builder = ours::builder().time(Time::Manual);
    let topology = builder.sentinels(3).replicas(1).start().expect("it starts");
    let mut master = Client::connect(topology.servers()[0].addr());
    let mut sentinels: Vec<Client> =
        topology.sentinels().iter().map(|sentinel| Client::connect(sentinel.addr())).collect();
    let port = |sentinel: usize| 7300 + sentinel;
    for (place, sentinel) in sentinels.iter_mut().enumerate() {
        for set in [format!("announce-port {}", port(place)), format!("announce-ip {OUTSIDE}")] {
            assert_eq!(sentinel.line(&format!("SENTINEL CONFIG SET {set}")).to_string(), "+OK", "{set}");
        }
    }
    assert!(!master.line("CLOCK.ADVANCE 60000").is_error());
    for (place, sentinel) in sentinels.iter_mut().enumerate() {
        let told = sentinel.line("SENTINEL SENTINELS mymaster").to_string();
        for other in (0..3).filter(|other| *other != place) {
            let address = format!("\"ip\", \"{OUTSIDE}\", \"port\", \"{}\"", port(other));
            assert!(told.contains(&address), "{told}");
        }
        assert!(!told.contains("s_down") && !told.contains("disconnected"), "{told}");
        let agreed = "+OK 3 usable Sentinels. Quorum and failover authorization can be reached";
        assert_eq!(sentinel.line("SENTINEL CKQUORUM mymaster").to_string(), agreed);
    }
    // Faults name the servers by these addresses, and sentinels agree that a master is down.
    assert_eq!(master.line(&format!("FAULT.DOWN {OUTSIDE}:{}", port(2))).to_string(), "+OK");
    assert!(!master.line("CLOCK.ADVANCE 60000").is_error());
    let told = sentinels[0].line("SENTINEL SENTINELS mymaster").to_string();
    assert_eq!(told.matches("s_down").count(), 1, "{told}");
    let named =
        |sentinel: &mut Client| sentinel.line("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster").to_string();
    let before = named(&mut sentinels[0]);
    assert_eq!(master.line("FAULT.DOWN 0").to_string(), "+OK");
    let mut replica = Client::connect(topology.servers()[1].addr());
    assert!(!replica.line("CLOCK.ADVANCE 120000").is_error());
    assert_ne!(named(&mut sentinels[0]), before);
    assert_eq!(named(&mut sentinels[0]), named(&mut sentinels[1]));
}

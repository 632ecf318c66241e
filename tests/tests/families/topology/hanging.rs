//! Servers of a topology that hang: the others continue without them, as without a process that hangs.

use crate::topology::sentinels::{master_port_of, text};
use lockwheel::{Config, Time, Topology, TopologyBuilder};
use lockwheel_engine::config::Permission;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::shapes::until;
#[cfg(unix)]
use std::io::{BufRead, BufReader, Write};
#[cfg(unix)]
use std::os::unix::net::UnixStream;

/// Far longer than any test: such a sleep ends with its server.
const SLEEP: &str = "DEBUG SLEEP 3600";

const ENDLESS: &str = "EVAL \"while true do end\" 0";

/// Servers of a shape in real time or on a manual clock, each with this number of threads, and a client of each.
fn started(
    time: Time,
    threads: usize,
    shape: impl Fn(lockwheel::Builder) -> TopologyBuilder,
) -> (Topology, Vec<Client>) {
    let mut config = Config::default();
    (config.enable_debug_command, config.time, config.busy_reply_threshold) = (Permission::Yes, time, 20);
    let builder = ours::configured(config).threads(threads);
    let topology = shape(builder).start().expect("they start");
    let clients = topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    (topology, clients)
}

fn client(topology: &Topology, place: usize) -> Client {
    Client::connect(topology.servers()[place].addr())
}

/// Waits until replicas acknowledge nothing more: they hang by then.
fn await_hang(master: &mut Client, replicas: usize) {
    let mut written = 0;
    let acknowledged = format!("WAIT {replicas} 20");
    let all = format!(":{replicas}");
    loop {
        written += 1;
        text(master, &format!("SET written {written}"));
        if text(master, &acknowledged) != all {
            return;
        }
    }
}

#[test]
fn sentinels_replace_a_hanging_master_on_an_advanced_clock() {
    for threads in [1, 2, 4] {
        for hang in [SLEEP, ENDLESS] {
            let (topology, mut clients) =
                started(Time::Manual, threads, |builder| builder.sentinels(3).replicas(2));
            let old = topology.servers()[0].port();
            clients[0].send_line(hang);
            while master_port_of(&mut clients[3]) == old {
                assert!(!clients[4].line("CLOCK.ADVANCE 10000").is_error());
            }
            let new = master_port_of(&mut clients[3]);
            let place = topology.servers().iter().position(|server| server.port() == new);
            let mut master = client(&topology, place.expect("it is one of them"));
            assert_eq!(text(&mut master, "SET k v"), "+OK");
        }
    }
}

#[test]
fn sentinels_replace_a_hanging_master_on_a_running_clock() {
    for (threads, hang) in [(1, SLEEP), (2, ENDLESS)] {
        let (topology, mut clients) =
            started(Time::Real, threads, |builder| builder.sentinels(3).replicas(1));
        for sentinel in &mut clients[2..] {
            assert_eq!(text(sentinel, "SENTINEL SET mymaster down-after-milliseconds 500"), "+OK");
        }
        let old = topology.servers()[0].port();
        clients[0].send_line(hang);
        while master_port_of(&mut clients[2]) == old {}
        while text(&mut client(&topology, 1), "SET k v") != "+OK" {}
    }
}

#[test]
fn a_master_follows_its_successor_after_it_stops_hanging() {
    let (topology, mut clients) = started(Time::Manual, 2, |builder| builder.sentinels(3).replicas(1));
    let old = topology.servers()[0].port();
    clients[0].send_line(ENDLESS);
    while master_port_of(&mut clients[2]) == old {
        clients[3].line("CLOCK.ADVANCE 10000");
    }
    assert_eq!(text(&mut client(&topology, 1), "SET k v"), "+OK");
    assert_eq!(text(&mut client(&topology, 0), "SCRIPT KILL"), "+OK");
    // The old master catches up with the time and the data of the others.
    let time = text(&mut client(&topology, 1), "TIME");
    while text(&mut client(&topology, 0), "TIME") != time {}
    while text(&mut client(&topology, 0), "GET k") != "\"v\"" {
        clients[3].line("CLOCK.ADVANCE 10000");
    }
}

#[test]
fn hanging_servers_do_not_block_the_others() {
    for (threads, time) in [(1, Time::Real), (2, Time::Manual), (4, Time::Real)] {
        let (_topology, mut clients) = started(time, threads, |builder| builder.replicas(3));
        assert_eq!(text(&mut clients[0], "WAIT 3 0"), ":3");
        clients[1].send_line(SLEEP);
        clients[2].send_line(ENDLESS);
        if time == Time::Real {
            await_hang(&mut clients[0], 3);
            assert_eq!(text(&mut clients[0], "BLPOP none 0.05"), "(nil)");
            text(&mut clients[0], "SET lease v PX 20");
            while text(&mut clients[0], "GET lease") != "(nil)" {}
        }
        // A server that does not hang has each write.
        text(&mut clients[0], "SET k w");
        while text(&mut clients[3], "GET k") != "\"w\"" {}
    }
}

#[test]
fn a_server_that_stops_hanging_has_all_writes() {
    let (topology, mut clients) = started(Time::Manual, 2, |builder| builder.replicas(2));
    text(&mut clients[0], "SET lease v PX 1000");
    clients[2].send_line(ENDLESS);
    while !text(&mut client(&topology, 2), "GET k").starts_with("-BUSY") {}
    for value in 0..100 {
        text(&mut clients[0], &format!("RPUSH l {value}"));
    }
    assert_eq!(text(&mut clients[1], "LLEN l"), ":100");
    text(&mut clients[0], "CLOCK.ADVANCE 1000");
    assert_eq!(text(&mut client(&topology, 2), "SCRIPT KILL"), "+OK");
    assert!(clients[2].read_reply().is_error());
    assert_eq!(text(&mut clients[2], "LLEN l"), ":100");
    assert_eq!(text(&mut clients[2], "EXISTS lease"), ":0");
    assert_eq!(text(&mut clients[2], "TIME"), text(&mut clients[0], "TIME"));
}

#[test]
fn a_hanging_server_can_be_killed_partitioned_and_replaced() {
    let (topology, mut clients) = started(Time::Manual, 2, |builder| builder.replicas(3));
    clients[1].send_line(SLEEP);
    clients[2].send_line(ENDLESS);
    while !text(&mut client(&topology, 2), "GET k").starts_with("-BUSY") {}
    for place in [1, 2] {
        assert_eq!(text(&mut clients[0], &format!("FAULT.DOWN {place}")), "+OK");
        // Earlier requests may be answered, as when a process is killed.
        clients[place].read_to_close();
        assert_eq!(text(&mut clients[0], &format!("FAULT.UP {place}")), ":1");
    }
    clients[0].send_line(ENDLESS);
    while !text(&mut client(&topology, 0), "GET k").starts_with("-BUSY") {}
    assert_eq!(text(&mut clients[3], "FAULT.PARTITION NODES 0 FROM 1"), ":1");
    assert_eq!(text(&mut clients[3], "FAULT.FAILOVER 3"), "+OK");
    let mut new = client(&topology, 3);
    assert_eq!(text(&mut new, "SET k v"), "+OK");
    // Healing waits for the server that hangs.
    new.send_line("FAULT.HEAL");
    assert_eq!(text(&mut client(&topology, 0), "SCRIPT KILL"), "+OK");
    assert_eq!(new.read_reply().to_string(), ":1");
    assert_eq!(text(&mut client(&topology, 0), "GET k"), "\"v\"");
    assert!(text(&mut client(&topology, 0), "SET k w").starts_with("-READONLY"));
}

/// Such a sleep begins in the exchange between all servers, and does not block it.
#[test]
fn a_sleep_that_begins_during_an_advance_hangs_only_its_server() {
    let (topology, mut clients) = started(Time::Manual, 1, |builder| builder.replicas(2));
    assert_eq!(text(&mut clients[1], "FAULT.ADD late ON debug DO DELAY 100"), "+OK");
    clients[1].send_line(SLEEP);
    assert_eq!(text(&mut client(&topology, 1), "AWAIT.HELD late 1"), ":1");
    assert!(!clients[0].line("CLOCK.ADVANCE 200").is_error());
    await_hang_on_turned_clock(&mut clients);
    assert_eq!(text(&mut clients[0], "FAULT.DOWN 1"), "+OK");
    clients[1].read_to_close();
}

/// Only a unix socket accepts a client so early.
#[cfg(unix)]
#[test]
fn a_server_that_hangs_at_the_start_joins_the_topology() {
    let directory = std::env::temp_dir().join(format!("lockwheel-hangs-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("it can be made");
    let path = directory.join("socket");
    let socket = path.clone();
    let early = std::thread::spawn(move || {
        let connected = || loop {
            if let Ok(stream) = UnixStream::connect(&socket) {
                return BufReader::new(stream);
            }
        };
        let ask = |stream: &mut BufReader<UnixStream>, line: &str| {
            let mut told = String::new();
            stream.get_mut().write_all(format!("{line}\r\n").as_bytes()).expect("it is connected");
            stream.read_line(&mut told).expect("it answers");
            told
        };
        let (mut early, mut beside) = (connected(), connected());
        early.get_mut().write_all(format!("{ENDLESS}\r\n").as_bytes()).expect("it is connected");
        // The wait gives the others time to begin.
        for _ in 0..1000 {
            while !ask(&mut beside, "PING").starts_with("-BUSY") {}
        }
        assert_eq!(ask(&mut beside, "SCRIPT KILL"), "+OK\r\n");
    });
    let mut config = Config::default();
    config.unixsocket = path.to_str().expect("it is text").to_owned();
    config.port_file = directory.join("port").to_str().expect("it is text").to_owned();
    (config.time, config.busy_reply_threshold) = (Time::Manual, 20);
    let topology = ours::configured(config).threads(2).sentinels(3).replicas(2).start().expect("they start");
    early.join().expect("its script has ended");
    let mut master = client(&topology, 0);
    // A killed script ends a little later.
    until("its script has ended", || !text(&mut master, "PING").starts_with("-BUSY"));
    assert_eq!(text(&mut master, "SET k v"), "+OK");
    assert_eq!(text(&mut master, "WAIT 2 0"), ":2");
    assert_eq!(text(&mut client(&topology, 1), "FAULT.DOWN 0 KEEP"), "+OK");
    assert_eq!(text(&mut client(&topology, 2), "FAULT.UP 0"), ":1");
    drop(topology);
    let _removed = std::fs::remove_dir_all(&directory);
}

/// The reply contains the results of the other servers, and names the missing one.
#[test]
fn the_history_is_read_without_a_hanging_server() {
    for threads in [1, 2, 4] {
        for hang in [SLEEP, ENDLESS] {
            let (topology, mut clients) =
                started(Time::Manual, threads, |builder| builder.lock_history(true).replicas(2));
            assert!(!clients[0].line("LOCK.ACQUIRE lock o PX 1000").is_error());
            assert!(text(&mut clients[0], "LOCK.VERIFY").contains("\"ok\""));
            clients[2].send_line(hang);
            await_hang_on_turned_clock(&mut clients);
            let verdict = text(&mut clients[1], "LOCK.VERIFY");
            let address = topology.servers()[2].addr();
            assert!(verdict.contains(&format!("servers that hang is missing: {address}\"")), "{verdict}");
            assert!(verdict.contains("\"inconclusive\""), "{verdict}");
            assert!(text(&mut clients[1], "LOCK.HISTORY").contains("acquired"));
            assert_eq!(text(&mut clients[0], "FAULT.DOWN 2 KEEP"), "+OK");
            let verdict = text(&mut clients[1], "LOCK.VERIFY");
            assert!(verdict.contains("\"ok\""), "{verdict}");
        }
    }
}

/// A hanging node of a cluster is replaced; meanwhile waits end and keys expire at the other nodes in time.
#[test]
fn a_hanging_master_of_a_cluster_is_replaced_on_a_running_clock() {
    for (threads, hang) in [(1, SLEEP), (2, ENDLESS), (4, SLEEP)] {
        let (topology, mut clients) = started(Time::Real, threads, |builder| builder.cluster(3, 1));
        for client in &mut clients {
            assert_eq!(text(client, "CONFIG SET cluster-node-timeout 1000"), "+OK");
        }
        // The slot of `{foo}` is the third master's, that of `{bar}` the first's.
        clients[2].send_line(hang);
        text(&mut clients[0], "SET {bar}lease v PX 20");
        assert_eq!(text(&mut clients[0], "BLPOP {bar}none 0.05"), "(nil)");
        while text(&mut clients[0], "GET {bar}lease") != "(nil)" {}
        while text(&mut clients[5], "SET {foo}k v") != "+OK" {}
        let address = topology.servers()[5].addr().to_string();
        while !text(&mut clients[0], "GET {foo}k").ends_with(&address) {}
    }
}

/// Waits until one replica lacks a write that the other has.
fn await_hang_on_turned_clock(clients: &mut [Client]) {
    loop {
        text(&mut clients[0], "INCR n");
        let told = text(&mut clients[0], "INFO replication");
        let mut offsets = told.split(',').filter_map(|field| field.strip_prefix("offset="));
        if offsets.next() != offsets.next() {
            return;
        }
    }
}

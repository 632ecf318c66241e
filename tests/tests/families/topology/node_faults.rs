//! Servers of a topology that are killed, restarted, isolated and promoted.

use crate::topology::manual;
use crate::topology::sentinels::{field, master_port_of, text, watched};
use lockwheel::{Direction, GrantNumbers, Reply, Time, Topology};
use lockwheel_tests::client::{Client, is_refused};
use lockwheel_tests::ours;
use lockwheel_tests::shapes::until;
use std::time::Duration;

const READ_ONLY: &str = "-READONLY You can't write against a read only replica.";

fn client(topology: &Topology, place: usize) -> Client {
    Client::connect(topology.servers()[place].addr())
}

/// Requires that the client was disconnected, without another byte.
fn assert_closed(client: &mut Client) {
    assert_eq!(client.read_to_close(), b"");
}

/// The events of a sentinel during a failover, without addresses, and the index of the new master.
fn failover_of(seed: u64) -> (Vec<String>, usize) {
    let (topology, mut clients) = watched(seed);
    clients[4].line("PSUBSCRIBE *");
    assert_eq!(text(&mut clients[1], "FAULT.DOWN 0"), "+OK");
    clients[3].line("CLOCK.ADVANCE 60000");
    let new = master_port_of(&mut clients[3]);
    let mut events = Vec::new();
    clients[4].send_line("PING");
    loop {
        let frame = clients[4].read_frame();
        let words = frame.into_elements().expect("a frame");
        let word = |at: usize| String::from_utf8_lossy(words[at].as_bytes().unwrap_or_default()).into_owned();
        if word(0) == "pong" {
            break;
        }
        events.push(format!("{} {}", word(2), word(3)));
    }
    let place = topology.servers().iter().position(|server| server.port() == new).expect("it is one of them");
    (events, place)
}

#[test]
fn sentinels_replace_a_master_that_is_down() {
    let (topology, mut clients) = watched(5);
    clients[0].line("SET k v");
    assert_eq!(text(&mut clients[1], "FAULT.DOWN 0"), "+OK");
    clients[3].line("CLOCK.ADVANCE 29000");
    assert_eq!(master_port_of(&mut clients[3]), topology.servers()[0].port(), "it is not down long enough");
    clients[3].line("CLOCK.ADVANCE 20000");
    let new = master_port_of(&mut clients[3]);
    let place = topology.servers().iter().position(|server| server.port() == new).expect("it is one of them");
    assert!(place == 1 || place == 2);
    assert!((3..6).all(|sentinel| master_port_of(&mut clients[sentinel]) == new));
    // A sentinel disconnects the clients of servers whose role it changes.
    let (mut master, mut replica) = (client(&topology, place), client(&topology, 3 - place));
    assert_eq!(text(&mut master, "SET k w"), "+OK");
    assert_eq!(text(&mut replica, "GET k"), "\"w\"");
    assert_eq!(text(&mut replica, "SET k x"), READ_ONLY);

    // The old master comes back as a master, and is made a replica.
    assert_eq!(text(&mut master, "FAULT.UP 0"), ":1");
    assert_eq!(text(&mut client(&topology, 0), "GET k"), "(nil)");
    clients[3].line("CLOCK.ADVANCE 30000");
    let mut old = client(&topology, 0);
    assert_eq!(text(&mut old, "GET k"), "\"w\"");
    assert_eq!(text(&mut old, "SET k x"), READ_ONLY);
}

#[test]
fn a_failover_is_the_same_with_the_same_seed() {
    let first = failover_of(6);
    assert!(first.0.iter().any(|text| text.starts_with("+switch-master mymaster ")), "{first:?}");
    let again = failover_of(6);
    // Ports are assigned by the system.
    let shape = |events: &[String]| {
        let is_port = |word: &str| word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_digit());
        let words = |text: &String| {
            text.split(' ')
                .map(|word| if is_port(word) { "port" } else { word })
                .collect::<Vec<_>>()
                .join(" ")
        };
        events
            .iter()
            .map(words)
            .map(|text| text.split(':').next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!((shape(&first.0), first.1), (shape(&again.0), again.1));
}

#[test]
fn a_killed_server_comes_back_empty_at_its_instant() {
    let (topology, mut clients) = manual();
    clients[0].line("SET k v");
    assert_eq!(text(&mut clients[1], "FAULT.DOWN 0 500"), "+OK");
    assert_closed(&mut clients[0]);
    assert!(is_refused(topology.servers()[0].addr()));
    // The replica has its former data.
    assert_eq!(text(&mut clients[1], "GET k"), "\"v\"");
    assert!(text(&mut clients[1], "INFO replication").contains("master_link_status:down"));
    clients[1].line("CLOCK.ADVANCE 499");
    assert!(is_refused(topology.servers()[0].addr()));
    clients[1].line("CLOCK.ADVANCE 1");
    let mut back = client(&topology, 0);
    assert_eq!(text(&mut back, "DBSIZE"), ":0");
    // The replicas of a real master that saves nothing also take over its empty data.
    assert_eq!(text(&mut clients[1], "DBSIZE"), ":0");
    back.line("SET k w");
    assert_eq!(text(&mut clients[2], "GET k"), "\"w\"");
}

#[test]
fn a_client_may_kill_its_own_server() {
    let (_topology, mut clients) = manual();
    let address = clients[1].peer();
    assert_eq!(text(&mut clients[1], &format!("FAULT.DOWN {address}")), "+OK");
    assert_closed(&mut clients[1]);
    assert_eq!(text(&mut clients[0], "WAIT 1 0"), ":1");
    assert_eq!(text(&mut clients[0], "FAULT.UP 1"), ":1");
    assert_eq!(text(&mut clients[0], "FAULT.UP 1"), ":0");
    clients[0].line("SET k v");
    assert_eq!(text(&mut clients[0], "WAIT 2 0"), ":2");
}

#[test]
fn a_replica_comes_back_as_a_replica() {
    let (topology, mut clients) = manual();
    clients[0].line("SET k v");
    clients[0].line("FAULT.DOWN 2");
    clients[0].line("SET k w");
    clients[0].line("FAULT.UP 2");
    let mut back = client(&topology, 2);
    assert_eq!(text(&mut back, "GET k"), "\"w\"");
    assert_eq!(text(&mut back, "SET k x"), READ_ONLY);
}

#[test]
fn two_masters_answer_while_they_are_cut_off() {
    let (topology, mut clients) = watched(8);
    // The old master and its clients are on one side, all others on the other.
    assert_ne!(text(&mut clients[0], "FAULT.PARTITION NODES 0"), ":0");
    clients[0].line("SET lock first NX PX 600000");
    clients[3].line("CLOCK.ADVANCE 60000");
    let new = master_port_of(&mut clients[3]);
    let place = topology.servers().iter().position(|server| server.port() == new).expect("it is one of them");
    assert_ne!(place, 0);
    assert_eq!(text(&mut client(&topology, place), "SET lock second NX PX 600000"), "+OK");
    assert_eq!(text(&mut clients[0], "GET lock"), "\"first\"");
    assert_eq!(text(&mut clients[0], "SET still here"), "+OK");
    // One of them gives in as soon as they meet again.
    assert_eq!(text(&mut clients[0], "FAULT.HEAL"), ":1");
    clients[3].line("CLOCK.ADVANCE 60000");
    let mut old = client(&topology, 0);
    assert_eq!(text(&mut old, "GET lock"), "\"second\"");
    assert_eq!(text(&mut old, "EXISTS still"), ":0");
}

#[test]
fn writes_held_by_a_partition_arrive_after_healing() {
    let (_topology, mut clients) = manual();
    assert_eq!(text(&mut clients[0], "FAULT.PARTITION NODES 0 FROM 1"), ":1");
    clients[0].line("SET k v");
    assert_eq!(text(&mut clients[1], "GET k"), "(nil)");
    assert_eq!(text(&mut clients[2], "GET k"), "\"v\"");
    assert_eq!(text(&mut clients[2], "FAULT.HEAL"), ":1");
    assert_eq!(text(&mut clients[1], "GET k"), "\"v\"");
}

/// The second server runs an endless script, and is isolated from its clients except this one.
fn cut_off_in_a_script(topology: &Topology, clients: &mut [Client]) -> Client {
    assert_eq!(text(&mut clients[1], "CONFIG SET busy-reply-threshold 20"), "+OK");
    let mut exempt = client(topology, 1);
    assert_eq!(text(&mut exempt, "FAULT.EXEMPT"), "+OK");
    assert_eq!(text(&mut clients[1], "FAULT.PARTITION NODES 1 FROM CLIENTS"), ":0");
    clients[1].send_line("EVAL \"while true do end\" 0");
    while !text(&mut exempt, "GET k").starts_with("-BUSY") {}
    exempt
}

/// Nobody could kill the script before. Healing involves all servers, so it would have waited for the script for ever.
#[test]
fn a_script_on_a_server_without_clients_can_be_killed_after_healing() {
    let (topology, mut clients) = manual();
    let _exempt = cut_off_in_a_script(&topology, &mut clients);
    clients[0].send_line("FAULT.HEAL");
    // The request before it has been processed, then.
    assert_eq!(text(&mut client(&topology, 0), "PING"), "+PONG");
    assert_eq!(text(&mut client(&topology, 1), "SCRIPT KILL"), "+OK");
    assert!(clients[1].read_reply().is_error());
    assert_eq!(clients[0].read_reply().to_string(), ":1");
    assert_eq!(text(&mut clients[0], "FAULT.HEAL"), ":0");
}

/// The client is spared by a restart of its server, and stays so while the server admits nobody.
#[test]
fn the_restarting_client_controls_all_servers_during_a_downtime() {
    let (topology, mut clients) = manual();
    assert_eq!(text(&mut clients[1], "FAULT.RESTART DOWN 500"), "+OK");
    assert!(is_refused(topology.servers()[1].addr()));
    for line in ["CLOCK.INFO", "LOCK.VERIFY", "FAULT.PARTITION NODES 0 FROM 2", "FAULT.HEAL"] {
        assert!(!clients[1].line(line).is_error(), "{line}");
        assert_eq!(text(&mut clients[1], "PING"), "+PONG", "{line}");
    }
    assert!(text(&mut clients[1], "CLOCK.NEXT").contains("fired"));
    assert_eq!(text(&mut client(&topology, 1), "PING"), "+PONG");
    // A client that kills its own server gets an answer, and is then disconnected.
    assert_eq!(text(&mut clients[1], "FAULT.RESTART DOWN 500"), "+OK");
    assert_eq!(text(&mut clients[1], "FAULT.DOWN 1 500"), "+OK");
    assert_closed(&mut clients[1]);
}

/// Nothing is left of the server's pending work, as with a killed process.
#[test]
fn a_server_is_killed_in_the_midst_of_a_script() {
    let (topology, mut clients) = manual();
    assert_eq!(text(&mut clients[0], "CONFIG SET busy-reply-threshold 20"), "+OK");
    clients[0].line("SET k before");
    let mut beside = client(&topology, 0);
    clients[0].send_line("EVAL \"redis.call('SET', 'k', 'after') while true do end\" 0");
    while !text(&mut beside, "GET k").starts_with("-BUSY") {}
    assert_eq!(text(&mut beside, "SCRIPT KILL").get(..11), Some("-UNKILLABLE"));
    assert_eq!(text(&mut clients[1], "FAULT.DOWN 0 500"), "+OK");
    assert_closed(&mut clients[0]);
    assert_closed(&mut beside);
    assert_eq!(text(&mut clients[1], "GET k"), "\"before\"");
    assert!(text(&mut clients[1], "CLOCK.ADVANCE 500").contains("fired"));
    let mut back = client(&topology, 0);
    back.line("SET k again");
    assert_eq!(text(&mut clients[2], "GET k"), "\"again\"");
}

/// A server whose partition was ended before its script was over has new partitions like any other.
#[test]
fn a_completed_heal_ends_no_later_partition() {
    let (topology, mut clients) = manual();
    clients[0].line("FAULT.HEAL");
    let mut exempt = cut_off_in_a_script(&topology, &mut clients);
    // An exchange that is postponed until the end of the script.
    clients[0].line("SET k v");
    assert_eq!(text(&mut exempt, "SCRIPT KILL"), "+OK");
    assert_eq!(text(&mut clients[0], "WAIT 2 0"), ":2");
    assert_eq!(text(&mut clients[0], "FAULT.HEAL"), ":1");
    assert!(clients[1].read_reply().is_error());
}

#[test]
fn servers_are_cut_off_from_their_clients() {
    let (topology, mut clients) = manual();
    clients.iter_mut().for_each(|client| assert_eq!(text(client, "PING"), "+PONG"));
    assert_eq!(text(&mut clients[0], "FAULT.PARTITION NODES 1,2 FROM CLIENTS"), ":2");
    clients[1].send_line("ECHO late");
    clients[0].line("SET k v");
    // The servers themselves continue.
    assert_eq!(text(&mut clients[0], "WAIT 2 0"), ":2");
    assert_eq!(topology.servers()[1].command(&["GET", "k"]).expect("it answers"), Reply::Text(b"v".to_vec()));
    assert_eq!(text(&mut clients[0], "FAULT.HEAL"), ":2");
    assert_eq!(clients[1].read_reply().to_string(), "\"late\"");
}

/// Two servers are down, and the last one is isolated from all clients by a client that is gone.
#[test]
fn a_new_connection_heals_servers_that_no_client_can_reach() {
    let (topology, mut clients) = manual();
    // A client that has been answered is known to the server.
    assert_eq!(text(&mut clients[2], "PING"), "+PONG");
    let mut asker = client(&topology, 2);
    for line in ["FAULT.DOWN 0", "FAULT.DOWN 1"] {
        assert_eq!(text(&mut asker, line), "+OK");
    }
    assert_eq!(text(&mut asker, "FAULT.PARTITION NODES 2 FROM CLIENTS"), ":1");
    drop(asker);
    clients[2].send_line("PING");
    let mut healer = client(&topology, 2);
    assert_eq!(text(&mut healer, "FAULT.HEAL"), ":1");
    assert_eq!(clients[2].read_reply().to_string(), "+PONG");
    for place in [0, 1] {
        assert_eq!(text(&mut healer, &format!("FAULT.UP {place}")), ":1");
        assert_eq!(text(&mut client(&topology, place), "PING"), "+PONG");
    }
}

#[test]
fn fault_failover_promotes_a_replica_without_lagging_writes() {
    let (topology, mut clients) = manual();
    clients[0].line("SET early v");
    assert_eq!(text(&mut clients[0], "FAULT.LAG 100"), "+OK");
    clients[0].line("SET lock first NX PX 10000");
    assert_eq!(text(&mut clients[0], "FAULT.FAILOVER 2"), "+OK");
    assert_eq!(text(&mut clients[0], "FAULT.LAG 0"), "+OK");
    assert_eq!(text(&mut clients[2], "SET lock second NX PX 10000"), "+OK");
    for place in [0, 1] {
        let mut other = client(&topology, place);
        assert_eq!(text(&mut other, "GET lock"), "\"second\"");
        assert_eq!(text(&mut other, "GET early"), "\"v\"");
        assert_eq!(text(&mut other, "SET k v"), READ_ONLY);
    }
}

#[test]
fn clients_of_the_old_master_are_cut_by_a_failover() {
    let (topology, mut clients) = manual();
    let mut beside = client(&topology, 0);
    // A client that has been answered is known to the server.
    for client in [&mut beside, &mut clients[0]] {
        client.line("PING");
    }
    assert_eq!(text(&mut clients[1], "FAULT.FAILOVER"), "+OK");
    assert_closed(&mut beside);
    assert_closed(&mut clients[0]);
    assert_eq!(text(&mut clients[1], "SET k v"), "+OK");
    assert_eq!(
        text(&mut clients[1], "FAULT.FAILOVER 1"),
        "-ERR the server is not a replica of a server in this topology"
    );
}

#[test]
fn replicas_get_no_write_during_an_endless_lag() {
    let (_topology, mut clients) = manual();
    clients[0].line("FAULT.LAG");
    clients[0].line("SET k v");
    clients[0].line("CLOCK.ADVANCE 1000000");
    assert_eq!(text(&mut clients[0], "CLOCK.NEXT"), "(nil)");
    assert_eq!(text(&mut clients[1], "GET k"), "(nil)");
    clients[0].line("FAULT.LAG 0");
    assert_eq!(text(&mut clients[1], "GET k"), "\"v\"");
}

#[test]
fn a_server_without_a_topology_refuses_node_faults() {
    let server = ours::builder().start().expect("it starts");
    let mut client = Client::connect(server.addr());
    let alone = "-ERR this server is not part of a topology: its process runs no other server";
    for line in ["FAULT.DOWN 0", "FAULT.UP 0", "FAULT.PARTITION NODES 0", "FAULT.LAG 5", "FAULT.FAILOVER 0"] {
        assert_eq!(text(&mut client, line), alone, "{line}");
    }
    assert_eq!(text(&mut client, "FAULT.HEAL"), ":0");
}

#[test]
fn unknown_servers_are_refused() {
    let (_topology, mut clients) = manual();
    for name in ["3", "-1", "+1", "01", "127.0.0.1:1", "127.0.0.1:+1", "x", "10.0.0.1:6379"] {
        let refused = format!(
            "-ERR there is no such server in this topology: \
             the server must be a number from 0 to 2 or host:port, not '{name}'"
        );
        assert_eq!(text(&mut clients[0], &format!("FAULT.DOWN {name}")), refused, "{name}");
        assert_eq!(text(&mut clients[0], &format!("FAULT.PARTITION NODES 0,{name}")), refused, "{name}");
    }
}

/// Nobody could send FAULT.UP, or advance the clock.
#[test]
fn the_last_running_server_cannot_be_killed() {
    let (_topology, mut clients) = manual();
    assert_eq!(text(&mut clients[2], "FAULT.DOWN 0"), "+OK");
    assert_eq!(text(&mut clients[2], "FAULT.DOWN 1 500"), "+OK");
    for line in ["FAULT.DOWN 2", "FAULT.DOWN 2 500"] {
        let refused =
            "-ERR the last running server cannot be taken down: no server would be left to bring it back";
        assert_eq!(text(&mut clients[2], line), refused, "{line}");
    }
    clients[2].line("CLOCK.RESUME");
    assert_eq!(text(&mut clients[2], "FAULT.UP 0"), ":1");
    assert_eq!(text(&mut clients[2], "FAULT.DOWN 2"), "+OK");
}

#[test]
fn a_killed_sentinel_keeps_its_settings() {
    let (topology, mut clients) = watched(9);
    clients[3].line("SENTINEL SET mymaster down-after-milliseconds 7000");
    clients[0].line("FAULT.DOWN 3");
    assert_closed(&mut clients[3]);
    clients[0].line("CLOCK.ADVANCE 40000");
    let down = text(&mut clients[4], "SENTINEL CKQUORUM mymaster");
    assert!(down.starts_with("+OK 2 usable Sentinels."), "{down}");
    clients[0].line("FAULT.UP 3");
    clients[0].line("CLOCK.ADVANCE 5000");
    let mut back = client(&topology, 3);
    let master = back.line("SENTINEL MASTER mymaster");
    let fields = ["flags", "num-slaves", "num-other-sentinels", "down-after-milliseconds"];
    assert_eq!(fields.map(|name| field(&master, name)), ["master", "2", "2", "7000"]);
    let up = text(&mut clients[4], "SENTINEL CKQUORUM mymaster");
    assert!(up.starts_with("+OK 3 usable Sentinels."), "{up}");
}

#[test]
fn the_rust_interface_causes_node_faults() {
    let topology = ours::builder().time(Time::Manual).replicas(2).start().expect("they start");
    let [master, replica, other] = topology.servers() else { panic!("three") };
    let faults = replica.faults();
    faults.lag_by(Duration::from_millis(50)).expect("it can");
    master.command(&["SET", "k", "v"]).expect("it is set");
    assert_eq!(replica.command(&["GET", "k"]).expect("it answers"), Reply::Null);
    faults.lag_by(Duration::ZERO).expect("it can");
    assert_eq!(replica.command(&["GET", "k"]).expect("it answers"), Reply::Text(b"v".to_vec()));
    assert_eq!(faults.part(&[0], Some(&[2])).expect("it can"), 1);
    assert_eq!(faults.part_from_clients(&[2], Direction::Both).expect("it can"), 0);
    assert_eq!(faults.heal().expect("it can"), 2);
    faults.down(0, None).expect("it can");
    faults.failover_to(1, GrantNumbers::GoOn).expect("it can");
    replica.command(&["SET", "k", "w"]).expect("it is a master");
    assert_eq!(other.command(&["GET", "k"]).expect("it answers"), Reply::Text(b"w".to_vec()));
    assert!(faults.up(0).expect("it can"));
    assert_eq!(master.command(&["GET", "k"]).expect("it answers"), Reply::Text(b"w".to_vec()));
}

#[test]
fn a_server_that_shuts_down_is_disconnected_from_the_others() {
    let (_topology, mut clients) = manual();
    assert_eq!(text(&mut clients[0], "WAIT 2 0"), ":2");
    clients[2].send_line("SHUTDOWN NOSAVE");
    assert_closed(&mut clients[2]);
    while !text(&mut clients[0], "INFO replication").contains("connected_slaves:1") {}
    assert_eq!(text(&mut clients[0], "FAULT.UP 2"), ":0");
    clients[0].send_line("SHUTDOWN NOSAVE");
    assert_closed(&mut clients[0]);
    while !text(&mut clients[1], "INFO replication").contains("master_link_status:down") {}
    assert_eq!(text(&mut clients[1], "REPLICAOF NO ONE"), "+OK");
    assert_eq!(text(&mut clients[1], "SET k v"), "+OK");
}

#[test]
fn a_reset_ends_downtimes_partitions_and_lags() {
    let (topology, mut clients) = manual();
    clients[0].line("FAULT.DOWN 2");
    clients[0].line("FAULT.PARTITION NODES 0 FROM 1");
    clients[0].line("FAULT.LAG");
    clients[0].line("CONTROL.RESET");
    clients[0].line("SET k v");
    for place in [1, 2] {
        assert_eq!(text(&mut client(&topology, place), "GET k"), "\"v\"");
    }
}

/// One server gives the answers that its clients are to get, and the others work normally, as in the book.
#[test]
fn a_rule_makes_a_server_answer_loading_or_masterdown() {
    let (_topology, mut clients) = manual();
    clients[0].line("SET k v");
    let loading = "LOADING Redis is loading the dataset in memory";
    let stale = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.";
    for said in [loading, stale] {
        assert_eq!(text(&mut clients[1], &format!("FAULT.ADD rule TIMES 2 DO ERROR \"{said}\"")), "+OK");
        assert_eq!(text(&mut clients[1], "GET k"), format!("-{said}"));
        assert_eq!(text(&mut clients[2], "GET k"), "\"v\"");
        assert_eq!(text(&mut clients[1], "EVAL \"return 1\" 0"), format!("-{said}"));
        assert_eq!(text(&mut clients[1], "GET k"), "\"v\"");
        clients[1].line("FAULT.CLEAR");
    }
}

#[test]
fn servers_that_all_restart_come_up_when_no_client_is_left() {
    let (topology, mut clients) = manual();
    for client in &mut clients {
        assert_eq!(text(client, "FAULT.RESTART DOWN 1000"), "+OK");
    }
    let mut last = clients.pop().expect("there are three");
    drop(clients);
    for place in 0..3 {
        assert!(is_refused(topology.servers()[place].addr()));
    }
    assert_eq!(text(&mut last, "PING"), "+PONG", "it could turn the clock");
    last.close();
    until("clients are let in", || !is_refused(topology.servers()[0].addr()));
    let mut again = client(&topology, 0);
    assert_eq!(text(&mut client(&topology, 1), "PING"), "+PONG");
    assert_eq!(text(&mut again, "SET k v"), "+OK");
    assert_eq!(text(&mut client(&topology, 1), "GET k"), "\"v\"");
}

/// The others follow it in one step each, and those behind them as before.
#[test]
fn a_promoted_replica_of_a_replica_is_the_only_master() {
    let topology = ours::builder().time(Time::Manual).replicas(3).start().expect("they start");
    let mut clients: Vec<Client> =
        topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    let ports: Vec<u16> = topology.servers().iter().map(lockwheel::Server::port).collect();
    for (server, of) in [(2, 1), (3, 1)] {
        clients[server].line(&format!("REPLICAOF 127.0.0.1 {}", ports[of]));
    }
    clients[0].line("SET k v");
    assert_eq!(clients[2].line("FAULT.FAILOVER 2").to_string(), "+OK");
    for (server, of) in [(0, Some(2)), (1, Some(2)), (2, None), (3, Some(1))] {
        let role = Client::connect(topology.servers()[server].addr()).line("ROLE").to_string();
        let is_it = match of {
            Some(of) => role.contains("slave") && role.contains(&format!(":{},", ports[of])),
            None => role.contains("master"),
        };
        assert!(is_it, "{server}: {role}");
    }
    let mut new_master = Client::connect(topology.servers()[2].addr());
    new_master.line("SET k w");
    for server in topology.servers() {
        assert_eq!(Client::connect(server.addr()).line("GET k").to_string(), "\"w\"");
    }
}

//! Servers of a topology that are down: the system refuses connections to them, and their data stay on request.

use crate::topology::sentinels::text;
use lockwheel::{Config, Time, Topology};
use lockwheel_engine::config::Permission;
use lockwheel_tests::client::{Client, is_refused};
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{find_in_path, is_wanted, skip};
use lockwheel_tests::shapes::until;
use std::process::Command;

/// A master and two replicas with this number of threads each, and a client of each.
fn started(threads: usize, time: Time) -> (Topology, Vec<Client>) {
    let topology = ours::builder().threads(threads).time(time).replicas(2).start().expect("they start");
    let clients = topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    (topology, clients)
}

fn client(topology: &Topology, place: usize) -> Client {
    Client::connect(topology.servers()[place].addr())
}

/// The output of redis-cli for a PING of a server. `None` without redis-cli.
fn printed_by_redis_cli(topology: &Topology, place: usize) -> Option<String> {
    let Some(program) = find_in_path("redis-cli").filter(|_| is_wanted("redis-cli")) else {
        skip(&["redis-cli"], "redis-cli is not installed (apt-get install redis-tools)");
        return None;
    };
    let port = topology.servers()[place].port().to_string();
    let output = Command::new(program).args(["-p", &port, "PING"]).output().expect("it runs");
    Some(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn a_server_that_is_down_refuses_connections_and_keeps_its_data() {
    for threads in [1, 2, 4] {
        for time in [Time::Manual, Time::Real] {
            let (topology, mut clients) = started(threads, time);
            assert_eq!(text(&mut clients[0], "SET k v"), "+OK");
            let loaded = text(&mut clients[0], "SCRIPT LOAD \"return 1\"");
            assert_eq!(text(&mut clients[1], "FAULT.DOWN 0 KEEP"), "+OK");
            assert_eq!(clients[0].read_to_close(), b"");
            assert!(is_refused(topology.servers()[0].addr()));
            if let Some(printed) = printed_by_redis_cli(&topology, 0) {
                assert!(printed.contains("Connection refused"), "{printed}");
            }
            assert!(text(&mut clients[1], "INFO replication").contains("master_link_status:down"));
            assert_eq!(text(&mut clients[1], "FAULT.UP 0"), ":1");
            let mut back = client(&topology, 0);
            assert_eq!(text(&mut back, "GET k"), "\"v\"");
            assert!(text(&mut back, &format!("EVALSHA {} 0", loaded.trim_matches('"'))).ends_with(":1"));
            // The replicas continue from their offset.
            assert_eq!(text(&mut back, "SET k w"), "+OK");
            assert_eq!(text(&mut back, "WAIT 2 0"), ":2");
            assert_eq!(text(&mut clients[2], "GET k"), "\"w\"");
            assert!(text(&mut back, "INFO stats").contains("sync_partial_ok:2"));
        }
    }
}

#[test]
fn a_replica_that_was_down_with_its_data_continues_at_its_offset() {
    for threads in [1, 2, 4] {
        let (topology, mut clients) = started(threads, Time::Manual);
        assert_eq!(text(&mut clients[0], "SET k v"), "+OK");
        assert_eq!(text(&mut clients[0], "FAULT.DOWN 2 500 KEEP"), "+OK");
        assert_eq!(text(&mut clients[0], "SET k w"), "+OK");
        text(&mut clients[0], "CLOCK.ADVANCE 499");
        assert!(is_refused(topology.servers()[2].addr()));
        text(&mut clients[0], "CLOCK.ADVANCE 1");
        assert_eq!(text(&mut client(&topology, 2), "GET k"), "\"w\"");
        assert!(text(&mut clients[0], "INFO stats").contains("sync_partial_ok:1"));
        // A replica likewise disconnects its own clients.
        assert_eq!(text(&mut clients[1], "FAULT.RESTART DOWN 500 KEEP"), "+OK");
        assert!(is_refused(topology.servers()[1].addr()));
        text(&mut clients[0], "CLOCK.ADVANCE 500");
        assert_eq!(text(&mut client(&topology, 1), "GET k"), "\"w\"");
        assert!(text(&mut clients[0], "INFO stats").contains("sync_partial_ok:2"));
    }
}

/// A master that continues its stream does not repeat the stream's selected database.
#[test]
fn a_replica_goes_on_in_the_database_of_the_stream() {
    let ways: [(usize, &[&str]); 4] = [
        (0, &["FAULT.DOWN 1 KEEP", "SET b y", "FAULT.UP 1"]),
        (0, &["FAULT.DOWN 1 KEEP", "FAULT.DOWN 2 KEEP", "SET b y", "FAULT.UP 2", "FAULT.UP 1"]),
        (0, &["FAULT.DOWN 1 KEEP", "SET b y", "FAULT.FAILOVER 2", "FAULT.UP 1"]),
        (1, &["FAULT.RESTART DOWN 500 KEEP", "FAULT.RESTART KEEP"]),
    ];
    for (asker, lines) in ways {
        let (topology, mut clients) = started(1, Time::Manual);
        for line in ["SELECT 1", "SET a x"] {
            assert_eq!(text(&mut clients[0], line), "+OK");
        }
        for line in lines {
            assert!(!clients[asker].line(line).is_error(), "{line}");
        }
        if asker != 0 {
            assert_eq!(text(&mut clients[0], "SET b y"), "+OK");
        }
        let mut back = client(&topology, 1);
        assert_eq!(text(&mut back, "EXISTS b"), ":0", "{lines:?}");
        assert_eq!(text(&mut back, "SELECT 1"), "+OK");
        assert_eq!(text(&mut back, "GET b"), "\"y\"", "{lines:?}");
        assert!(text(&mut back, "INFO replication").contains("role:slave"), "{lines:?}");
        let served: usize = [0, 2]
            .iter()
            .map(|place| text(&mut client(&topology, *place), "INFO stats"))
            .filter(|stats| !stats.contains("sync_partial_ok:0"))
            .count();
        assert_eq!(served, 1, "{lines:?}: it goes on where it was");
    }
}

/// The end of the script is not replicated, so the replicas need a full resynchronisation.
#[test]
fn replicas_get_the_writes_of_a_killed_script() {
    let (topology, mut clients) = started(2, Time::Manual);
    assert_eq!(text(&mut clients[0], "CONFIG SET busy-reply-threshold 20"), "+OK");
    let mut beside = client(&topology, 0);
    clients[0].send_line("EVAL \"redis.call('SET', 'k', 'half') while true do end\" 0");
    while !text(&mut beside, "GET k").starts_with("-BUSY") {}
    assert_eq!(text(&mut clients[1], "FAULT.DOWN 0 KEEP"), "+OK");
    assert_eq!(text(&mut clients[1], "FAULT.UP 0"), ":1");
    assert_eq!(text(&mut client(&topology, 0), "GET k"), "\"half\"");
    assert_eq!(text(&mut clients[1], "GET k"), "\"half\"");
}

#[test]
fn a_server_listens_again_after_its_downtime() {
    let (topology, mut clients) = started(2, Time::Real);
    assert_eq!(text(&mut clients[0], "SET k v"), "+OK");
    assert_eq!(text(&mut clients[1], "FAULT.DOWN 0 1 KEEP"), "+OK");
    until("it listens again", || !is_refused(topology.servers()[0].addr()));
    assert_eq!(text(&mut client(&topology, 0), "GET k"), "\"v\"");
}

/// The replica then behaves as at the end of the downtime.
#[test]
fn a_restart_that_ends_a_downtime_makes_a_replica_follow_again() {
    for begins in ["FAULT.RESTART DOWN 500", "FAULT.RESTART DOWN 500 KEEP"] {
        for ends in ["FAULT.RESTART KEEP", "FAULT.RESTART"] {
            let (topology, mut clients) = started(1, Time::Manual);
            assert_eq!(text(&mut clients[0], "SET k v"), "+OK");
            assert_eq!(text(&mut clients[1], begins), "+OK");
            assert!(is_refused(topology.servers()[1].addr()));
            assert_eq!(text(&mut clients[1], ends), "+OK");
            let mut back = client(&topology, 1);
            assert_eq!(text(&mut back, "GET k"), "\"v\"", "{begins}, {ends}");
            assert_eq!(text(&mut clients[0], "SET k w"), "+OK");
            assert_eq!(text(&mut back, "GET k"), "\"w\"", "{begins}, {ends}");
            let role = text(&mut back, "INFO replication");
            assert!(role.contains("role:slave") && role.contains("master_link_status:up"), "{role}");
        }
    }
}

/// A server without clients that could advance its clock becomes reachable again.
#[test]
fn a_down_server_comes_up_when_the_last_other_server_ends() {
    let mut config = Config::default();
    (config.enable_debug_command, config.time) = (Permission::Yes, Time::Manual);
    for by in [0, 1] {
        let topology = ours::configured(config.clone()).replicas(1).start().expect("they start");
        let [mut leaves, mut ends] = [by, 1 - by].map(|place| client(&topology, place));
        assert_eq!(text(&mut leaves, "FAULT.RESTART DOWN 500 KEEP"), "+OK");
        leaves.close();
        assert!(is_refused(topology.servers()[by].addr()));
        ends.send_line("SHUTDOWN NOSAVE");
        assert_eq!(ends.read_to_close(), b"");
        until("it is up", || !is_refused(topology.servers()[by].addr()));
    }
}

/// Nobody could bring it back: the process has nothing more to do.
#[test]
fn a_server_that_is_down_forever_ends_with_the_last_other_server() {
    for (time, keep) in [(Time::Manual, ""), (Time::Manual, " KEEP"), (Time::Real, "")] {
        for by in [0, 1] {
            let builder = ours::builder().time(time);
            let topology = builder.sentinels(1).replicas(1).start().expect("they start");
            let mut ends = client(&topology, by);
            assert_eq!(text(&mut ends, &format!("FAULT.DOWN {}{keep}", 1 - by)), "+OK");
            for mut ends in [ends, client(&topology, 2)] {
                ends.send_line("SHUTDOWN NOSAVE");
                assert_eq!(ends.read_to_close(), b"");
            }
            topology.wait();
        }
    }
}

/// A client can ask it for the other server when it is back.
#[test]
fn the_process_lives_until_a_down_server_with_a_deadline_is_up() {
    let (topology, mut clients) = started(1, Time::Manual);
    for line in ["FAULT.DOWN 0", "FAULT.DOWN 2 500"] {
        assert_eq!(text(&mut clients[1], line), "+OK");
    }
    clients[1].send_line("SHUTDOWN NOSAVE");
    assert_eq!(clients[1].read_to_close(), b"");
    until("it is up", || !is_refused(topology.servers()[2].addr()));
    assert_eq!(text(&mut client(&topology, 2), "FAULT.UP 0"), ":1");
    assert_eq!(text(&mut client(&topology, 0), "PING"), "+PONG");
}

/// The session of its stream is no client.
#[test]
fn a_down_replica_without_clients_comes_up_again() {
    let (topology, mut clients) = started(1, Time::Manual);
    for line in ["FAULT.DOWN 0 500", "FAULT.DOWN 2 500", "FAULT.RESTART DOWN 500 KEEP"] {
        assert_eq!(text(&mut clients[1], line), "+OK");
    }
    clients[1].send_line("QUIT");
    assert_eq!(clients[1].read_to_close(), b"+OK\r\n");
    until("it is up", || !is_refused(topology.servers()[1].addr()));
}

#[test]
fn invalid_fault_down_requests_kill_no_server() {
    let (topology, mut clients) = started(1, Time::Manual);
    for line in ["FAULT.DOWN 1 KEEP 500", "FAULT.DOWN 1 500 KEEP KEEP", "FAULT.DOWN 1 500 STAY"] {
        assert!(text(&mut clients[0], line).starts_with("-ERR"), "{line}");
        assert!(!is_refused(topology.servers()[1].addr()));
    }
}

//! The clock that the servers share.

use crate::topology::manual;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::reply::Reply;
use lockwheel_tests::shapes::until;
use std::thread;
use std::time::Duration;

fn times(clients: &mut [Client]) -> Vec<Reply> {
    clients.iter_mut().map(|client| client.line("TIME")).collect()
}

/// Makes a server accept writes, whatever it follows.
fn alone(client: &mut Client) {
    client.line("REPLICAOF NO ONE");
}

#[test]
fn every_server_can_change_the_clock_of_all() {
    let (_topology, mut clients) = manual();
    for turner in 0..3 {
        for line in ["CLOCK.ADVANCE 1500", "CLOCK.STEP -250", "CLOCK.SET 1700000000123", "CLOCK.ADVANCE 1"] {
            clients[turner].line(line);
            let times = times(&mut clients);
            assert!(times.iter().all(|time| *time == times[0]), "{line}: {times:?}");
        }
    }
    assert_eq!(clients[1].line("TIME").to_string(), "[\"1700000000\", \"124000\"]");
}

#[test]
fn deadlines_of_all_servers_fire_at_their_own_instants() {
    let (_topology, mut clients) = manual();
    clients.iter_mut().for_each(alone);
    clients[0].line("SET a v PX 300");
    clients[1].line("SET b v PX 100");
    clients[2].line("SET c v PX 200");
    let fired = |reply: Reply| reply.to_string();
    for key in ["b", "c", "a"] {
        let told = fired(clients[0].line("CLOCK.NEXT"));
        assert!(told.contains(&format!("\"{key}\"")) || told.contains(key), "{key}: {told}");
    }
    let exists: Vec<String> =
        clients.iter_mut().map(|client| client.line("EXISTS a b c").to_string()).collect();
    assert_eq!(exists, [":0", ":0", ":0"]);
}

#[test]
fn an_advance_on_one_server_ends_a_wait_on_another() {
    let (_topology, mut clients) = manual();
    clients.iter_mut().for_each(alone);
    clients[2].send_line("BLPOP q 5");
    let mut other = Client::connect(clients[2].peer());
    while other.line("AWAIT.BLOCKED 1").to_string() != ":1" {}
    clients[0].line("CLOCK.ADVANCE 5000");
    assert_eq!(clients[2].read_reply(), Reply::Null);
}

#[test]
fn scripts_and_transactions_advance_the_clock_of_all_servers() {
    let (_topology, mut clients) = manual();
    let before = clients[2].line("TIME");
    clients[1].line("EVAL \"redis.call('clock.advance', 1000) return 1\" 0");
    let after = times(&mut clients);
    assert!(after.iter().all(|time| *time == after[0] && *time != before), "{after:?}");
    clients[1].line("MULTI");
    clients[1].line("EVAL \"redis.call('clock.advance', 1000) return 1\" 0");
    clients[1].line("EXEC");
    let later = times(&mut clients);
    assert!(later.iter().all(|time| *time == later[0] && *time != after[0]), "{later:?}");
}

#[test]
fn freezing_and_resuming_apply_to_all_servers() {
    let topology = ours::builder().replicas(1).start().expect("they start");
    let mut clients: Vec<Client> =
        topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    clients[1].line("CLOCK.FREEZE");
    let stopped = times(&mut clients);
    assert_eq!(stopped[0], stopped[1]);
    assert_eq!(times(&mut clients), stopped);
    topology.handle().resume();
    while times(&mut clients)[1] == stopped[1] {}
}

#[test]
fn the_rust_interface_advances_the_clock_of_all_servers() {
    let (topology, mut clients) = manual();
    clients.iter_mut().for_each(alone);
    clients[2].line("SET k v PX 100");
    let before = topology.servers()[2].wall_ms();
    assert_eq!(topology.servers()[1].advance(Duration::from_millis(100)).expect("it is in range"), 1);
    assert!(topology.servers().iter().all(|server| server.wall_ms() == before + 100));
    assert_eq!(clients[2].line("EXISTS k").to_string(), ":0");
}

/// Many clients advance the clock at once, on all servers, while scripts run: nobody waits for ever, and all servers
/// agree at the end.
#[test]
fn many_clients_can_advance_the_clock_at_once() {
    let (topology, mut clients) = manual();
    thread::scope(|scope| {
        for server in topology.servers() {
            for turner in 0..3 {
                scope.spawn(move || {
                    let mut client = Client::connect(server.addr());
                    for turn in 0..50 {
                        match (turn + turner) % 4 {
                            0 => client.line("CLOCK.ADVANCE 7"),
                            1 => client.line(
                                "EVAL \"for i = 1, 20000 do end return redis.call('clock.step', 3)\" 0",
                            ),
                            2 => client.line("CLOCK.ADVANCE 5 SETTLE 1"),
                            _ => client.line("TIME"),
                        };
                    }
                });
            }
        }
    });
    let times = times(&mut clients);
    assert!(times.iter().all(|time| *time == times[0]), "{times:?}");
}

#[test]
fn a_slow_script_on_one_server_does_not_block_the_others() {
    let (topology, mut clients) = manual();
    clients[0].line("CONFIG SET busy-reply-threshold 20");
    clients[0].send_line("EVAL \"while true do end\" 0");
    let mut beside = Client::connect(topology.servers()[0].addr());
    while !beside.line("GET k").to_string().starts_with("-BUSY") {}
    assert_eq!(clients[1].line("ECHO here").to_string(), "\"here\"");
    // The advance waits until all clocks can be advanced.
    clients[2].send_line("CLOCK.ADVANCE 1000");
    assert_eq!(clients[1].line("ECHO here").to_string(), "\"here\"");
    beside.line("SCRIPT KILL");
    clients[0].read_reply();
    clients[2].read_reply();
    let times = times(&mut clients);
    assert!(times.iter().all(|time| *time == times[0]), "{times:?}");
}

/// The thread that advances the clock serves another server's clients. They must not be taken for those of the server
/// whose script it runs.
#[test]
fn a_script_started_by_anothers_advance_can_be_killed_on_its_server() {
    let (topology, mut clients) = manual();
    clients[1].line("CONFIG SET busy-reply-threshold 20");
    clients[1].line("FAULT.ADD late ON eval DO DELAY 1000");
    let mut beside = Client::connect(topology.servers()[1].addr());
    // The other server has no such slot.
    let mut others: Vec<Client> = (0..20).map(|_| Client::connect(topology.servers()[0].addr())).collect();
    others.iter_mut().for_each(|other| assert_eq!(other.line("PING").to_string(), "+PONG"));
    clients[1].send_line("EVAL \"while true do end\" 0");
    until("it is delayed", || {
        let reply = beside.line("AWAIT.FAULT late 1");
        assert!(!reply.is_error(), "{reply}");
        reply == Reply::Int(1)
    });
    clients[0].send_line("CLOCK.ADVANCE 1000");
    while !beside.line("GET k").to_string().starts_with("-BUSY") {}
    others.iter_mut().for_each(|other| other.send_line("ECHO here"));
    while !beside.line("GET k").to_string().starts_with("-BUSY") {}
    assert_eq!(beside.line("SCRIPT KILL").to_string(), "+OK");
    assert!(clients[1].read_reply().is_error());
    clients[0].read_reply();
    others.iter_mut().for_each(|other| assert_eq!(other.read_reply().to_string(), "\"here\""));
    let times = times(&mut clients);
    assert!(times.iter().all(|time| *time == times[0]), "{times:?}");
}

#[test]
fn clock_next_finds_the_next_deadline_of_all_servers() {
    let builder = ours::builder().time(lockwheel::Time::Manual).replicas(1);
    let topology = builder.start().expect("they start");
    let mut clients: Vec<Client> =
        topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    clients[1].line("REPLICAOF NO ONE");
    clients[0].line("SET k v PX 5000");
    clients[1].line("SET k v PX 3000");
    for client in &mut clients {
        let info = client.line("CLOCK.INFO").to_string();
        assert!(info.contains("\"next\", :3000, \"timers\", :2"), "{info}");
    }
}

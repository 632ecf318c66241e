//! Requests that all servers answer together: each client gets the answers to its own requests, in their order.

use crate::topology::sentinels::text;
use lockwheel::{Config, Time, Topology};
use lockwheel_engine::config::Permission;
use lockwheel_tests::client::{Client, encode};
use lockwheel_tests::ours;

/// Requests, and a part of the answer to each.
const ASKED: [(&str, &str); 10] = [
    ("CLOCK.INFO", "\"monotonic\""),
    ("FAULT.UP 1", ":0"),
    ("LOCK.VERIFY", "\"verdict\""),
    ("FAULT.DOWN 9", "-ERR there is no such server"),
    ("FAULT.UP 9", "-ERR there is no such server"),
    ("FAULT.LAG 0", "+OK"),
    ("LOCK.HISTORY COUNT 1", "\"entries\""),
    ("FAULT.FAILOVER 0", "-ERR the server is not a replica"),
    ("LOCK.VERIFY LEVEL LINT", "\"verdict\""),
    ("PING", "+PONG"),
];

/// A master and two replicas that keep a history of locks, each with this number of threads.
fn started(threads: usize) -> Topology {
    let mut config = Config::default();
    (config.enable_debug_command, config.time) = (Permission::Yes, Time::Manual);
    (config.lock_history, config.busy_reply_threshold) = (true, 20);
    ours::configured(config).threads(threads).replicas(2).start().expect("they start")
}

fn client(topology: &Topology, place: usize) -> Client {
    Client::connect(topology.servers()[place].addr())
}

fn encoded<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    lines.into_iter().flat_map(|line| encode(&line.split(' ').collect::<Vec<_>>())).collect()
}

#[test]
fn pipelined_requests_get_their_own_answers() {
    for threads in [1, 2, 4] {
        let topology = started(threads);
        text(&mut client(&topology, 0), "LOCK.ACQUIRE lock o PX 1000");
        let mut clients: Vec<Client> = (0..9).map(|at| client(&topology, at % 3)).collect();
        for (at, client) in clients.iter_mut().enumerate() {
            let turned = ASKED.iter().cycle().skip(at).take(3 * ASKED.len());
            client.send_raw(&encoded(turned.map(|(line, _)| *line)));
        }
        for (at, client) in clients.iter_mut().enumerate() {
            for (line, answer) in ASKED.iter().cycle().skip(at).take(3 * ASKED.len()) {
                let told = client.read_reply().to_string();
                assert!(told.contains(answer), "{line}: {told}");
            }
        }
    }
}

#[test]
fn a_skipped_answer_is_not_sent_for_the_next_request() {
    let topology = started(2);
    for place in 0..3 {
        let mut client = client(&topology, place);
        for (at, (line, answer)) in ASKED.iter().enumerate() {
            let skipped = ASKED[(at + 1) % ASKED.len()].0;
            client.send_raw(&encoded(["CLIENT REPLY SKIP", skipped, line, "RESET", line]));
            for wanted in [answer, "+RESET", answer] {
                let told = client.read_reply().to_string();
                assert!(told.contains(wanted), "{skipped}, {line}: {told}");
            }
        }
    }
}

/// A client that is killed while its request is on its way leaves nothing to others.
#[test]
fn the_replies_of_a_killed_client_reach_no_other_client() {
    for threads in [1, 2] {
        let topology = started(threads);
        for _ in 0..20 {
            let [mut killed, mut kills] = [1, 1].map(|place| client(&topology, place));
            let id = text(&mut killed, "CLIENT ID");
            killed.send_raw(&encoded(ASKED.iter().map(|(line, _)| *line)));
            assert_eq!(text(&mut kills, &format!("CLIENT KILL ID {}", id.trim_start_matches(':'))), ":1");
            for (line, answer) in ASKED {
                let told = text(&mut kills, line);
                assert!(told.contains(answer), "{line}: {told}");
            }
            killed.read_to_close();
        }
    }
}

/// Waits until another client of its server is blocked, and its request has reached the other servers.
fn await_blocked(client: &mut Client) {
    while !text(client, "CLIENT LIST").contains("flags=b") {}
    assert_eq!(text(client, "FAULT.UP 1"), ":0");
}

/// The wait of such a request ends with the reset, and so do its effects on the other servers.
#[test]
fn a_request_ended_by_a_reset_has_no_later_effect_or_reply() {
    for threads in [1, 2] {
        let topology = started(threads);
        let [mut waits, mut resets, mut beside] = [0, 0, 2].map(|place| client(&topology, place));
        assert_eq!(text(&mut waits, "FAULT.PARTITION NODES 2"), ":1");
        let mut hangs = client(&topology, 2);
        hangs.send_line("EVAL \"while true do end\" 0");
        while !text(&mut beside, "GET k").starts_with("-BUSY") {}
        waits.send_line("FAULT.PARTITION NODES 2 FROM CLIENTS");
        // The reset is postponed until the server is back.
        await_blocked(&mut resets);
        assert_eq!(text(&mut resets, "CONTROL.RESET KEEPCLIENTS"), "+OK");
        assert_eq!(waits.read_reply().to_string(), "(nil)");
        waits.send_line("FAULT.UP 2");
        await_blocked(&mut resets);
        assert_eq!(text(&mut beside, "SCRIPT KILL"), "+OK");
        assert_eq!(waits.read_reply().to_string(), ":0");
        assert_eq!(text(&mut waits, "FAULT.HEAL"), ":0", "nobody is cut off");
        assert_eq!(text(&mut client(&topology, 2), "PING"), "+PONG");
    }
}

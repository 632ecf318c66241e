//! The toxics of toxiproxy: latency with jitter, limited bandwidth, slices, resets, raw bytes, and refused connections
//! while the data stay.

use super::Scene;
use lockwheel::{Server, Time};
use lockwheel_tests::client::{Client, connected, encode};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;

/// Returns the time of the answer to a request, in milliseconds.
fn latency(scene: &mut Scene, client: u64, line: &str) -> u64 {
    scene.server.send(client, line);
    for waited in 0.. {
        if !scene.read(client).is_empty() {
            return waited;
        }
        scene.advance(1);
    }
    unreachable!("it is answered")
}

#[test]
fn a_latency_has_jitter_that_the_seed_draws() {
    for action in ["DELAY", "DELAYREPLY"] {
        let drawn = |seed: u64| -> Vec<u64> {
            let mut scene = Scene::new();
            scene.steer(&format!("FAULT.SEED {seed}"), "+OK");
            let client = scene.client();
            scene.add(&format!("slow ON get DO {action} 50 JITTER 20"));
            (0..40).map(|_| latency(&mut scene, client, "GET k")).collect()
        };
        let first = drawn(1);
        assert!(first.iter().all(|ms| (30..=70).contains(ms)), "{first:?}");
        assert!(first.iter().any(|ms| *ms < 45) && first.iter().any(|ms| *ms > 55), "{first:?}");
        assert_eq!(first, drawn(1));
        assert_ne!(first, drawn(2));
    }
}

#[test]
fn a_jitter_larger_than_its_latency_gives_no_negative_delay() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("slow ON get DO DELAY 5 JITTER 20");
    let drawn: Vec<u64> = (0..60).map(|_| latency(&mut scene, client, "GET k")).collect();
    assert!(drawn.iter().all(|ms| *ms <= 25) && drawn.iter().any(|ms| *ms > 20), "{drawn:?}");
}

#[test]
fn later_replies_follow_the_last_piece_of_a_sliced_reply() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.steer("SET k 0123456789", "+OK");
    scene.add("pieces ON get DO SLICE 6 EVERY 10");
    scene.server.send(client, "GET k");
    scene.server.send(client, "PING");
    for piece in ["$10\r\n0", "123456", "789\r\n+PONG\r\n"] {
        assert_eq!(scene.server.read(client), piece);
        assert_eq!(scene.server.read(client), "");
        scene.advance(10);
    }
    // A reply no longer than a slice is sent at once.
    scene.check(client, "GET none", "$-1");
    assert!(scene.ask(scene.steer, "FAULT.LIST").contains("$4 hits :2"));
}

#[test]
fn a_bandwidth_is_in_kilobytes_a_second() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.steer(&format!("SET k {}", "x".repeat(5000)), "+OK");
    scene.add("narrow ON get DO BANDWIDTH 10");
    scene.server.send(client, "GET k");
    // 5009 bytes, of which ten go in a millisecond.
    let mut received = scene.server.read(client).len();
    assert_eq!(received, 100);
    scene.advance(250);
    received += scene.server.read(client).len();
    assert_eq!(received, 2600);
    scene.advance(250);
    assert_eq!(received + scene.server.read(client).len(), 5009);
}

#[test]
fn a_rule_replaces_a_reply_by_any_bytes() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("broken TIMES 1 ON incr DO REPLY RAW $x\\r\\n");
    scene.server.send(client, "INCR n");
    assert_eq!(scene.server.read(client), "$x\\r\\n");
    scene.add("quoted ON incr DO REPLY RAW \"*1\\r\\n$3\\r\\nab\"");
    scene.server.send(client, "INCR n");
    assert_eq!(scene.server.read(client), "*1\r\n$3\r\nab");
    scene.check(client, "GET n", "$1 2");
    scene.server.ask(client, "CLIENT REPLY OFF");
    scene.server.send(client, "INCR n");
    assert_eq!(scene.server.read(client), "");
}

#[test]
fn a_connection_is_reset_before_or_after_executing() {
    for (action, executed) in [("RESET", "(nil)"), ("RESETAFTER", "\"v\"")] {
        for threads in [1, 2] {
            let server = Server::builder().port(0).threads(threads).time(Time::Manual).start();
            let server = server.expect("loopback has a free port");
            let mut steer = Client::connect(server.addr());
            assert_eq!(steer.line(&format!("FAULT.ADD r ON set DO {action}")).to_string(), "+OK");
            let mut client = connected(server.addr());
            client.write_all(&encode(&["SET", "k", "v"])).expect("it is connected");
            let error = client.read(&mut [0; 100]).expect_err("it is no end of a stream");
            assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{action}");
            assert_eq!(steer.line("GET k").to_string(), executed, "{action}");
        }
    }
}

#[test]
fn a_restart_with_keep_refuses_connections_and_keeps_data() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.check(client, "SET k v", "+OK");
    scene.steer("FAULT.RESTART DOWN 500 KEEP", "+OK");
    assert!(!scene.server.is_connected(client));
    let refused = scene.client();
    assert!(!scene.server.is_connected(refused));
    scene.advance(500);
    let back = scene.client();
    scene.check(back, "GET k", "$1 v");
    scene.steer("FAULT.RESTART KEEP", "+OK");
    assert!(!scene.server.is_connected(back));
    scene.steer("FAULT.RESTART", "+OK");
    scene.steer("GET k", "$-1");
}

/// Returns the bytes that a connection has, without waiting. `None` at its end.
fn arrived(client: &mut TcpStream) -> Option<String> {
    let mut bytes = [0; 100];
    client.set_nonblocking(true).expect("it is a socket");
    let read = client.read(&mut bytes);
    client.set_nonblocking(false).expect("it is a socket");
    match read {
        Ok(0) => None,
        Ok(len) => Some(String::from_utf8_lossy(&bytes[..len]).into_owned()),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Some(String::new()),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_connection_stays_open_until_its_delayed_last_reply_is_sent() {
    let kill = "CLIENT KILL ID {id} SKIPME no";
    for (request, reply) in [("QUIT", "+OK\r\n"), (kill, ":1\r\n")] {
        for threads in [1, 2] {
            let server = Server::builder().port(0).threads(threads).time(Time::Manual).start();
            let server = server.expect("loopback has a free port");
            let mut steer = Client::connect(server.addr());
            // Returns the bytes that have arrived before each of these milliseconds, in turn, and at last.
            let mut play = |action: &str, turns: &[u64]| -> Vec<Option<String>> {
                steer.line("FAULT.CLEAR");
                let mut socket = connected(server.addr());
                socket.write_all(b"CLIENT ID\r\n").expect("it is connected");
                let mut id = String::new();
                BufReader::with_capacity(1, &socket).read_line(&mut id).expect("it is answered");
                let request = request.replace("{id}", id[1..].trim_end());
                let name = request.split(' ').next().unwrap_or_default();
                let rule = format!("FAULT.ADD last ON {name} DO {action}");
                assert_eq!(steer.line(&rule).to_string(), "+OK");
                socket.write_all(format!("{request}\r\n").as_bytes()).expect("it is connected");
                let hits = |list: &str| list.contains("\"hits\", :1");
                while !hits(&steer.line("FAULT.LIST").to_string()) {}
                let mut seen = Vec::new();
                for turn in turns {
                    seen.push(arrived(&mut socket));
                    let turn = match turn {
                        0 => "FAULT.GO last".to_owned(),
                        ms => format!("CLOCK.ADVANCE {ms}"),
                    };
                    steer.line(&turn);
                }
                let mut rest = String::new();
                socket.read_to_string(&mut rest).expect("it ends");
                seen.push(Some(rest));
                seen
            };
            let nothing = || Some(String::new());
            let whole = Some(reply.to_owned());
            assert_eq!(play("DELAYREPLY 500", &[499, 1]), [nothing(), nothing(), whole.clone()], "{request}");
            assert_eq!(play("HOLDREPLY", &[5000, 0]), [nothing(), nothing(), whole.clone()], "{request}");
            assert_eq!(play("DROPREPLY CLOSEAFTER 500", &[499, 1]), [nothing(), nothing(), nothing()]);
            let pieces = play("SLICE 1 EVERY 50", &vec![50; reply.len() - 1]);
            let pieces: Vec<String> = pieces.into_iter().flatten().collect();
            assert_eq!(pieces.concat(), reply, "{request}");
        }
    }
}

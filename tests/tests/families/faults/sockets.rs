//! Faults over sockets, with one thread and with several: messages lost, and connections frozen, held and cut.

use lockwheel::{Server, Time};
use lockwheel_tests::client::{Client, encode, is_refused};
use lockwheel_tests::shapes::until;

const THREADS: [usize; 3] = [1, 2, 4];

/// A server on a manual clock, the client that controls it, and some clients that are spread over its threads.
fn scene<const N: usize>(threads: usize) -> (Server, Client, [Client; N]) {
    let server = Server::builder().port(0).seed(7).threads(threads).time(Time::Manual).start();
    let server = server.expect("loopback has a free port");
    let steer = Client::connect(server.addr());
    let mut clients = std::array::from_fn(|_| Client::connect(server.addr()));
    clients.iter_mut().for_each(|client| check(client, "PING", "+PONG"));
    (server, steer, clients)
}

#[track_caller]
fn check(client: &mut Client, line: &str, expected: &str) {
    assert_eq!(client.line(line).to_string(), expected, "{line}");
}

/// Every thread had ample time to do what it must not do.
fn let_others_run(server: &Server) {
    let mut clients: Vec<Client> = (0..4).map(|_| Client::connect(server.addr())).collect();
    for client in &mut clients {
        check(client, "FAULT.EXEMPT", "+OK");
    }
    // A partition holds a new connection. The exempt client's answer shows that the server accepts.
    for _ in 0..20 {
        clients.iter_mut().for_each(|client| check(client, "PING", "+PONG"));
    }
}

#[test]
fn a_black_hole_discards_input_until_its_client_closes_it() {
    for threads in THREADS {
        let (server, mut steer, [mut client, mut other]) = scene(threads);
        check(&mut steer, "FAULT.ADD lost ON set DO DROPREQUEST", "+OK");
        client
            .send_raw(&[encode(&["PING"]), encode(&["SET", "k", "v"]), encode(&["SET", "l", "v"])].concat());
        assert_eq!(client.read_reply().to_string(), "+PONG");
        check(&mut steer, "AWAIT.FAULT lost 1", ":1");
        // The request exceeds a socket's buffers: the server has read a part of it.
        let much = encode(&[b"SET".to_vec(), b"m".to_vec(), vec![b'x'; 1 << 20]]);
        for _ in 0..16 {
            client.send_raw(&much);
        }
        let_others_run(&server);
        check(&mut other, "EXISTS k l m", ":0");
        check(&mut steer, "AWAIT.CLIENTS 3 EXACT", ":1");
        drop(client);
        check(&mut steer, "AWAIT.CLIENTS 2 EXACT", ":1");
        check(&mut steer, "FAULT.DEL lost", ":1");
    }
}

#[test]
fn a_lost_reply_is_never_sent_and_the_connection_is_cut_later() {
    for threads in THREADS {
        let (server, mut steer, [mut client]) = scene(threads);
        check(&mut steer, "FAULT.ADD lost ON set DO DROPREPLY CLOSEAFTER 1000", "+OK");
        client.send_raw(&[encode(&["PING"]), encode(&["SET", "k", "v"]), encode(&["PING"])].concat());
        check(&mut steer, "AWAIT.FAULT lost 1", ":1");
        check(&mut steer, "EXISTS k", ":1");
        let_others_run(&server);
        steer.line("CLOCK.ADVANCE 1000");
        assert_eq!(client.read_to_close(), b"+PONG\r\n");
    }
}

/// The request arrives in one piece or in several, and the requests behind it continue.
#[test]
fn a_new_connection_can_heal_a_partition_of_a_disconnected_client() {
    for threads in THREADS {
        for pieces in [1, 2, 5] {
            let (server, mut steer, [mut held]) = scene(threads);
            check(&mut steer, "FAULT.PARTITION ALL", ":1");
            drop(steer);
            held.send_line("SET k v");
            let mut healer = Client::connect(server.addr());
            let sent = [encode(&["FAULT.HEAL"]), encode(&["PING"])].concat();
            for piece in sent.chunks(sent.len().div_ceil(pieces)) {
                healer.send_raw(piece);
                std::thread::yield_now();
            }
            assert_eq!(healer.read_reply().to_string(), ":1");
            assert_eq!(healer.read_reply().to_string(), "+PONG");
            assert_eq!(held.read_reply().to_string(), "+OK");
        }
    }
}

/// The server has read some of the request before the partition, or all of it, but run nothing.
#[test]
fn a_partly_read_fault_heal_gets_through_a_partition() {
    for threads in THREADS {
        let (_server, mut steer, [mut healer]) = scene(threads);
        healer.send_raw(b"*1\r\n$10\r\nFAULT.");
        until("a part is read", || steer.line("CLIENT LIST").to_string().contains("qbuf=15 "));
        check(&mut steer, "FAULT.PARTITION ALL", ":1");
        healer.send_raw(b"HEAL\r\n");
        assert_eq!(healer.read_reply().to_string(), ":1");
        for _ in 0..100 {
            // The answer to FAULT.HEAL is not held, whichever request comes first.
            steer.send_line("FAULT.PARTITION ALL IN");
            healer.send_line("FAULT.HEAL");
            assert!(matches!(healer.read_reply().to_string().as_str(), ":0" | ":1"));
            assert_eq!(steer.read_reply().to_string(), ":1");
            steer.line("FAULT.HEAL");
        }
    }
}

/// A request before it may end its wait while the partition has no end.
#[test]
fn fault_heal_runs_once_the_request_before_it_is_done() {
    for threads in THREADS {
        for (before, end) in [
            ("BLPOP q 0", "RPUSH q v"),
            ("BLPOP q 0", "CLIENT UNBLOCK"),
            ("BLPOP q 1", "CLOCK.ADVANCE 1000"),
            ("GET k", "FAULT.GO held"),
            ("PING", "FAULT.THAWCLIENT NAME cut"),
        ] {
            let (_server, mut steer, [mut healer]) = scene(threads);
            check(&mut healer, "CLIENT SETNAME cut", "+OK");
            let id = healer.line("CLIENT ID").to_string()[1..].to_owned();
            check(&mut steer, "FAULT.ADD held ON get DO HOLDREPLY", "+OK");
            healer.send_line(before);
            match before {
                "PING" => {
                    assert_eq!(healer.read_reply().to_string(), "+PONG");
                    check(&mut steer, "FAULT.FREEZECLIENT NAME cut FOREVER", ":1");
                }
                "GET k" => check(&mut steer, "AWAIT.HELD held 1", ":1"),
                _ => check(&mut steer, "AWAIT.BLOCKED 1", ":1"),
            }
            check(&mut steer, "FAULT.PARTITION ALL IN", ":1");
            healer.send_line("FAULT.HEAL");
            let line = if end == "CLIENT UNBLOCK" { format!("{end} {id}") } else { end.to_owned() };
            assert!(!steer.line(&line).is_error(), "{line}");
            if before != "PING" {
                healer.read_reply();
            }
            assert_eq!(healer.read_reply().to_string(), ":1", "{before}, {end}");
        }
    }
}

/// The request had reached the server.
#[test]
fn requests_read_before_a_partition_run_after_their_client_has_closed() {
    for threads in THREADS {
        for closes in [false, true] {
            let (_server, mut steer, [mut client]) = scene(threads);
            client.send_raw(&[encode(&["BLPOP", "q", "0"]), encode(&["INCR", "n"])].concat());
            check(&mut steer, "AWAIT.BLOCKED 1", ":1");
            check(&mut steer, "FAULT.PARTITION ALL IN", ":1");
            check(&mut steer, "RPUSH q v", ":1");
            assert_eq!(client.read_reply().to_string(), "[\"q\", \"v\"]");
            if closes {
                client.close();
                check(&mut steer, "FAULT.HEAL", ":1");
                check(&mut steer, "AWAIT.CLIENTS 1 EXACT", ":1");
            } else {
                client.finish_sending();
                check(&mut steer, "FAULT.HEAL", ":1");
                assert_eq!(client.read_to_close(), b":1\r\n");
            }
            check(&mut steer, "GET n", "\"1\"");
        }
    }
}

#[test]
fn a_half_closed_client_that_heals_a_partition_is_answered() {
    for threads in THREADS {
        for direction in ["IN", "OUT", "BOTH"] {
            let (server, mut steer, []) = scene(threads);
            check(&mut steer, &format!("FAULT.PARTITION ALL {direction}"), ":0");
            let mut healer = Client::connect(server.addr());
            healer.send_raw(&[encode(&["FAULT.HEAL"]), encode(&["PING"])].concat());
            healer.finish_sending();
            assert_eq!(healer.read_to_close(), b":1\r\n+PONG\r\n");
        }
    }
}

#[test]
fn connections_are_cut_before_and_after_and_within_an_answer() {
    for (action, sent, is_set) in [
        ("CLOSE", &b"+PONG\r\n"[..], ":0"),
        ("CLOSEAFTER", b"+PONG\r\n", ":1"),
        ("TRUNCATE 3", b"+PONG\r\n+OK", ":1"),
    ] {
        let (_server, mut steer, [mut client]) = scene(2);
        check(&mut steer, &format!("FAULT.ADD cut ON set DO {action}"), "+OK");
        client.send_raw(&[encode(&["PING"]), encode(&["SET", "k", "v"]), encode(&["PING"])].concat());
        assert_eq!(client.read_to_close(), sent, "{action}");
        check(&mut steer, "EXISTS k", is_set);
    }
}

#[test]
fn held_requests_and_replies_of_all_threads_go_on_in_order() {
    for threads in THREADS {
        for action in ["HOLD", "HOLDREPLY"] {
            let (_server, mut steer, mut clients) = scene::<8>(threads);
            check(&mut steer, &format!("FAULT.ADD gate ON append DO {action}"), "+OK");
            for (number, client) in clients.iter_mut().enumerate() {
                client.send_raw(&[encode(&["APPEND", "k", "x"]), encode(&["PING"])].concat());
                check(&mut steer, &format!("AWAIT.HELD gate {}", number + 1), ":1");
            }
            check(&mut steer, "STRLEN k", if action == "HOLD" { ":0" } else { ":8" });
            check(&mut steer, "FAULT.GO gate", ":8");
            for (number, client) in clients.iter_mut().enumerate() {
                assert_eq!(client.read_reply().to_string(), format!(":{}", number + 1), "{action}");
                assert_eq!(client.read_reply().to_string(), "+PONG");
            }
        }
    }
}

#[test]
fn a_delayed_request_runs_after_its_client_has_closed() {
    for threads in THREADS {
        let (_server, mut steer, [mut client]) = scene(threads);
        check(&mut steer, "FAULT.ADD slow ON set DO DELAY 500", "+OK");
        client.send_line("SET k late");
        check(&mut steer, "AWAIT.HELD slow 1", ":1");
        drop(client);
        check(&mut steer, "AWAIT.CLIENTS 1 EXACT", ":1");
        steer.line("CLOCK.ADVANCE 499");
        check(&mut steer, "EXISTS k", ":0");
        steer.line("CLOCK.ADVANCE 1");
        check(&mut steer, "GET k", "\"late\"");
    }
}

/// The connection may see the close before the end of its wait.
#[test]
fn requests_behind_an_ended_wait_run_after_their_client_has_closed() {
    for threads in THREADS {
        let (server, mut steer, []) = scene(threads);
        for _ in 0..200 {
            let mut client = Client::connect(server.addr());
            client.send_raw(&[encode(&["BLPOP", "q", "0"]), encode(&["INCR", "n"])].concat());
            check(&mut steer, "AWAIT.BLOCKED 1", ":1");
            check(&mut steer, "RPUSH q x", ":1");
            drop(client);
        }
        check(&mut steer, "AWAIT.CLIENTS 1 EXACT", ":1");
        check(&mut steer, "GET n", "\"200\"");
    }
}

#[test]
fn requests_behind_a_held_one_run_after_their_client_has_closed() {
    for threads in THREADS {
        let (_server, mut steer, [mut client]) = scene(threads);
        check(&mut steer, "FAULT.ADD gate ON append DO HOLD", "+OK");
        let appended: Vec<Vec<u8>> = (0..5).map(|n| encode(&["APPEND", "k", &n.to_string()])).collect();
        client.send_raw(
            &[appended.concat(), encode(&["SET", "last", "v"]), b"*2\r\n$3\r\nDEL".to_vec()].concat(),
        );
        check(&mut steer, "AWAIT.HELD gate 1", ":1");
        drop(client);
        check(&mut steer, "AWAIT.CLIENTS 1 EXACT", ":1");
        for _ in 0..5 {
            check(&mut steer, "EXISTS last", ":0");
            check(&mut steer, "FAULT.GO gate", ":1");
        }
        check(&mut steer, "GET k", "\"01234\"");
        check(&mut steer, "GET last", "\"v\"");
    }
}

#[test]
fn a_thawed_client_is_read_from_and_written_to() {
    for threads in THREADS {
        let (server, mut steer, [mut client, mut listener]) = scene(threads);
        let ids = [&mut client, &mut listener].map(|one| one.line("CLIENT ID").to_string());
        listener.line("SUBSCRIBE c");
        for id in &ids {
            check(&mut steer, &format!("FAULT.FREEZECLIENT {} 5000", &id[1..]), ":1");
        }
        client.send_line("SET k v");
        check(&mut steer, "PUBLISH c hello", ":1");
        let_others_run(&server);
        check(&mut steer, "EXISTS k", ":0");
        steer.line("CLOCK.ADVANCE 5000");
        assert_eq!(client.read_reply().to_string(), "+OK");
        assert!(listener.read_push().to_string().contains("hello"));
        check(&mut client, "GET k", "\"v\"");
    }
}

#[test]
fn a_partition_holds_old_and_new_connections_until_it_heals() {
    for threads in THREADS {
        let (server, mut steer, [mut old, mut exempt]) = scene(threads);
        check(&mut exempt, "FAULT.EXEMPT", "+OK");
        check(&mut steer, "FAULT.PARTITION ALL", ":1");
        let mut new = Client::connect(server.addr());
        new.send_line("SET new v");
        old.send_line("SET old v");
        for _ in 0..50 {
            check(&mut exempt, "EXISTS old new", ":0");
            check(&mut steer, "PING", "+PONG");
        }
        // A client that closes meanwhile is noticed when the partition has healed.
        let gone = Client::connect(server.addr());
        check(&mut steer, "AWAIT.CLIENTS 5 EXACT", ":1");
        drop(gone);
        check(&mut steer, "FAULT.HEAL", ":1");
        for client in [&mut old, &mut new] {
            assert_eq!(client.read_reply().to_string(), "+OK");
        }
        check(&mut steer, "AWAIT.CLIENTS 4 EXACT", ":1");
        check(&mut exempt, "EXISTS old new", ":2");
    }
}

#[test]
fn replies_held_by_a_partition_are_sent_after_healing() {
    for threads in THREADS {
        let (_server, mut steer, [mut client]) = scene(threads);
        let long = "x".repeat(1 << 20);
        check(&mut client, &format!("SET long {long}"), "+OK");
        check(&mut steer, "FAULT.PARTITION ALL OUT", ":1");
        for _ in 0..8 {
            client.send_line("GET long");
        }
        client.send_line("INCR n");
        check(&mut steer, "AWAIT.KEY n EXISTS", ":1");
        check(&mut steer, "FAULT.HEAL", ":1");
        for _ in 0..8 {
            assert_eq!(client.read_reply().as_bytes(), Some(long.as_bytes()));
        }
        assert_eq!(client.read_reply().to_string(), ":1");
    }
}

#[test]
fn a_restart_closes_and_refuses_connections_while_down() {
    for threads in THREADS {
        let (server, mut steer, [mut client]) = scene(threads);
        check(&mut client, "SET k v", "+OK");
        check(&mut steer, "FAULT.RESTART DOWN 100", "+OK");
        assert_eq!(client.read_to_close(), b"");
        for _ in 0..3 {
            assert!(is_refused(server.addr()));
        }
        steer.line("CLOCK.ADVANCE 99");
        assert!(is_refused(server.addr()));
        steer.line("CLOCK.ADVANCE 1");
        let mut late = Client::connect(server.addr());
        check(&mut late, "EXISTS k", ":0");
    }
}

#[test]
fn a_restart_with_keep_refuses_connections_on_a_running_clock() {
    for threads in THREADS {
        let (server, mut steer, [mut client]) = scene(threads);
        assert!(!steer.line("CLOCK.RESUME").is_error());
        check(&mut client, "SET k v", "+OK");
        check(&mut steer, "FAULT.RESTART DOWN 100000 KEEP", "+OK");
        assert_eq!(client.read_to_close(), b"");
        assert!(is_refused(server.addr()));
        // A second partition begins and ends within the first; any client that is still connected ends both.
        check(&mut steer, "FAULT.RESTART DOWN 1 KEEP", "+OK");
        until("clients are let in", || !is_refused(server.addr()));
        check(&mut Client::connect(server.addr()), "GET k", "\"v\"");
        check(&mut steer, "FAULT.RESTART DOWN 100000 KEEP", "+OK");
        assert!(is_refused(server.addr()));
        check(&mut steer, "FAULT.RESTART KEEP", "+OK");
        check(&mut Client::connect(server.addr()), "GET k", "\"v\"");
    }
}

/// If a client leaves nobody behind to advance the clock, the downtime ends.
#[test]
fn a_down_server_accepts_clients_once_no_connection_can_advance_the_clock() {
    for threads in THREADS {
        let (server, mut steer, []) = scene(threads);
        check(&mut steer, "SET k v", "+OK");
        check(&mut steer, "FAULT.RESTART DOWN 100 KEEP", "+OK");
        assert!(is_refused(server.addr()));
        steer.close();
        until("clients are let in", || !is_refused(server.addr()));
        check(&mut Client::connect(server.addr()), "GET k", "\"v\"");
    }
}

/// A request that was sent meanwhile arrives once the server is up, which is then.
#[test]
fn clients_are_accepted_when_the_last_one_leaves_a_held_request() {
    for threads in THREADS {
        let (server, mut steer, []) = scene(threads);
        check(&mut steer, "FAULT.ADD h ON set DO HOLD", "+OK");
        check(&mut steer, "FAULT.RESTART DOWN 100 KEEP", "+OK");
        steer.send_line("SET k v");
        steer.close();
        until("clients are let in", || !is_refused(server.addr()));
        let mut client = Client::connect(server.addr());
        check(&mut client, "FAULT.GO h", ":1");
        check(&mut client, "GET k", "\"v\"");
    }
}

#[test]
fn a_failover_disconnects_blocked_and_held_clients() {
    for threads in THREADS {
        let (_server, mut steer, [mut waiter, mut held]) = scene(threads);
        check(&mut steer, "FAULT.LAG", "+OK");
        check(&mut steer, "SET k v", "+OK");
        check(&mut steer, "FAULT.ADD gate ON get DO HOLD", "+OK");
        waiter.send_line("BLPOP q 0");
        held.send_line("GET k");
        check(&mut steer, "AWAIT.BLOCKED 1", ":1");
        check(&mut steer, "AWAIT.HELD gate 1", ":1");
        check(&mut steer, "FAULT.FAILOVER", "+OK");
        assert_eq!((waiter.read_to_close(), held.read_to_close()), (vec![], vec![]));
        check(&mut steer, "AWAIT.BLOCKED 0 EXACT", ":1");
        check(&mut steer, "EXISTS k", ":0");
    }
}

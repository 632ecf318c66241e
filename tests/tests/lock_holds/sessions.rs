//! Holds that last as long as a connection: renewed by the server, given back at the close, whenever that comes.

use lockwheel_engine::config::Config;
use lockwheel_engine::core::Simulation;
use lockwheel_tests::rng::Rng;
use std::time::Duration;

/// A server on frozen clocks, with a client that steers.
fn server() -> (Simulation, u64) {
    let mut server = Simulation::new(Config::default(), 7);
    let main = server.connect();
    server.ask(main, "CLOCK.FREEZE");
    (server, main)
}

pub(crate) fn close(server: &mut Simulation, client: u64) {
    server.close(client);
    server.notice();
}

#[test]
fn a_hold_of_a_session_is_renewed_while_the_connection_lives_and_given_back_at_its_end() {
    let (mut server, main) = server();
    let [holder, waiter] = [server.connect(), server.connect()];
    assert!(server.ask(holder, "LOCK.ACQUIRE l a SESSION PX 3000").contains("$3\r\nttl\r\n:3000\r\n"));
    server.send(waiter, "LOCK.ACQUIRE l b BLOCK 0");
    assert_eq!(server.ask(main, "PTTL l"), ":3000\r\n");
    server.ask(main, "CLOCK.ADVANCE 999");
    assert_eq!(server.ask(main, "PTTL l"), ":2001\r\n");
    assert_eq!(
        server.ask(main, "CLOCK.NEXT"),
        "*8\r\n$4\r\nwall\r\n:1000001000\r\n$5\r\nfired\r\n:1\r\n$7\r\nsettled\r\n:1\r\n$4\r\nwhat\r\n*1\r\n*2\r\n\
         $7\r\nrenewal\r\n:2\r\n"
    );
    assert_eq!(server.ask(main, "PTTL l"), ":3000\r\n");
    server.ask(main, "CLOCK.ADVANCE 86400000");
    assert_eq!((server.ask(main, "PTTL l"), server.read(waiter)), (":3000\r\n".into(), String::new()));
    close(&mut server, holder);
    assert!(server.read(waiter).contains("$11\r\npredecessor\r\n$12\r\ndisconnected\r\n"));
    assert!(
        server.ask(main, "LOCK.RELEASE l a").contains("LOCKLOST this owner's hold with grant 1 disconnected")
    );
    assert!(server.ask(main, "CLOCK.INFO").contains("$6\r\ntimers\r\n:1\r\n"), "the waiter's lease is left");
}

/// A process that is paused says nothing, though its connection lives.
#[test]
fn a_session_with_a_ping_interval_ends_when_its_client_has_said_nothing_for_so_long() {
    let (mut server, main) = server();
    let [holder, waiter] = [server.connect(), server.connect()];
    server.ask(main, "CONFIG SET lock-history yes");
    assert!(
        server.ask(holder, "LOCK.ACQUIRE l a SESSION PX 3000 PING 5000").contains("$3\r\nttl\r\n:3000\r\n")
    );
    server.send(waiter, "LOCK.ACQUIRE l b BLOCK 0");
    for _ in 0..4 {
        server.ask(main, "CLOCK.ADVANCE 4999");
        assert_eq!(server.ask(holder, "PING"), "+PONG\r\n");
    }
    assert_eq!(server.read(waiter), "");
    server.ask(main, "CLOCK.ADVANCE 4999");
    assert_eq!(server.read(waiter), "");
    server.ask(main, "CLOCK.ADVANCE 1");
    assert!(server.read(waiter).contains("$11\r\npredecessor\r\n$12\r\ndisconnected\r\n"));
    let told = server.ask(holder, "LOCK.RELEASE l a");
    assert!(told.contains("LOCKLOST this owner's hold with grant 1 disconnected"), "{told}");
}

#[test]
fn a_frozen_process_loses_a_session_that_has_to_ping_and_keeps_one_that_has_not() {
    let (mut server, main) = server();
    let [holder, other] = [server.connect(), server.connect()];
    server.ask(holder, "LOCK.ACQUIRE pings a SESSION PING 1000");
    server.ask(holder, "LOCK.ACQUIRE silent a SESSION");
    server.ask(holder, "SEM.INIT permits 3");
    server.ask(holder, "SEM.ACQUIRE permits a PERMITS 2 SESSION PING 1000");
    server.ask(other, &format!("FAULT.FREEZECLIENT {holder} FOREVER"));
    server.send(holder, "PING");
    server.ask(main, "CLOCK.ADVANCE 999");
    assert_eq!(server.ask(main, "GET permits"), "$1\r\n1\r\n");
    server.ask(main, "CLOCK.ADVANCE 1");
    assert_eq!(server.ask(main, "EXISTS pings"), ":0\r\n");
    assert_eq!(server.ask(main, "EXISTS silent"), ":1\r\n");
    assert_eq!(server.ask(main, "GET permits"), "$1\r\n3\r\n");
}

/// Who waits cannot say anything meanwhile.
#[test]
fn a_wait_of_the_connection_counts_as_a_ping_as_long_as_it_lasts() {
    let (mut server, main) = server();
    let holder = server.connect();
    server.ask(holder, "LOCK.ACQUIRE l a SESSION PING 1000");
    server.send(holder, "BLPOP list 5");
    server.ask(main, "CLOCK.ADVANCE 5999");
    assert_eq!(server.ask(main, "EXISTS l"), ":1\r\n");
    server.ask(main, "CLOCK.ADVANCE 1");
    assert_eq!(server.ask(main, "EXISTS l"), ":0\r\n");
    for (line, error) in [
        ("LOCK.ACQUIRE l a PING 1000", "-ERR syntax error\r\n"),
        ("LOCK.ACQUIRE l a SESSION PING", "-ERR syntax error\r\n"),
        ("LOCK.ACQUIRE l a SESSION PING 500 PING 500", "-ERR syntax error\r\n"),
        ("LOCK.ACQUIRE l a SESSION PING x", "-ERR value is not an integer or out of range\r\n"),
        (
            "LOCK.ACQUIRE l a SESSION PING 99",
            "-ERR the PING interval of a session is at least 100 milliseconds\r\n",
        ),
        ("SEM.ACQUIRE s a PX 500 PING 1000", "-ERR syntax error\r\n"),
    ] {
        assert_eq!(server.ask(main, line), error, "{line}");
    }
}

#[test]
fn what_is_given_back_is_no_longer_renewed_and_not_given_back_again() {
    let (mut server, main) = server();
    let holder = server.connect();
    for line in ["LOCK.ACQUIRE l a SESSION", "LOCK.ACQUIRE l a SESSION", "LOCK.RELEASE l a"] {
        server.ask(holder, line);
    }
    server.ask(main, "CLOCK.ADVANCE 60000");
    assert_eq!(server.ask(main, "EXISTS l"), ":1\r\n");
    assert_eq!(server.ask(holder, "LOCK.RELEASE l a"), ":0\r\n");
    assert!(server.ask(main, "CLOCK.INFO").contains("$6\r\ntimers\r\n:0\r\n"));
    // Another connection's hold in the same name is none of this one's.
    assert!(server.ask(main, "LOCK.ACQUIRE l a PX 5000").contains("token\r\n:2"));
    close(&mut server, holder);
    assert_eq!(server.ask(main, "HGET l a"), "$1\r\n1\r\n");
}

#[test]
fn who_takes_a_session_s_lock_away_ends_its_renewals() {
    for end in [
        "DEL l",
        "FLUSHALL",
        "FLUSHDB",
        "RENAME l m",
        "SET l v",
        "HDEL l a",
        "PEXPIRE l 0",
        "LOCK.FORCEUNLOCK l",
        "LOCK.TRANSFER l a b",
        "CLOCK.STEP 30000",
        "EVAL \"redis.call('del', 'l')\" 0",
        "CONTROL.RESET KEEPCLIENTS",
        "MOVE l 1",
        "COPY other l REPLACE",
    ] {
        let (mut server, main) = server();
        let holder = server.connect();
        server.ask(main, "RPUSH other x");
        server.ask(holder, "LOCK.ACQUIRE l a SESSION");
        server.ask(main, end);
        server.ask(main, "CLOCK.FREEZE");
        let left = server.ask(main, "CLOCK.ADVANCE 30000");
        assert!(!left.contains("fired\r\n:4"), "{end}: {left}");
        assert!(server.ask(main, "CLOCK.INFO").contains("$6\r\ntimers\r\n:0\r\n"), "{end}");
        server.ask(main, "LOCK.ACQUIRE l a PX 7000");
        let before = server.ask(main, "HGETALL l");
        close(&mut server, holder);
        assert_eq!(server.ask(main, "HGETALL l"), before, "{end}");
    }
}

#[test]
fn a_session_s_hold_goes_with_its_database() {
    let (mut server, main) = server();
    let holder = server.connect();
    server.ask(holder, "LOCK.ACQUIRE l a SESSION");
    server.ask(main, "SWAPDB 0 1");
    server.ask(main, "CLOCK.ADVANCE 60000");
    assert_eq!(server.ask(main, "EXISTS l"), ":0\r\n");
    server.ask(main, "SELECT 1");
    assert_eq!(server.ask(main, "PTTL l"), ":30000\r\n");
    close(&mut server, holder);
    assert_eq!(server.ask(main, "EXISTS l"), ":0\r\n");
}

#[test]
fn a_renewal_makes_a_lease_no_shorter_and_a_later_session_takes_the_hold_over() {
    let (mut server, main) = server();
    let [first, second] = [server.connect(), server.connect()];
    server.ask(first, "LOCK.ACQUIRE l a SESSION PX 3000");
    assert_eq!(server.ask(main, "LOCK.RENEW 1 l a PX 60000"), "*1\r\n:1\r\n");
    server.ask(main, "CLOCK.ADVANCE 1000");
    assert_eq!(server.ask(main, "PTTL l"), ":59000\r\n");
    server.ask(second, "LOCK.ACQUIRE l a SESSION PX 6000");
    close(&mut server, first);
    assert_eq!(server.ask(main, "HGET l a"), "$1\r\n2\r\n");
    close(&mut server, second);
    assert_eq!(server.ask(main, "EXISTS l"), ":0\r\n");
}

#[test]
fn a_lease_too_short_to_renew_is_refused() {
    let (mut server, main) = server();
    let error = "-ERR the lease of a session is at least 100 milliseconds\r\n";
    assert_eq!(server.ask(main, "LOCK.ACQUIRE l a SESSION PX 99"), error);
    assert_eq!(server.ask(main, "LOCK.ACQUIRE l a SESSION SESSION"), "-ERR syntax error\r\n");
    assert_eq!(server.ask(main, "EXISTS l"), ":0\r\n");
    assert!(server.ask(main, "LOCK.ACQUIRE l a PX 100 SESSION").contains("token"));
    server.ask(main, "CLOCK.ADVANCE 10000");
    assert_eq!(server.ask(main, "EXISTS l"), ":1\r\n");
}

/// However a connection ends while it waits for a lock, or is being given one, nobody is left waiting and nothing held.
#[test]
fn a_session_that_closes_at_the_worst_moment_strands_nobody() {
    for seed in 0..200 {
        let (mut server, main) = server();
        let mut rng = Rng::new(seed);
        let mut clients: Vec<u64> = (0..6).map(|_| server.connect()).collect();
        for (n, client) in clients.iter().enumerate() {
            server.send(*client, &format!("LOCK.ACQUIRE l o{n} SESSION PX 3000 BLOCK 0"));
        }
        while !clients.is_empty() {
            let at = rng.below(clients.len());
            match rng.below(4) {
                // The server does not know yet that it has gone.
                0 => server.close(clients[at]),
                1 => drop(server.ask(main, &format!("CLIENT KILL ID {}", clients[at]))),
                2 => close(&mut server, clients[at]),
                _ => drop(server.ask(main, "LOCK.FORCEUNLOCK l")),
            }
            if rng.below(2) == 0 {
                server.ask(main, &format!("CLOCK.ADVANCE {}", rng.below(2000)));
            }
            server.notice();
            clients.retain(|&client| server.is_connected(client));
            let lock = server.ask(main, "LOCK.INFO l");
            let is_free = lock.contains("holders\r\n*0\r\n");
            assert!(!is_free || lock.contains("waiters\r\n*0\r\n"), "seed {seed}: {lock}");
            assert!(is_free || lock.contains("holders\r\n*1\r\n"), "seed {seed}: {lock}");
        }
        assert_eq!(server.ask(main, "EXISTS l"), ":0\r\n", "seed {seed}");
        assert!(server.ask(main, "CLOCK.INFO").contains("timers\r\n:0\r\n"), "seed {seed}");
    }
}

#[test]
fn while_time_runs_a_session_s_lease_is_renewed_in_time() {
    let mut server = Simulation::new(Config::default(), 7);
    let [holder, other] = [server.connect(), server.connect()];
    server.ask(holder, "LOCK.ACQUIRE l a SESSION PX 300");
    for _ in 0..100 {
        server.pass(Duration::from_millis(37));
        assert_eq!(server.ask(other, "LOCK.ACQUIRE l b"), "$-1\r\n");
    }
}

/// Leases of connections are renewed for ever: a turn of any length comes to its end, and so do turns to deadlines.
#[test]
fn a_turn_of_any_length_comes_to_its_end() {
    let (mut server, main) = server();
    let holder = server.connect();
    for line in ["LOCK.ACQUIRE l a SESSION PX 100", "SEM.INIT s 3", "SEM.ACQUIRE s a IDS SESSION PX 300"] {
        server.ask(holder, line);
    }
    let fired = |turned: &str| -> u64 {
        let (_, rest) = turned.split_once("fired\r\n:").expect("how many have fired");
        rest.split_once("\r\n").and_then(|(count, _)| count.parse().ok()).expect("a number")
    };
    server.ask(main, "SET k v PX 5000000000000");
    let turned = server.ask(main, "CLOCK.ADVANCE 4000000000000000");
    assert!((65_537..66_000).contains(&fired(&turned)), "{turned}");
    assert_eq!(server.ask(main, "PTTL l"), ":100\r\n");
    assert_eq!(server.ask(main, "EXISTS k"), ":0\r\n");
    let turned = server.ask(main, "CLOCK.NEXT COUNT 9223372036854775807");
    assert!((65_536..66_000).contains(&fired(&turned)), "{turned}");
    assert!(server.ask(main, "SEM.INFO s").contains("$4\r\nleft\r\n:2\r\n"));
    close(&mut server, holder);
    assert_eq!(server.ask(main, "EXISTS l"), ":0\r\n");
    assert_eq!(server.ask(main, "GET s"), "$1\r\n3\r\n");
}

/// A hold of a connection stays that when its mode changes, whichever way.
#[test]
fn what_is_converted_lasts_as_long_as_the_connection_too() {
    for (mode, other) in [("SHARED", "EXCLUSIVE"), ("EXCLUSIVE", "SHARED")] {
        let (mut server, main) = server();
        let [holder, waiter] = [server.connect(), server.connect()];
        server.ask(holder, &format!("LOCK.ACQUIRE l a {mode} SESSION PX 3000"));
        assert!(server.ask(holder, &format!("LOCK.CONVERT l a {other}")).contains("token"));
        server.send(waiter, "LOCK.ACQUIRE l b EXCLUSIVE BLOCK 0");
        server.ask(main, "CLOCK.ADVANCE 86400000");
        assert_eq!(server.read(waiter), "", "{other}: it is renewed");
        close(&mut server, holder);
        assert!(server.read(waiter).contains("$12\r\ndisconnected\r\n"), "{other}");
        assert_eq!(
            server.ask(main, "HGETALL l"),
            "*4\r\n$4\r\nmode\r\n$5\r\nwrite\r\n$7\r\nb:write\r\n$1\r\n1\r\n"
        );
    }
}

//! Holds that last as long as a connection: the server renews them, and releases them at the close, whenever that
//! comes.

use lockwheel_engine::config::Config;
use lockwheel_engine::core::Simulation;
use lockwheel_tests::rng::Rng;
use std::time::Duration;

/// A server on frozen clocks, with a client that controls it.
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
fn a_session_renews_its_hold_and_releases_it_on_disconnect() {
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
        server
            .ask(main, "LOCK.RELEASE l a")
            .contains("LOCKLOST this owner lost the lock: grant 1 ended (disconnected)")
    );
    assert!(server.ask(main, "CLOCK.INFO").contains("$6\r\ntimers\r\n:1\r\n"), "the waiter's lease is left");
}

/// A paused process sends nothing, though its connection lives.
#[test]
fn a_session_ends_after_a_ping_interval_without_requests() {
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
    assert!(told.contains("LOCKLOST this owner lost the lock: grant 1 ended (disconnected)"), "{told}");
}

#[test]
fn a_frozen_client_loses_only_sessions_with_a_ping_interval() {
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

/// A waiting client cannot send anything meanwhile.
#[test]
fn a_blocked_connection_keeps_its_session_with_a_ping_interval() {
    let (mut server, main) = server();
    let holder = server.connect();
    server.ask(holder, "LOCK.ACQUIRE l a SESSION PING 1000");
    server.send(holder, "BLPOP list 5");
    server.ask(main, "CLOCK.ADVANCE 5999");
    assert_eq!(server.ask(main, "EXISTS l"), ":1\r\n");
    server.ask(main, "CLOCK.ADVANCE 1");
    assert_eq!(server.ask(main, "EXISTS l"), ":0\r\n");
    for (line, error) in [
        ("LOCK.ACQUIRE l a PING 1000", "-ERR syntax error: "),
        ("LOCK.ACQUIRE l a SESSION PING", "-ERR syntax error: "),
        ("LOCK.ACQUIRE l a SESSION PING 500 PING 500", "-ERR syntax error: "),
        ("LOCK.ACQUIRE l a SESSION PING x", "-ERR value is not an integer or out of range: "),
        (
            "LOCK.ACQUIRE l a SESSION PING 99",
            "-ERR invalid PING interval: PING milliseconds must be an integer from 100 to ",
        ),
        ("SEM.ACQUIRE s a PX 500 PING 1000", "-ERR syntax error: "),
    ] {
        assert!(server.ask(main, line).starts_with(error), "{line}");
    }
}

#[test]
fn a_released_hold_is_not_renewed_and_not_released_again() {
    let (mut server, main) = server();
    let holder = server.connect();
    for line in ["LOCK.ACQUIRE l a SESSION", "LOCK.ACQUIRE l a SESSION", "LOCK.RELEASE l a"] {
        server.ask(holder, line);
    }
    server.ask(main, "CLOCK.ADVANCE 60000");
    assert_eq!(server.ask(main, "EXISTS l"), ":1\r\n");
    assert_eq!(server.ask(holder, "LOCK.RELEASE l a"), ":0\r\n");
    assert!(server.ask(main, "CLOCK.INFO").contains("$6\r\ntimers\r\n:0\r\n"));
    // Another connection's hold under the same name does not belong to this one.
    assert!(server.ask(main, "LOCK.ACQUIRE l a PX 5000").contains("token\r\n:2"));
    close(&mut server, holder);
    assert_eq!(server.ask(main, "HGET l a"), "$1\r\n1\r\n");
}

#[test]
fn removing_the_lock_of_a_session_ends_its_renewals() {
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
fn a_hold_of_a_session_follows_its_swapped_database() {
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
fn a_renewal_does_not_shorten_a_lease_and_a_later_session_keeps_it() {
    let (mut server, main) = server();
    let [first, second] = [server.connect(), server.connect()];
    server.ask(first, "LOCK.ACQUIRE l a SESSION PX 3000");
    assert_eq!(server.ask(main, "LOCK.RENEW 1 l a PX 60000"), "*1\r\n:1\r\n");
    server.ask(main, "CLOCK.ADVANCE 1000");
    assert_eq!(server.ask(main, "PTTL l"), ":59000\r\n");
    server.ask(second, "LOCK.ACQUIRE l a SESSION PX 6000");
    close(&mut server, first);
    assert_eq!(server.ask(main, "HGET l a"), "$1\r\n1\r\n");
    close(&mut server, second);
    assert_eq!(server.ask(main, "EXISTS l"), ":0\r\n");
}

#[test]
fn a_lease_too_short_to_renew_is_refused() {
    let (mut server, main) = server();
    let error = "-ERR the lease of a session must be at least 100 milliseconds, not 99\r\n";
    assert_eq!(server.ask(main, "LOCK.ACQUIRE l a SESSION PX 99"), error);
    assert!(server.ask(main, "LOCK.ACQUIRE l a SESSION SESSION").starts_with("-ERR syntax error: "));
    assert_eq!(server.ask(main, "EXISTS l"), ":0\r\n");
    assert!(server.ask(main, "LOCK.ACQUIRE l a PX 100 SESSION").contains("token"));
    server.ask(main, "CLOCK.ADVANCE 10000");
    assert_eq!(server.ask(main, "EXISTS l"), ":1\r\n");
}

/// However a connection ends while it waits for a lock, or is being given one, no waiter is left and nothing is held.
#[test]
fn a_session_that_closes_at_any_moment_leaves_no_waiter_stuck() {
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
                // The server does not know yet that the client has gone.
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

/// Returns the number of fired deadlines, from the reply to an advance.
fn fired(turned: &str) -> u64 {
    let (_, rest) = turned.split_once("fired\r\n:").expect("how many have fired");
    rest.split_once("\r\n").and_then(|(count, _)| count.parse().ok()).expect("a number")
}

/// Each renewal of a lease counts. One renewal for two leases of a client at once is one deadline.
#[test]
fn an_advance_renews_leases_up_to_its_limit() {
    const MAX_RENEWALS: u64 = 65_536;
    for (leases, instants) in [(1, MAX_RENEWALS), (2, MAX_RENEWALS / 2)] {
        let (mut server, main) = server();
        let holder = server.connect();
        (0..leases).for_each(|n| drop(server.ask(holder, &format!("LOCK.ACQUIRE l{n} a SESSION PX 300"))));
        let turned = server.ask(main, &format!("CLOCK.ADVANCE {}", 100 * (instants - 1)));
        assert_eq!(fired(&turned), instants - 1, "each instant is passed");
        assert_eq!(server.ask(main, "PTTL l0"), ":300\r\n");
        assert_eq!(fired(&server.ask(main, "CLOCK.ADVANCE 100")), 1);
        let turned = server.ask(main, &format!("CLOCK.ADVANCE {}", 100 * (instants + 1000)));
        assert_eq!(fired(&turned), instants, "the rest is leapt over");
        assert_eq!(server.ask(main, "PTTL l0"), ":300\r\n");
        assert_eq!(server.ask(main, "EXISTS l0"), ":1\r\n");
    }
}

/// Leases of connections are renewed for ever: an advance of any length still ends, and so do advances to deadlines.
#[test]
fn an_advance_of_any_length_ends_despite_renewals() {
    let (mut server, main) = server();
    let holder = server.connect();
    for line in ["LOCK.ACQUIRE l a SESSION PX 100", "SEM.INIT s 3", "SEM.ACQUIRE s a IDS SESSION PX 300"] {
        server.ask(holder, line);
    }
    server.ask(main, "SET k v PX 5000000000000");
    let turned = server.ask(main, "CLOCK.ADVANCE 4000000000000000");
    // If both leases are renewed at one instant, that is one deadline.
    let renewed = 65_536 / 2..=65_536 + 1;
    assert!(renewed.contains(&fired(&turned)), "{turned}");
    assert_eq!(server.ask(main, "PTTL l"), ":100\r\n");
    assert_eq!(server.ask(main, "EXISTS k"), ":0\r\n");
    let turned = server.ask(main, "CLOCK.NEXT COUNT 9223372036854775807");
    assert!(renewed.contains(&fired(&turned)), "{turned}");
    assert!(server.ask(main, "SEM.INFO s").contains("$4\r\nleft\r\n:2\r\n"));
    close(&mut server, holder);
    assert_eq!(server.ask(main, "EXISTS l"), ":0\r\n");
    assert_eq!(server.ask(main, "GET s"), "$1\r\n3\r\n");
}

/// A hold of a connection stays one when its mode changes, in either direction.
#[test]
fn a_converted_hold_still_belongs_to_its_session() {
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

/// Two connections of one process share an owner's hold: the end of one ends its own part, and no more.
#[test]
fn a_disconnect_keeps_holds_of_the_owners_other_connections() {
    for kind in ["", "EXCLUSIVE ", "SHARED "] {
        let (mut server, main) = server();
        let [one, other] = [server.connect(), server.connect()];
        for client in [one, other, other] {
            server.ask(client, &format!("LOCK.ACQUIRE l a {kind}SESSION PX 3000"));
        }
        assert_eq!(server.ask(other, "LOCK.RELEASE l a"), ":2\r\n", "{kind}");
        close(&mut server, other);
        server.ask(main, "CLOCK.ADVANCE 60000");
        assert!(server.ask(main, "LOCK.INFO l").contains("$5\r\nholds\r\n:1\r\n"), "{kind}");
        assert_eq!(server.ask(one, "LOCK.RELEASE l a"), ":0\r\n", "{kind}");
        assert!(server.ask(main, "CLOCK.INFO").contains("$6\r\ntimers\r\n:0\r\n"), "{kind}");
    }
    let (mut server, main) = server();
    let [one, other] = [server.connect(), server.connect()];
    for client in [one, other] {
        server.ask(client, "LOCK.ACQUIRE l a SESSION PX 3000");
    }
    server.ask(main, "LOCK.RELEASE l a");
    close(&mut server, other);
    assert!(
        server.ask(main, "LOCK.INFO l").contains("$5\r\nholds\r\n:1\r\n"),
        "who gave it back is not known"
    );
    close(&mut server, one);
    assert_eq!(server.ask(main, "EXISTS l"), ":0\r\n");
}

/// A session's hold lasts as long as the connection, whatever lease it is given in addition.
#[test]
fn no_command_makes_the_lease_of_a_session_shorter() {
    for again in ["LOCK.RENEW 1 l a PX 500", "LOCK.ACQUIRE l a PX 500", "LOCK.ACQUIRE l a SESSION PX 500"] {
        for kind in ["", "EXCLUSIVE ", "SHARED "] {
            let (mut server, main) = server();
            let holder = server.connect();
            server.ask(holder, &format!("LOCK.ACQUIRE l a {kind}SESSION PX 3000"));
            let again =
                again.replace("l a ", &format!("l a {}", if again.contains("RENEW") { "" } else { kind }));
            assert!(!server.ask(holder, &again).starts_with('-'), "{again}");
            assert_eq!(server.ask(main, "PTTL l"), ":3000\r\n", "{again}");
            server.ask(main, "CLOCK.ADVANCE 60000");
            assert!(server.ask(main, "LOCK.INFO l").contains("$5\r\nowner\r\n$1\r\na\r\n"), "{again}");
        }
    }
    for (take, name) in [("", "s"), (" IDS", "")] {
        let (mut server, main) = server();
        let holder = server.connect();
        server.ask(main, "SEM.INIT k 1");
        let taken = server.ask(holder, &format!("SEM.ACQUIRE k s SESSION PX 3000{take}"));
        let id = taken.trim_end().rsplit("\r\n").next().unwrap_or_default();
        let name = if name.is_empty() { id } else { name };
        assert_eq!(server.ask(holder, &format!("SEM.RENEW k {name} PX 500")), ":1\r\n", "{taken}");
        server.ask(main, "CLOCK.ADVANCE 60000");
        assert_eq!(server.ask(main, "SEM.ACQUIRE k other"), "$-1\r\n", "{take}");
        close(&mut server, holder);
        assert_eq!(server.ask(main, "GET k"), "$1\r\n1\r\n", "{take}");
    }
}

/// Whether a lock is still held after a minute, and with how many holds.
fn holds_for_long(server: &mut Simulation, main: u64, owner: &str) -> Option<u32> {
    server.ask(main, "CLOCK.ADVANCE 60000");
    let held = server.ask(main, &format!("HGET l {owner}"));
    held.lines().nth(1).map(|holds| holds.parse().expect("a number"))
}

/// A connection releases its own holds, and no others, however these were taken.
#[test]
fn a_disconnect_keeps_holds_taken_without_a_session() {
    let day = "PX 86400000";
    for (lines, of_first, of_second) in [
        // The second connection has set the lease of both.
        (["1 LOCK.ACQUIRE l a DAY", "2 LOCK.ACQUIRE l a SESSION", ""], Some(1), None),
        (["2 LOCK.ACQUIRE l a SESSION", "1 LOCK.ACQUIRE l a DAY", ""], Some(1), Some(1)),
        (["2 LOCK.ACQUIRE l a SESSION", "2 LOCK.ACQUIRE l a DAY", ""], None, None),
        (["2 LOCK.ACQUIRE l a SESSION", "1 LOCK.ACQUIRE l a DAY", "2 LOCK.RELEASE l a"], Some(1), Some(1)),
        (
            ["1 LOCK.ACQUIRE l a SESSION", "2 LOCK.ACQUIRE l a SESSION", "2 LOCK.MRELEASE 1 l a"],
            Some(1),
            Some(1),
        ),
        (["1 LOCK.ACQUIRE l a SESSION", "2 LOCK.ACQUIRE l a SESSION", "1 LOCK.MRELEASE 1 l a"], None, None),
    ] {
        let (mut server, main) = server();
        let clients = [server.connect(), server.connect()];
        for line in lines.iter().filter(|line| !line.is_empty()) {
            let (client, line) = line.split_once(' ').expect("who says it");
            let client = clients[client.parse::<usize>().expect("a number") - 1];
            let answer = server.ask(client, &line.replace("DAY", day));
            assert!(!answer.starts_with('-'), "{lines:?}: {answer}");
        }
        close(&mut server, clients[1]);
        assert_eq!(server.ask(main, "EXISTS l"), format!(":{}\r\n", of_first.unwrap_or(0)), "{lines:?}");
        assert_eq!(holds_for_long(&mut server, main, "a"), of_second, "{lines:?}");
    }
    // A client that has released its own leases holds none any more.
    let (mut server, main) = server();
    let [one, other] = [server.connect(), server.connect()];
    server.ask(one, "LOCK.ACQUIRE l a SESSION PX 3000");
    server.ask(other, "LOCK.ACQUIRE l a PX 1000");
    server.ask(one, "LOCK.RELEASE l a");
    assert_eq!(holds_for_long(&mut server, main, "a"), None);
}

/// The leases of one owner's readers end one by one; a session's leases are renewed whichever others end.
#[test]
fn the_session_of_a_reader_outlasts_other_holds_of_its_owner() {
    for (first, ends) in [("SESSION PX 3000", true), ("PX 1000", false)] {
        let (mut server, main) = server();
        let [one, other] = [server.connect(), server.connect()];
        server.ask(one, &format!("LOCK.ACQUIRE l a SHARED {first}"));
        server.ask(other, "LOCK.ACQUIRE l a SHARED SESSION PX 30000");
        match ends {
            true => close(&mut server, one),
            false => assert_eq!(server.ask(one, "LOCK.RELEASE l a"), ":1\r\n"),
        }
        assert_eq!(holds_for_long(&mut server, main, "a"), Some(1), "{first}");
        assert_eq!(server.ask(other, "LOCK.RELEASE l a"), ":0\r\n", "{first}");
    }
}

#[test]
fn a_conversion_keeps_the_holds_of_each_session() {
    // The writer's hold belongs to the connection that requested it.
    let (mut server, main) = self::server();
    let [one, other] = [server.connect(), server.connect()];
    [one, other].into_iter().for_each(|client| drop(server.ask(client, "LOCK.ACQUIRE l a SHARED SESSION")));
    assert!(!server.ask(one, "LOCK.CONVERT l a EXCLUSIVE").starts_with('-'));
    close(&mut server, one);
    assert_eq!(holds_for_long(&mut server, main, "a:write"), None);
    assert_eq!(holds_for_long(&mut server, main, "a"), Some(1));
    // The reader's hold keeps its lease when the writer reads too.
    for writer in ["SESSION", "PX 5000"] {
        let (mut server, main) = self::server();
        let [one, other] = [server.connect(), server.connect()];
        server.ask(one, &format!("LOCK.ACQUIRE l a EXCLUSIVE {writer}"));
        server.ask(other, "LOCK.ACQUIRE l a SHARED SESSION");
        assert!(!server.ask(one, "LOCK.CONVERT l a SHARED").starts_with('-'));
        close(&mut server, one);
        assert_eq!(holds_for_long(&mut server, main, "a"), Some(1), "{writer}");
        close(&mut server, other);
        assert_eq!(server.ask(main, "EXISTS l"), ":0\r\n", "{writer}");
    }
    let (mut server, main) = self::server();
    let one = server.connect();
    server.ask(one, "LOCK.ACQUIRE l a EXCLUSIVE SESSION");
    server.ask(one, "LOCK.CONVERT l a SHARED PX 1000");
    assert_eq!(holds_for_long(&mut server, main, "a"), Some(1));
}

/// No client requested the end of a hold that its session's close causes.
#[test]
fn a_hold_ended_by_a_disconnect_is_attributed_to_no_request() {
    let (mut server, main) = server();
    server.ask(main, "CONFIG SET lock-history yes");
    let [one, other] = [server.connect(), server.connect()];
    [one, other].into_iter().for_each(|client| drop(server.ask(client, "LOCK.ACQUIRE l a SESSION")));
    close(&mut server, one);
    let history = server.ask(main, "LOCK.HISTORY KEY l FORMAT JSON");
    assert!(history.contains(r#""cause":"disconnected"}"#), "{history}");
    assert!(!history.contains(r#""cause":"released""#), "{history}");
}

/// The lease in the answer is the owner's own.
#[test]
fn the_ttl_in_a_reply_is_the_readers_own_lease() {
    let (mut server, main) = server();
    server.ask(main, "LOCK.ACQUIRE l p SHARED PX 60000");
    server.ask(main, "LOCK.ACQUIRE l o SHARED PX 1000");
    assert!(server.ask(main, "LOCK.ACQUIRE l o SHARED PX 2000").contains("$3\r\nttl\r\n:2000\r\n"));
    assert!(!server.ask(main, "LOCK.TRANSFER l o q PX 100").starts_with('-'));
    server.ask(main, "CLOCK.ADVANCE 100");
    assert!(server.ask(main, "LOCK.RELEASE l q").starts_with("-LOCKLOST"));
    assert_eq!(server.ask(main, "LOCK.RELEASE l p"), ":0\r\n");
}

/// A hold that a connection has converted and converted back is one hold.
#[test]
fn a_hold_converted_and_converted_back_is_released_once() {
    let holds = |server: &mut Simulation, main| holds_for_long(server, main, "a");
    for lines in [
        &["1 ACQUIRE l a SHARED SESSION", "2 ACQUIRE l a SHARED DAY", "1 UP", "1 DOWN"][..],
        // Another connection has joined before, or since; the hold has been released once.
        &["1 ACQUIRE l a SHARED SESSION", "2 ACQUIRE l a SHARED DAY", "1 UP", "1 DOWN", "1 RELEASE l a"],
        &["1 ACQUIRE l a SHARED SESSION", "1 UP", "1 DOWN", "2 ACQUIRE l a SHARED DAY", "1 RELEASE l a"],
        // The other connection's hold, which no connection leases, is converted.
        &["1 ACQUIRE l a SHARED SESSION", "2 ACQUIRE l a SHARED DAY", "2 UP", "1 DOWN"],
        &["1 ACQUIRE l a SHARED SESSION", "2 ACQUIRE l a SHARED SESSION", "2 UP", "2 DOWN"],
    ] {
        let (mut server, main) = self::server();
        let clients = [server.connect(), server.connect()];
        for line in lines {
            let (client, request) = line.split_once(' ').expect("who and what");
            let request = match request {
                "UP" => "CONVERT l a EXCLUSIVE".to_owned(),
                "DOWN" => "CONVERT l a SHARED".to_owned(),
                other => other.replace("DAY", "PX 86400000"),
            };
            let client = clients[client.parse::<usize>().expect("a number") - 1];
            let told = server.ask(client, &format!("LOCK.{request}"));
            assert!(!told.starts_with('-'), "{lines:?}: {told}");
        }
        close(&mut server, clients[0]);
        assert_eq!(holds(&mut server, main), Some(1), "{lines:?}");
        assert_eq!(server.ask(clients[1], "LOCK.RELEASE l a"), ":0\r\n", "{lines:?}");
    }
}

#[test]
fn a_session_survives_the_transfer_of_another_hold_to_its_owner() {
    let (mut server, main) = server();
    let [holder, giver] = [server.connect(), server.connect()];
    server.ask(holder, "LOCK.ACQUIRE l b SHARED SESSION PX 4000");
    server.ask(giver, "LOCK.ACQUIRE l a SHARED PX 9000");
    assert_eq!(server.ask(giver, "LOCK.TRANSFER l a b PX 100"), ":1\r\n", "by the grant that it has");
    assert_eq!(holds_for_long(&mut server, main, "b"), Some(2));
    assert_eq!(server.ask(holder, "LOCK.CHECK l 1"), ":1\r\n");
    close(&mut server, holder);
    server.ask(main, "CLOCK.ADVANCE 60000");
    assert_eq!(server.ask(main, "EXISTS l"), ":0\r\n");
    // A transferred hold belongs to its new owner from then on.
    let holder = server.connect();
    server.ask(holder, "LOCK.ACQUIRE l b SHARED SESSION PX 4000");
    server.ask(giver, "LOCK.ACQUIRE l a SHARED PX 9000");
    server.ask(giver, "LOCK.TRANSFER l a b");
    close(&mut server, holder);
    assert_eq!(server.ask(main, "HGET l b"), "$1\r\n1\r\n");
    assert_eq!(server.ask(main, "LOCK.ACQUIRE l w EXCLUSIVE"), "$-1\r\n");
}

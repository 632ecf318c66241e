//! `ASYNC`: a request waits while its client continues, and a push reports the end of the wait.

use super::sessions::close;
use lockwheel_engine::config::Config;
use lockwheel_engine::core::Simulation;

const NO_PUSHES: &str = "-ERR ASYNC reports the grant by a push message, which needs RESP3: send HELLO 3\r\n";

/// A server on frozen clocks, a client that controls it, and one that speaks RESP3.
fn server() -> (Simulation, u64, u64) {
    let mut server = Simulation::new(Config::default(), 7);
    let [main, client] = [server.connect(), server.connect()];
    server.ask(main, "CLOCK.FREEZE");
    server.ask(client, "HELLO 3");
    (server, main, client)
}

/// The answer of a request that waits: its ticket.
fn ticket(answer: &str) -> u64 {
    let ticket = answer.strip_prefix("*2\r\n+QUEUED\r\n:").unwrap_or_else(|| panic!("{answer}"));
    ticket.lines().next().and_then(|line| line.parse().ok()).expect("a number")
}

/// A push about the wait of `b` for `l`.
fn push(kind: &str, ticket: u64, rest: &str) -> String {
    let fields = if rest.is_empty() { 4 } else { 5 };
    format!(
        ">2\r\n${}\r\n{kind}\r\n%{fields}\r\n$6\r\nticket\r\n:{ticket}\r\n$2\r\ndb\r\n:0\r\n$3\r\nkey\r\n$1\r\nl\r\n\
         $5\r\nowner\r\n$1\r\nb\r\n{rest}",
        kind.len()
    )
}

fn granted(ticket: u64, token: u64, waited_ms: u64, predecessor: &str) -> String {
    let reply = format!(
        "$5\r\nreply\r\n%5\r\n$5\r\ntoken\r\n:{token}\r\n$5\r\nholds\r\n:1\r\n$3\r\nttl\r\n:30000\r\n$6\r\nwaited\r\n\
         :{waited_ms}\r\n$11\r\npredecessor\r\n${}\r\n{predecessor}\r\n",
        predecessor.len()
    );
    push("lock-granted", ticket, &reply)
}

#[test]
fn a_client_with_a_ticket_continues_and_gets_a_push_for_the_grant() {
    for mode in
        ["", "EXCLUSIVE", "FAIR", "LAYOUT STRING", "PRIORITY 3", "SESSION", "DELAY 5 DATA x", "FENCE r"]
    {
        let (mut server, main, client) = server();
        server.ask(main, &format!("LOCK.ACQUIRE l a {}", if mode == "SESSION" { "" } else { mode }));
        let ticket = ticket(&server.ask(client, &format!("LOCK.ACQUIRE l b ASYNC {mode}")));
        assert_eq!(server.ask(client, "PING"), "+PONG\r\n");
        assert!(server.ask(main, "INFO clients").contains("blocked_clients:0"));
        let info = server.ask(main, "LOCK.INFO l");
        assert!(info.contains("$5\r\nowner\r\n$1\r\nb\r\n") && info.contains("client\r\n:2\r\n"), "{info}");
        assert_eq!(server.ask(main, "AWAIT.WAITERS l 1 EXACT"), ":1\r\n");
        server.ask(main, "CLOCK.ADVANCE 7");
        server.ask(main, "LOCK.RELEASE l a");
        assert_eq!(server.read(client), granted(ticket, 2, 7, "released"), "{mode}");
        assert!(server.ask(main, "LOCK.RELEASE l b").contains(":0"));
        assert_eq!(server.ask(main, "DBSIZE"), ":0\r\n", "{mode}");
    }
}

#[test]
fn async_grants_a_free_lock_at_once_and_needs_resp3() {
    let (mut server, main, client) = server();
    for line in ["LOCK.ACQUIRE l a ASYNC", "LOCK.MACQUIRE 1 l a ASYNC"] {
        assert_eq!(server.ask(main, line), NO_PUSHES);
        assert!(server.ask(client, line).contains("waited"));
        server.ask(client, "LOCK.RELEASE l a ALL");
    }
    assert_eq!(server.ask(main, "DBSIZE"), ":0\r\n");
    assert!(server.ask(client, "LOCK.ACQUIRE l a ASYNC ASYNC").starts_with("-ERR syntax error: "));
}

#[test]
fn no_ticket_is_given_in_transactions_and_scripts() {
    let (mut server, main, client) = server();
    server.ask(main, "LOCK.ACQUIRE l a");
    server.ask(client, "MULTI");
    server.ask(client, "LOCK.ACQUIRE l b ASYNC");
    assert_eq!(server.ask(client, "EXEC"), "*1\r\n_\r\n");
    let script = "EVAL \"return redis.call('lock.acquire', 'l', 'b', 'ASYNC')\" 0";
    assert_eq!((server.ask(client, script), server.ask(main, script)), ("_\r\n".into(), "$-1\r\n".into()));
    assert_eq!(server.ask(main, "AWAIT.WAITERS l 0 EXACT"), ":1\r\n");
}

#[test]
fn the_time_of_a_ticket_ends_its_wait() {
    let (mut server, main, client) = server();
    server.ask(main, "LOCK.ACQUIRE l a PX 5000");
    let first = ticket(&server.ask(client, "LOCK.ACQUIRE l b ASYNC BLOCK 100"));
    let second = ticket(&server.ask(client, "LOCK.ACQUIRE l b ASYNC BLOCK 0"));
    assert!(first < second);
    server.ask(main, "CLOCK.ADVANCE 99");
    assert_eq!(server.read(client), "");
    let next = server.ask(main, "CLOCK.NEXT");
    assert!(next.contains(&format!("$6\r\nticket\r\n:{first}\r\n")), "{next}");
    assert_eq!(server.read(client), push("lock-timedout", first, ""));
    server.ask(main, "CLOCK.ADVANCE 4900");
    assert_eq!(server.read(client), granted(second, 2, 5000, "expired"));
    // A deadline at the very end of the number range.
    server.ask(client, "LOCK.ACQUIRE l c ASYNC BLOCK 9223372036854775807");
    assert_eq!(server.ask(main, "AWAIT.WAITERS l 1 EXACT"), ":1\r\n");
}

#[test]
fn a_ticket_is_cancelled_by_name_or_by_an_error() {
    let (mut server, main, client) = server();
    server.ask(main, "LOCK.ACQUIRE l a");
    let cancelled = ticket(&server.ask(client, "LOCK.ACQUIRE l b ASYNC"));
    assert_eq!(server.ask(main, "LOCK.CANCEL l b"), ":1\r\n");
    let error = "$5\r\nerror\r\n$36\r\nUNBLOCKED LOCK.CANCEL ended the wait\r\n";
    assert_eq!(server.read(client), push("lock-cancelled", cancelled, error));
    let failed = ticket(&server.ask(client, "LOCK.ACQUIRE l b ASYNC"));
    server.ask(main, "DEL l");
    assert_eq!(server.read(client), granted(failed, 2, 0, "deleted"));
    server.ask(main, "DEL l");
    server.read(client);
    server.ask(main, "LOCK.ACQUIRE l a");
    let failed = ticket(&server.ask(client, "LOCK.ACQUIRE l b ASYNC"));
    server.ask(main, "SET l text");
    let wrong = "WRONGTYPE Operation against a key holding the wrong kind of value";
    let error = format!("$5\r\nerror\r\n${}\r\n{wrong}\r\n", wrong.len());
    assert_eq!(server.read(client), push("lock-cancelled", failed, &error));
    assert_eq!(server.ask(main, "AWAIT.WAITERS l 0 EXACT"), ":1\r\n");
}

#[test]
fn a_disconnected_or_reset_client_stops_waiting() {
    for end in ["close", "gone", "RESET", "HELLO 2", "QUIT", "CLIENT KILL ID 2", "CONTROL.RESET KEEPCLIENTS"]
    {
        let (mut server, main, client) = server();
        let next = server.connect();
        server.ask(main, "LOCK.ACQUIRE l a");
        server.ask(client, "LOCK.ACQUIRE l b ASYNC FAIR BLOCK 5000");
        server.ask(client, "LOCK.MACQUIRE 2 l m b ASYNC SESSION");
        server.send(next, "LOCK.ACQUIRE l c BLOCK 0");
        match end {
            "close" => close(&mut server, client),
            "gone" => server.close(client),
            "CLIENT KILL ID 2" | "CONTROL.RESET KEEPCLIENTS" => drop(server.ask(main, end)),
            _ => drop(server.ask(client, end)),
        }
        server.notice();
        if end.starts_with("CONTROL") {
            assert_eq!(server.ask(main, "DBSIZE"), ":0\r\n");
            server.ask(main, "LOCK.ACQUIRE l a");
            assert_eq!(server.ask(main, "AWAIT.WAITERS l 0 EXACT"), ":1\r\n");
            continue;
        }
        server.ask(main, "LOCK.RELEASE l a");
        let served = server.read(next);
        assert!(served.contains("token\r\n:2\r\n"), "{end}: {served}");
        assert!(!server.read(client).contains("granted"), "{end}");
        assert_eq!(server.ask(main, "DBSIZE"), ":1\r\n", "{end}: nothing of the queue is left");
    }
}

/// The wait ends at once, and not only at its turn.
#[test]
fn a_client_that_can_get_no_pushes_stops_waiting() {
    for end in ["RESET", "HELLO 2", "HELLO 2;HELLO 3", "MULTI;HELLO 2;EXEC", "QUIT", "SYNC", "PSYNC ? -1"] {
        let (mut server, main, client) = server();
        server.ask(main, "CONFIG SET lock-history yes");
        server.ask(main, "LOCK.ACQUIRE l a");
        server.ask(main, "LOCK.ACQUIRE m a");
        server.ask(client, "LOCK.ACQUIRE l b ASYNC FAIR");
        server.ask(client, "LOCK.MACQUIRE 2 l m b ASYNC SESSION");
        assert_eq!(server.ask(main, "AWAIT.WAITERS l 2 EXACT"), ":1\r\n");
        end.split(';').for_each(|line| drop(server.ask(client, line)));
        server.notice();
        for key in ["l", "m"] {
            assert_eq!(server.ask(main, &format!("AWAIT.WAITERS {key} 0 EXACT")), ":1\r\n", "{end}");
            let scan = server.ask(main, "LOCK.SCAN 0 STATE WAITED");
            assert!(scan.ends_with("*0\r\n"), "{end}: {scan}");
        }
        assert_eq!(server.ask(main, "DBSIZE"), ":2\r\n", "{end}: nothing of the queue is left");
        server.ask(main, "LOCK.RELEASE l a");
        server.ask(main, "LOCK.RELEASE m a");
        assert_eq!(server.ask(main, "DBSIZE"), ":0\r\n", "{end}");
        assert!(!server.read(client).contains("lock-"), "{end}");
        let history = server.ask(main, "LOCK.HISTORY FORMAT JSON");
        assert_eq!(history.matches("left-queue").count(), 3, "{end}: {history}");
    }
    // Pushes are still sent without replies.
    let (mut server, main, client) = server();
    server.ask(main, "LOCK.ACQUIRE l a");
    server.ask(client, "LOCK.ACQUIRE l b ASYNC");
    server.ask(client, "CLIENT REPLY OFF");
    server.ask(main, "LOCK.RELEASE l a");
    assert!(server.read(client).contains("lock-granted"));
}

#[test]
fn several_locks_are_waited_for_by_one_ticket() {
    let (mut server, main, client) = server();
    server.ask(main, "LOCK.ACQUIRE k a");
    let ticket = ticket(&server.ask(client, "LOCK.MACQUIRE 2 k l b ASYNC"));
    server.ask(main, "LOCK.RELEASE k a");
    assert_eq!(
        server.read(client),
        format!(
            ">2\r\n$12\r\nlock-granted\r\n%5\r\n$6\r\nticket\r\n:{ticket}\r\n$2\r\ndb\r\n:0\r\n$4\r\nkeys\r\n*2\r\n\
             $1\r\nk\r\n$1\r\nl\r\n$5\r\nowner\r\n$1\r\nb\r\n$5\r\nreply\r\n%2\r\n$6\r\ntokens\r\n*2\r\n:2\r\n:3\r\n\
             $6\r\nwaited\r\n:0\r\n"
        )
    );
}

#[test]
fn a_deadlock_gets_no_ticket_and_tickets_are_limited_per_client() {
    let (mut server, main, client) = server();
    server.ask(main, "LOCK.ACQUIRE x a");
    server.ask(client, "LOCK.ACQUIRE y b");
    ticket(&server.ask(client, "LOCK.ACQUIRE x b ASYNC"));
    assert_eq!(server.ask(main, "LOCK.ACQUIRE y a BLOCK 0"), "-DEADLOCK a -> y -> b -> x -> a\r\n");
    for _ in 1..1024 {
        ticket(&server.ask(client, "LOCK.ACQUIRE x b ASYNC FAIR"));
    }
    let full = "-WAITQFULL this connection already waits for 1024 locks\r\n";
    let listener = server.connect();
    server.ask(listener, "PSUBSCRIBE __lock@0__:*");
    assert_eq!(server.ask(client, "LOCK.ACQUIRE x d ASYNC FAIR"), full);
    let told = server.read(listener);
    assert!(told.contains("queued owner=d") && told.contains("cancelled owner=d"), "{told}");
    assert_eq!(server.ask(main, "LRANGE redisson_lock_queue:{x} 0 -1"), "*1\r\n$1\r\nb\r\n");
    server.ask(main, "LOCK.ACQUIRE z b SHARED");
    server.ask(main, "LOCK.ACQUIRE z c SHARED");
    for line in ["LOCK.MACQUIRE 2 v x d ASYNC", "LOCK.CONVERT z b EXCLUSIVE ASYNC"] {
        assert_eq!(server.ask(client, line), full, "{line}");
    }
    assert_eq!(server.ask(main, "EXISTS v"), ":0\r\n");
    // The conversion does not wait, so another may.
    assert!(server.ask(main, "LOCK.CONVERT z c EXCLUSIVE").starts_with("$-1"));
    assert_eq!(server.ask(main, "LOCK.CANCEL x d"), ":0\r\n");
    server.ask(main, "LOCK.RELEASE x a");
    assert_eq!(server.read(client).matches("lock-granted").count(), 1024, "the owner re-enters");
    assert_eq!(server.ask(main, "HGET x b"), "$4\r\n1024\r\n");
    ticket(&server.ask(client, "LOCK.ACQUIRE x c ASYNC"));
}

/// An owner that a request passes by its priority waits for the owner of that request from then on.
#[test]
fn a_passing_request_can_close_a_cycle_with_its_owners_tickets() {
    for (several, answer) in [
        ("LOCK.MACQUIRE 2 k m n ASYNC PRIORITY 1", "-DEADLOCK n -> k3 -> w -> k -> n"),
        ("LOCK.MACQUIRE 2 m k n BLOCK 0 PRIORITY 1", "-DEADLOCK n -> k3 -> w -> k -> n"),
        ("LOCK.MACQUIRE 2 k m n ASYNC", "*2"),
        ("LOCK.MACQUIRE 2 k m other ASYNC PRIORITY 1", "*2"),
        ("LOCK.MACQUIRE 2 j m n ASYNC PRIORITY 1", "*2"),
    ] {
        let (mut server, main, n) = server();
        let w = server.connect();
        server.ask(w, "HELLO 3");
        server.ask(main, "LOCK.MACQUIRE 2 k j h");
        server.ask(w, "LOCK.ACQUIRE k3 w");
        assert!(server.ask(n, "LOCK.ACQUIRE k3 n ASYNC").contains("QUEUED"));
        assert!(server.ask(w, "LOCK.ACQUIRE k w ASYNC").contains("QUEUED"));
        let told = server.ask(n, several);
        assert!(told.starts_with(answer), "{several}: {told}");
        // No client is left behind: all are served, one after the other.
        server.ask(main, "LOCK.MRELEASE 2 k j h");
        if answer.starts_with("-DEADLOCK") {
            assert!(server.read(w).contains("lock-granted"), "{several}");
            server.ask(w, "LOCK.RELEASE k3 w");
            assert!(server.read(n).contains("lock-granted"), "{several}");
        }
    }
}

#[test]
fn tickets_and_blocked_clients_are_served_in_one_order() {
    let (mut server, main, client) = server();
    let [one, two] = [server.connect(), server.connect()];
    server.ask(main, "LOCK.ACQUIRE l z");
    let mut order = Vec::new();
    server.send(one, "LOCK.ACQUIRE l a BLOCK 0");
    let ticket = ticket(&server.ask(client, "LOCK.ACQUIRE l b ASYNC"));
    server.send(two, "LOCK.ACQUIRE l c BLOCK 0");
    for owner in ["z", "a", "b", "c"] {
        assert_eq!(server.ask(main, &format!("LOCK.RELEASE l {owner}")), ":0\r\n");
        for (name, waiter) in [("a", one), ("b", client), ("c", two)] {
            if !server.read(waiter).is_empty() {
                order.push(name);
            }
        }
    }
    assert_eq!((order, ticket), (vec!["a", "b", "c"], ticket));
}

#[test]
fn a_holder_that_got_the_lock_by_a_ticket_is_notified_of_its_loss() {
    let (mut server, main, client) = server();
    server.ask(main, "LOCK.ACQUIRE l a PX 10");
    server.ask(client, "LOCK.ACQUIRE l b ASYNC SESSION");
    server.ask(main, "CLOCK.ADVANCE 10");
    server.read(client);
    server.ask(main, "CLOCK.ADVANCE 100000");
    assert_eq!(server.ask(main, "LOCK.FORCEUNLOCK l"), ":1\r\n");
    assert!(server.read(client).contains("lock-lost"));
}

/// A conversion leaves its client a ticket like any other request, stands before all others, and is alone.
#[test]
fn a_conversion_can_be_waited_for_by_a_ticket() {
    let (mut server, main, client) = server();
    server.ask(client, "LOCK.ACQUIRE l b SHARED PX 9000");
    server.ask(main, "LOCK.ACQUIRE l c SHARED PX 9000");
    let writer = server.connect();
    server.send(writer, "LOCK.ACQUIRE l w EXCLUSIVE BLOCK 0");
    assert!(server.read(client).contains("lock-contended"));
    let first = ticket(&server.ask(client, "LOCK.CONVERT l b EXCLUSIVE ASYNC PX 5000"));
    assert!(server.ask(main, "LOCK.CONVERT l c EXCLUSIVE BLOCK 0").starts_with("-DEADLOCK"));
    assert_eq!(server.ask(main, "LOCK.CANCEL l b"), ":1\r\n");
    assert!(server.read(client).contains("lock-cancelled"), "ticket {first}");
    let second = ticket(&server.ask(client, "LOCK.CONVERT l b EXCLUSIVE BLOCK 100 ASYNC"));
    server.ask(main, "CLOCK.ADVANCE 100");
    assert!(server.read(client).contains("lock-timedout"), "ticket {second}");
    let third = ticket(&server.ask(client, "LOCK.CONVERT l b EXCLUSIVE ASYNC"));
    server.ask(main, "LOCK.RELEASE l c");
    let told = server.read(client);
    assert!(told.contains("lock-granted") && told.contains(&format!("ticket\r\n:{third}\r\n")), "{told}");
    assert_eq!(server.ask(main, "HGET l b:write"), "$1\r\n1\r\n");
    // An available lock is granted at once.
    assert!(server.ask(client, "LOCK.CONVERT l b SHARED ASYNC").contains("token"));
    assert_eq!(server.ask(main, "LOCK.CONVERT l b EXCLUSIVE ASYNC"), NO_PUSHES);
    assert!(server.ask(client, "LOCK.CONVERT l b EXCLUSIVE ASYNC ASYNC").starts_with("-ERR syntax error: "));
}

/// A client that stays connected is notified, as a blocked client is answered.
#[test]
fn a_reset_ends_tickets_as_a_timeout_does() {
    let (mut server, main, client) = server();
    server.ask(main, "LOCK.ACQUIRE l a");
    let ticket = ticket(&server.ask(client, "LOCK.ACQUIRE l b ASYNC"));
    assert_eq!(server.ask(main, "CONTROL.RESET KEEPCLIENTS"), "+OK\r\n");
    assert_eq!(server.read(client), push("lock-timedout", ticket, ""));
}

/// Numbers of tickets begin again.
#[test]
fn a_reset_cancels_the_timers_of_tickets() {
    let (mut server, main, client) = server();
    for reset in ["CONTROL.RESET KEEPCLIENTS", "CONTROL.RESET"] {
        let asker = if reset.ends_with("CLIENTS") { main } else { client };
        server.ask(main, "LOCK.ACQUIRE l a");
        server.ask(client, "LOCK.ACQUIRE l b ASYNC BLOCK 50");
        server.ask(asker, reset);
        server.read(client);
        assert!(server.ask(client, "CLOCK.INFO").contains("timers\r\n:0\r\n"), "{reset}");
        server.ask(client, "CLOCK.FREEZE");
    }
}

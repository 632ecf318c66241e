//! LOCK.VERIFY: mistakes caused by the order of clients' requests, and by answers that they do not get.

use crate::history::fixture::Server;
use crate::history::verify::{found, verify};

const UNANSWERED: &str = "suspect unanswered-acquire";

/// A server that withholds its next answer to LOCK.ACQUIRE by this fault.
fn with_fault(action: &str) -> Server {
    let mut server = Server::new();
    server.ask(&format!("FAULT.ADD lost ON lock.acquire TIMES 1 DO {action}"));
    let alice = server.client();
    server.send(alice, "LOCK.ACQUIRE l alice PX 10000");
    server
}

#[test]
fn re_entry_after_a_lost_reply_is_a_suspect() {
    for action in
        ["CLOSEAFTER", "DROPREPLY", "DROPREPLY CLOSEAFTER 5", "TRUNCATE 3", "DELAYREPLY 100", "HOLDREPLY"]
    {
        let mut server = with_fault(action);
        let again = server.client();
        server.send(again, "LOCK.ACQUIRE l alice PX 10000");
        assert_eq!(server.send(again, "LOCK.RELEASE l alice"), ":1\r\n", "{action}");
        let (found_now, text) = verify(&mut server, "LOCK.VERIFY");
        assert_eq!(found_now, ["suspect", UNANSWERED], "{action}");
        let told = format!(
            "alice was given l by a request whose reply was withheld ({action}), and took it again, and has not \
             released all its holds"
        );
        assert!(text.contains(&told), "{text}");
        server.send(again, "LOCK.RELEASE l alice");
        assert_eq!(found(&mut server), ["ok"], "{action}");
    }
}

#[test]
fn a_lease_that_runs_out_after_a_lost_reply_is_a_suspect() {
    let mut server = with_fault("CLOSEAFTER");
    assert_eq!(found(&mut server), ["suspect", UNANSWERED]);
    server.advance(10_000);
    let (found, text) = verify(&mut server, "LOCK.VERIFY");
    assert_eq!(found, ["suspect", UNANSWERED]);
    assert!(text.contains("held it until the lease expired"), "{text}");
}

#[test]
fn an_owner_that_handles_a_lost_reply_is_no_suspect() {
    for knows in [
        "LOCK.RELEASE l alice ALL",
        "LOCK.ACQUIRE l alice NOREENTER",
        "LOCK.RENEW 1 l alice PX 9000",
        "DEL l",
    ] {
        let mut server = with_fault("DROPREPLY");
        let again = server.client();
        server.send(again, knows);
        assert!(!found(&mut server).contains(&UNANSWERED.to_owned()), "{knows}");
    }
}

#[test]
fn lost_replies_to_other_requests_are_no_suspects() {
    let mut server = Server::new();
    let alice = server.client();
    server.send(alice, "LOCK.ACQUIRE l alice PX 10000");
    server.ask("FAULT.ADD lost ON lock.renew DO CLOSEAFTER");
    server.send(alice, "LOCK.RENEW 1 l alice PX 20000");
    let again = server.client();
    server.ask("FAULT.ADD also ON get DO CLOSEAFTER");
    server.send(again, "GET other");
    assert_eq!(found(&mut server), ["ok"]);
}

#[test]
fn every_lock_of_a_request_with_a_lost_reply_is_a_suspect() {
    let mut server = Server::new();
    let alice = server.client();
    server.ask("FAULT.ADD lost ON lock.macquire DO CLOSEAFTER");
    server.send(alice, "LOCK.MACQUIRE 2 k l alice PX 10000");
    assert_eq!(found(&mut server), ["suspect", UNANSWERED, UNANSWERED]);
    let again = server.client();
    server.send(again, "LOCK.MRELEASE 2 k l alice");
    assert_eq!(found(&mut server), ["ok"]);
}

#[test]
fn a_transaction_with_a_lost_reply_is_a_suspect() {
    let mut server = Server::new();
    let alice = server.client();
    server.ask("FAULT.ADD lost ON exec DO CLOSEAFTER");
    server.send(alice, "MULTI");
    server.send(alice, "LOCK.ACQUIRE l alice PX 10000");
    server.send(alice, "EXEC");
    assert_eq!(found(&mut server), ["suspect", UNANSWERED]);
}

#[test]
fn a_frozen_owner_is_a_suspect_until_it_thaws() {
    let mut server = Server::new();
    let [alice, bob] = [server.client(), server.client()];
    server.send(alice, "CLIENT SETNAME alice");
    server.send(bob, "LOCK.ACQUIRE l bob PX 10000");
    server.send(alice, "LOCK.ACQUIRE l alice PX 10000 BLOCK 0");
    server.ask("FAULT.FREEZECLIENT NAME alice FOREVER");
    server.send(bob, "LOCK.RELEASE l bob");
    assert_eq!(found(&mut server), ["suspect", UNANSWERED]);
    server.ask("FAULT.THAWCLIENT NAME alice");
    assert_eq!(found(&mut server), ["ok"]);
}

/// Answers that the client got at the same instant, before the answer that it does not get.
#[test]
fn a_reply_before_the_fault_counts_as_received() {
    for (before, fault, request) in [
        ("LOCK.ACQUIRE l alice PX 10000", "ping", "PING"),
        ("LOCK.ACQUIRE l alice PX 10000", "get", "GET l"),
        ("LOCK.ACQUIRE l alice PX 10000", "lock.acquire", "LOCK.ACQUIRE held alice"),
        ("SET l alice NX PX 10000", "set", "SET held alice NX PX 10000"),
    ] {
        let mut server = Server::new();
        let [alice, bob] = [server.client(), server.client()];
        server.send(bob, "LOCK.ACQUIRE held bob PX 10000");
        server.send(alice, before);
        server.ask(&format!("FAULT.ADD lost ON {fault} DO CLOSEAFTER"));
        server.send(alice, request);
        assert_eq!(found(&mut server), ["ok"], "{before}, {request}");
    }
}

#[test]
fn a_lost_reply_makes_no_suspect_of_other_locks() {
    let mut server = Server::new();
    let alice = server.client();
    server.send(alice, "LOCK.ACQUIRE k alice PX 10000");
    server.ask("FAULT.ADD lost ON lock.acquire DO CLOSEAFTER");
    server.send(alice, "LOCK.ACQUIRE l alice PX 10000");
    assert_eq!(found(&mut server), ["suspect", UNANSWERED]);
    let again = server.client();
    server.ask("FAULT.CLEAR");
    server.send(again, "LOCK.RELEASE l alice");
    assert_eq!(found(&mut server), ["ok"]);
}

/// A waiter that a transaction serves has its own answer. The transaction's answer is lost, with the lock that it has
/// taken.
#[test]
fn a_waiter_served_by_a_transaction_gets_its_own_reply() {
    let mut server = Server::new();
    let [alice, bob] = [server.client(), server.client()];
    server.send(alice, "LOCK.ACQUIRE k alice PX 10000");
    server.send(bob, "LOCK.ACQUIRE k bob PX 10000 BLOCK 0");
    server.ask("FAULT.ADD lost ON exec DO CLOSEAFTER");
    for line in ["MULTI", "LOCK.ACQUIRE l alice PX 10000", "LOCK.RELEASE k alice", "PING", "EXEC"] {
        server.send(alice, line);
    }
    let (found, text) = verify(&mut server, "LOCK.VERIFY");
    assert_eq!(found, ["suspect", UNANSWERED]);
    assert!(text.contains("alice was given l by a request"), "{text}");
}

/// A thread of an instance of Redisson.
fn owner(instance: usize) -> String {
    format!("8743c9c0-0795-4907-87fd-6c719a6b{instance:04}:1")
}

/// A client that is refused, subscribes if it is to, and asks once more, as Redisson does.
fn waiter(server: &mut Server, key: &str, owner: &str, listens: bool) -> u64 {
    waiter_and_listener(server, key, owner, listens).0
}

/// Works as [`waiter`]. Returns also the connection that listens.
fn waiter_and_listener(server: &mut Server, key: &str, owner: &str, listens: bool) -> (u64, u64) {
    let [client, listener] = [server.client(), server.client()];
    server.take(client, key, owner, 60_000);
    if listens {
        server.send(listener, &format!("SUBSCRIBE redisson_lock__channel:{{{key}}}"));
    }
    server.take(client, key, owner, 60_000);
    (client, listener)
}

/// This number of clients wait for a lock, which is released. All ask again, and one of them gets it.
fn one_hand_off(waiters: usize, listen: bool) -> Server {
    let mut server = Server::new();
    let holder = server.client();
    server.take(holder, "l", &owner(0), 60_000);
    let clients: Vec<u64> = (1..=waiters).map(|n| waiter(&mut server, "l", &owner(n), listen)).collect();
    server.give_back(holder, "l", &owner(0));
    for (client, n) in clients.into_iter().zip(1..) {
        server.take(client, "l", &owner(n), 60_000);
    }
    server
}

#[test]
fn a_hand_off_that_wakes_many_clients_is_a_thundering_herd() {
    let mut server = one_hand_off(12, true);
    let (found_now, text) = verify(&mut server, "LOCK.VERIFY");
    assert_eq!(found_now, ["ok", "lint thundering-herd"]);
    let told = "a hand-off of l woke 11 clients in vain; clients woken in vain by all hand-offs (1): 11";
    assert!(text.contains(told), "{text}");
    server.ask("CONFIG SET lock-herd-limit 11");
    assert_eq!(found(&mut server), ["ok"]);
}

#[test]
fn a_hand_off_that_wakes_few_clients_is_no_thundering_herd() {
    assert_eq!(found(&mut one_hand_off(11, true)), ["ok"]);
}

/// The clients were not woken: they ask again and again, whoever has the lock.
#[test]
fn clients_that_do_not_listen_are_no_thundering_herd() {
    assert_eq!(found(&mut one_hand_off(30, false)), ["ok"]);
}

#[test]
fn a_refused_deadlock_is_reported_as_lint() {
    let mut server = Server::new();
    let [alice, bob] = [server.client(), server.client()];
    server.send(alice, "LOCK.ACQUIRE a alice");
    server.send(bob, "LOCK.ACQUIRE b bob");
    server.send(alice, "LOCK.ACQUIRE b alice BLOCK 0");
    let refused = server.send(bob, "LOCK.ACQUIRE a bob BLOCK 0");
    assert_eq!(refused, "-DEADLOCK bob -> a -> alice -> b -> bob\r\n");
    let (found, text) = verify(&mut server, "LOCK.VERIFY");
    assert_eq!(found, ["ok", "lint deadlock"]);
    assert!(text.contains("bob was refused a: DEADLOCK bob -> a -> alice -> b -> bob"), "{text}");
}

#[test]
fn conversions_of_two_readers_are_reported_as_a_deadlock() {
    let mut server = Server::new();
    let [alice, bob] = [server.client(), server.client()];
    server.send(alice, "LOCK.ACQUIRE a alice SHARED");
    server.send(bob, "LOCK.ACQUIRE a bob SHARED");
    server.send(alice, "LOCK.CONVERT a alice EXCLUSIVE BLOCK 0");
    let refused = server.send(bob, "LOCK.CONVERT a bob EXCLUSIVE BLOCK 0");
    assert!(refused.starts_with("-DEADLOCK"), "{refused}");
    assert_eq!(found(&mut server), ["ok", "lint deadlock"]);
}

/// Nobody asks when a waiting owner is given a hold: its wait ends by that.
#[test]
fn a_deadlock_closed_by_a_transfer_is_reported() {
    let mut server = Server::new();
    let [alice, bob, carol] = [server.client(), server.client(), server.client()];
    server.send(bob, "LOCK.ACQUIRE b bob PX 10000");
    server.send(carol, "LOCK.ACQUIRE c carol PX 60000");
    server.send(alice, "LOCK.ACQUIRE b alice BLOCK 0");
    server.send(bob, "LOCK.ACQUIRE c bob BLOCK 0");
    assert_eq!(found(&mut server), ["ok"]);
    server.send(carol, "LOCK.TRANSFER c carol alice");
    let (found_now, text) = verify(&mut server, "LOCK.VERIFY");
    assert_eq!(found_now, ["ok", "lint deadlock"]);
    assert!(text.contains("alice was refused b: DEADLOCK alice -> b -> bob -> c -> alice"), "{text}");
    server.advance(10_000);
    assert_eq!(found(&mut server), ["ok", "lint deadlock"]);
}

/// Nor does anybody ask when the lease of a lock ends for which its owner waits among others.
#[test]
fn a_deadlock_closed_by_the_end_of_a_lease_is_reported() {
    let mut server = Server::new();
    let [alice, bob, carol] = [server.client(), server.client(), server.client()];
    server.ask("LOCK.ACQUIRE k0 x EXCLUSIVE PX 60000");
    server.send(alice, "LOCK.ACQUIRE k2 alice SHARED PX 200");
    server.send(bob, "LOCK.ACQUIRE k2 bob SHARED PX 60000");
    server.send(carol, "LOCK.ACQUIRE k2 carol EXCLUSIVE BLOCK 0");
    server.send(alice, "LOCK.MACQUIRE 2 k0 k2 alice SHARED BLOCK 0");
    server.send(bob, "LOCK.ACQUIRE k0 bob EXCLUSIVE BLOCK 0");
    assert_eq!(found(&mut server), ["ok"]);
    server.advance(200);
    let (found_now, text) = verify(&mut server, "LOCK.VERIFY");
    assert_eq!(found_now, ["ok", "lint deadlock"]);
    assert!(text.contains("DEADLOCK alice -> k2 -> bob -> k0 -> alice"), "{text}");
}

/// A deadlock is reported once, however often it is closed.
#[test]
fn a_deadlock_that_is_closed_repeatedly_is_reported_once() {
    let mut server = Server::new();
    let [alice, bob] = [server.client(), server.client()];
    for _ in 0..3 {
        server.send(bob, "LOCK.ACQUIRE b bob PX 60000");
        server.ask("LOCK.ACQUIRE c carol PX 60000");
        server.send(alice, "LOCK.ACQUIRE b alice BLOCK 0");
        server.send(bob, "LOCK.ACQUIRE c bob BLOCK 0");
        server.ask("LOCK.TRANSFER c carol alice");
        assert_eq!(found(&mut server), ["ok", "lint deadlock"]);
        server.ask("LOCK.RELEASE c alice");
        server.ask("LOCK.RELEASE c bob");
        server.ask("LOCK.RELEASE b bob");
        server.advance(10);
    }
}

/// Each of the many deadlocks was closed and ended at once.
#[test]
fn many_deadlocks_closed_by_transfers_are_reported() {
    let mut server = Server::new();
    let [alice, bob] = [server.client(), server.client()];
    for n in 0..70 {
        server.send(bob, &format!("LOCK.ACQUIRE b{n} bob{n} PX 10000"));
        server.ask(&format!("LOCK.ACQUIRE c{n} carol{n} PX 60000"));
        server.send(alice, &format!("LOCK.ACQUIRE b{n} alice{n} BLOCK 0"));
        server.send(bob, &format!("LOCK.ACQUIRE c{n} bob{n} BLOCK 0"));
        server.ask(&format!("LOCK.TRANSFER c{n} carol{n} alice{n}"));
        server.ask(&format!("LOCK.RELEASE c{n} alice{n}"));
    }
    let found = found(&mut server);
    assert_eq!(found[0], "ok");
    assert_eq!(found.iter().filter(|finding| *finding == "lint deadlock").count(), 70);
}

/// One waiter of each deadlock gives up by itself.
#[test]
fn many_deadlocks_that_a_waiter_left_are_reported() {
    let mut server = Server::new();
    let [alice, bob] = [server.client(), server.client()];
    for n in 0..70 {
        let (a, b, [one, other]) = (format!("a{n}"), format!("b{n}"), [owner(2 * n), owner(2 * n + 1)]);
        server.take(alice, &a, &one, 10_000);
        server.take(bob, &b, &other, 20_000);
        waiter(&mut server, &b, &one, true);
        waiter(&mut server, &a, &other, true);
        server.give_back(alice, &a, &one);
    }
    let found = found(&mut server);
    assert_eq!(found[0], "ok", "{found:?}");
    assert_eq!(found.iter().filter(|finding| *finding == "lint deadlock").count(), 70);
}

/// Two threads of two instances hold a lock each, and want the other's. The parameter says how the first listens for
/// it.
fn of_redisson() -> (Server, u64) {
    let mut server = Server::new();
    let [one, other] = [owner(1), owner(2)];
    let [alice, bob] = [server.client(), server.client()];
    server.take(alice, "a", &one, 10_000);
    server.take(bob, "b", &other, 20_000);
    let (_, listener) = waiter_and_listener(&mut server, "b", &one, true);
    waiter(&mut server, "a", &other, true);
    (server, listener)
}

#[test]
fn a_deadlock_of_redisson_is_a_suspect() {
    let (mut server, _) = of_redisson();
    let [one, other] = [owner(1), owner(2)];
    let (found_now, text) = verify(&mut server, "LOCK.VERIFY");
    assert_eq!(found_now, ["suspect", "suspect deadlock"]);
    assert!(text.contains(&format!("deadlock: {other} -> a -> {one} -> b -> {other} waited")), "{text}");
    server.advance(10_000);
    let client = server.client();
    server.take(client, "a", &other, 5_000);
    assert!(found(&mut server).contains(&"suspect deadlock".to_owned()));
}

/// An owner that asks once and does not wait is in no cycle.
#[test]
fn an_owner_that_asks_once_is_in_no_deadlock() {
    let mut server = Server::new();
    let [one, other] = [owner(1), owner(2)];
    let [alice, bob] = [server.client(), server.client()];
    server.take(alice, "a", &one, 10_000);
    server.take(bob, "b", &other, 10_000);
    waiter(&mut server, "b", &one, true);
    server.take(bob, "a", &other, 10_000);
    server.give_back(bob, "b", &other);
    server.take(alice, "b", &one, 10_000);
    assert_eq!(found(&mut server), ["ok"]);
}

/// Both take the locks in one order.
#[test]
fn locks_taken_in_one_order_make_no_deadlock() {
    let mut server = Server::new();
    let [one, other] = [owner(1), owner(2)];
    let alice = server.client();
    server.take(alice, "a", &one, 10_000);
    let bob = waiter(&mut server, "a", &other, true);
    server.take(alice, "b", &one, 10_000);
    server.give_back(alice, "b", &one);
    server.give_back(alice, "a", &one);
    for key in ["a", "b"] {
        server.take(bob, key, &other, 10_000);
    }
    waiter(&mut server, "a", &one, true);
    assert_eq!(found(&mut server), ["ok"]);
}

const TAKES: &str = "PX 10000 BLOCK 0";

/// A waiting writer is served under another field name, and no longer waits.
#[test]
fn a_writer_that_was_served_has_missed_no_wakeup() {
    let mut server = Server::new();
    let [alice, bob] = [server.client(), server.client()];
    server.send(alice, "LOCK.ACQUIRE l alice SHARED PX 10000");
    server.send(bob, &format!("LOCK.ACQUIRE l bob EXCLUSIVE {TAKES}"));
    server.send(alice, "LOCK.RELEASE l alice");
    server.send(bob, "LOCK.RELEASE l bob");
    server.advance(2_000);
    assert_eq!(found(&mut server), ["ok"]);
}

/// An owner that waits twice is served twice; the second time, it re-enters.
#[test]
fn a_waiter_that_re_enters_has_missed_no_wakeup() {
    let mut server = Server::new();
    let [alice, bob, again] = [server.client(), server.client(), server.client()];
    server.send(alice, "LOCK.ACQUIRE l alice PX 10000");
    server.send(bob, &format!("LOCK.ACQUIRE l bob {TAKES}"));
    server.send(again, &format!("LOCK.ACQUIRE l bob {TAKES}"));
    server.send(alice, "LOCK.RELEASE l alice");
    server.send(bob, "LOCK.RELEASE l bob ALL");
    server.advance(2_000);
    assert_eq!(found(&mut server), ["ok"]);
}

/// A client that wants several locks waits for all of them, and the clients behind it wait with it.
#[test]
fn a_waiter_for_several_locks_has_missed_no_wakeup() {
    let mut server = Server::new();
    let [alice, bob, carol] = [server.client(), server.client(), server.client()];
    server.send(alice, "LOCK.ACQUIRE a alice PX 60000");
    server.send(alice, "LOCK.ACQUIRE b alice PX 60000");
    server.send(bob, &format!("LOCK.MACQUIRE 2 a b bob {TAKES}"));
    server.send(carol, &format!("LOCK.ACQUIRE b carol {TAKES}"));
    server.send(alice, "LOCK.RELEASE b alice");
    server.advance(2_000);
    assert_eq!(found(&mut server), ["ok"]);
    server.send(alice, "LOCK.RELEASE a alice");
    server.send(bob, "LOCK.MRELEASE 2 a b bob");
    server.send(carol, "LOCK.RELEASE b carol");
    server.advance(2_000);
    assert_eq!(found(&mut server), ["ok"]);
    // A client of Redisson does not stand in that line.
    server.send(alice, "LOCK.ACQUIRE a alice PX 60000");
    server.send(alice, "LOCK.ACQUIRE b alice PX 60000");
    let listener = server.client();
    server.send(listener, "SUBSCRIBE redisson_lock__channel:{b}");
    server.send(bob, &format!("LOCK.MACQUIRE 2 a b bob {TAKES}"));
    server.send(alice, "LOCK.RELEASE b alice");
    server.advance(2_000);
    assert_eq!(found(&mut server), ["suspect", "suspect missed-wakeup"]);
}

/// A client behind one that wants several locks and gives up has not waited for the lock alone before that.
#[test]
fn a_timed_out_wait_for_several_locks_is_not_blamed_for_the_wait_behind_it() {
    let mut server = Server::new();
    let [alice, bob, carol] = [server.client(), server.client(), server.client()];
    server.send(alice, "LOCK.ACQUIRE a alice PX 60000");
    server.send(alice, "LOCK.ACQUIRE b alice PX 60000");
    server.send(bob, "LOCK.MACQUIRE 2 a b bob PX 10000 BLOCK 5000");
    server.send(carol, &format!("LOCK.ACQUIRE b carol {TAKES}"));
    server.send(alice, "LOCK.RELEASE b alice");
    server.advance(5_000);
    assert_eq!(found(&mut server), ["ok"]);
    let told = server.entry_lines(&["owner", "mode"]);
    assert!(told.iter().any(|entry| entry.starts_with("acquired carol")), "{told:?}");
}

/// A shared hold below a writer's hold excludes no reader once the writing has ended.
#[test]
fn a_shared_hold_below_a_released_write_hold_excludes_no_reader() {
    let mut server = Server::new();
    let [alice, bob] = [server.client(), server.client()];
    server.send(alice, "LOCK.ACQUIRE l alice EXCLUSIVE PX 10000");
    server.send(alice, "LOCK.ACQUIRE l alice SHARED PX 10000");
    server.send(alice, "LOCK.RELEASE l alice EXCLUSIVE");
    server.send(bob, "LOCK.ACQUIRE l bob SHARED PX 10000");
    assert_eq!(found(&mut server), ["ok"]);
    let told = server.entry_lines(&["owner", "mode"]);
    let alice_reads = told.contains(&"acquired alice shared".to_owned());
    assert!(alice_reads && told.contains(&"acquired alice:write write".to_owned()), "{told:?}");
}

/// A transferred hold is not a grant from the queue.
#[test]
fn a_transferred_fair_lock_skips_nobody_in_the_queue() {
    let mut server = Server::new();
    let [alice, bob, carol] = [server.client(), server.client(), server.client()];
    server.send(alice, "LOCK.ACQUIRE l alice FAIR PX 10000");
    server.send(bob, &format!("LOCK.ACQUIRE l bob FAIR {TAKES}"));
    server.send(alice, "LOCK.TRANSFER l alice carol");
    assert_eq!(found(&mut server), ["ok"]);
    server.send(carol, "LOCK.RELEASE l carol");
    server.send(bob, "LOCK.RELEASE l bob");
    assert_eq!(found(&mut server), ["ok"]);
}

/// One client gives up when its time is over, as may happen to clients that take locks in any order: nobody was stuck.
#[test]
fn a_deadlock_that_a_waiter_left_is_lint() {
    for gives_up in ["its wait", "its lock"] {
        let (mut server, listener) = of_redisson();
        let [one, other] = [owner(1), owner(2)];
        let client = server.client();
        match gives_up {
            // The last waiting thread of its process.
            "its wait" => server.send(listener, "UNSUBSCRIBE redisson_lock__channel:{b}"),
            _ => server.give_back(client, "a", &one),
        };
        let (found_now, text) = verify(&mut server, "LOCK.VERIFY");
        assert_eq!(found_now, ["ok", "lint deadlock"], "{gives_up}");
        assert!(text.contains(&format!("waited for each other, until {one} stopped waiting")), "{text}");
        // The cycle closes again, until a lease ends.
        server.give_back(client, "a", &one);
        server.take(client, "a", &one, 10_000);
        waiter(&mut server, "b", &one, true);
        waiter(&mut server, "a", &other, true);
        server.advance(10_000);
        assert_eq!(found(&mut server), ["suspect", "suspect deadlock"], "{gives_up}");
    }
}

/// Only an owner that waits as Redisson does closes such a cycle natively.
#[test]
fn a_deadlock_ended_by_a_native_wait_has_its_own_level() {
    for (opens, level) in [
        ("CLOCK.ADVANCE 500", "lint"),
        ("gives back", "lint"),
        ("LOCK.FORCEUNLOCK b", "suspect"),
        ("LOCK.CANCEL b alice", "suspect"),
    ] {
        let mut server = Server::new();
        let [alice, bob] = [server.client(), server.client()];
        server.take(bob, "b", &owner(2), 10_000);
        server.send(alice, "LOCK.ACQUIRE a alice PX 60000");
        server.send(alice, "LOCK.ACQUIRE b alice BLOCK 500");
        waiter(&mut server, "a", &owner(2), true);
        assert_eq!(found(&mut server), ["suspect", "suspect deadlock"]);
        match opens {
            "gives back" => server.give_back(bob, "b", &owner(2)),
            opens => server.ask(opens),
        };
        let verdict = if level == "suspect" { "suspect" } else { "ok" };
        assert_eq!(found(&mut server), [verdict, &format!("{level} deadlock")], "{opens}");
    }
}

/// An observed key is a lock from its SET on.
#[test]
fn a_late_lease_is_also_found_for_observed_locks() {
    let late = "lint bare-habits";
    for observes in [false, true] {
        for take in ["SET lock:i a NX", "SETNX lock:i a"] {
            let mut server = Server::new();
            if observes {
                server.ask("LOCK.OBSERVE lock:*");
            }
            server.ask(take);
            server.ask("EXPIRE lock:i 5");
            server.ask("EXPIRE lock:i 5");
            let found = found(&mut server);
            assert_eq!(
                found.iter().filter(|finding| *finding == late).count(),
                1,
                "{take} {observes}: {found:?}"
            );
        }
        let mut server = Server::new();
        if observes {
            server.ask("LOCK.OBSERVE lock:*");
        }
        server.ask(
            "EVAL \"if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then redis.call('pexpire', KEYS[1], 1000) end\" 1 \
             lock:i a",
        );
        server.ask("PEXPIRE lock:i 1000");
        assert_eq!(found(&mut server), ["ok"], "{observes}");
        // A lock that was given back gets no lease afterwards.
        server.ask("SET lock:j a NX");
        server.ask("DEL lock:j");
        server.ask("SET lock:j b NX PX 1000");
        server.ask("PEXPIRE lock:j 2000");
        let habits = server.ask("LOCK.HISTORY KEY lock:j FORMAT JSON").matches("habit").count();
        assert_eq!(habits, 0, "{observes}");
    }
}

#[test]
fn a_script_that_locks_for_several_owners_gives_each_its_lease() {
    use crate::history::fixture::{A, B};
    let mut server = Server::new();
    let script = "redis.call('hset', KEYS[1], 'mode', 'read') redis.call('hincrby', KEYS[1], ARGV[1], 1) \
         redis.call('hincrby', KEYS[1], ARGV[2], 1) redis.call('pexpire', KEYS[1], 1000)";
    server.ask(&format!("EVAL \"{script}\" 1 l {A} {B}"));
    assert_eq!(server.ask("LOCK.HISTORY KEY l FORMAT JSON").matches(r#""ttl":1000"#).count(), 2);
    assert_eq!(found(&mut server), ["ok"]);
    let script = "for _, owner in ipairs(ARGV) do for _, key in ipairs(KEYS) do redis.call('hset', key, 'mode', \
         'read') redis.call('hincrby', key, owner, 1) end end for _, key in ipairs(KEYS) do \
         redis.call('pexpire', key, 1000) end";
    server.ask(&format!("EVAL \"{script}\" 2 m n {A} {B}"));
    assert_eq!(server.ask("LOCK.HISTORY KEY [mn] FORMAT JSON").matches(r#""ttl":1000"#).count(), 4);
    assert_eq!(found(&mut server), ["ok"]);
}

/// The connection may be the holder's own, out of a pool.
#[test]
fn a_bare_command_of_a_connection_without_a_name_is_a_habit() {
    let mut server = Server::new();
    let [holder, named] = [server.client(), server.client()];
    server.send(holder, "CLIENT SETNAME holder");
    server.send(holder, "LOCK.ACQUIRE l a");
    server.ask("DEL l");
    assert_eq!(found(&mut server), ["ok", "lint bare-habits"]);
    server.send(named, "CLIENT SETNAME other");
    server.send(holder, "LOCK.ACQUIRE l a");
    server.send(named, "DEL l");
    assert!(found(&mut server).contains(&"violation release-by-holder".to_owned()));
}

/// A request that is refused before it runs has its own entry.
#[test]
fn a_refusal_is_recorded_for_the_requesting_client() {
    let mut server = Server::new();
    let [one, other] = [server.client(), server.client()];
    server.ask("CONFIG SET min-replicas-to-write 1");
    server.send(other, "ECHO x");
    assert!(server.send(one, "LOCK.ACQUIRE l a").starts_with("-NOREPLICAS"));
    let history = server.ask("LOCK.HISTORY KEY l FORMAT JSON");
    assert!(
        history.contains(&format!(r#""client":{one},"#)) || history.contains(r#""by":"lock.acquire""#),
        "{history}"
    );
    assert!(!history.contains("echo"), "{history}");
}

#[test]
fn only_entries_of_possible_waits_have_a_waited_field() {
    let mut server = Server::new();
    let client = server.client();
    server.ask("LOCK.MARK here");
    server.send(client, "LOCK.ACQUIRE l a");
    let history = server.ask("LOCK.HISTORY FORMAT JSON");
    assert_eq!(history.matches(r#""waited""#).count(), 1, "{history}");
}

/// A client that changes a lease without naming its owner is not the owner, unless its connection requested the lock.
#[test]
fn a_renewal_by_another_client_proves_no_received_reply() {
    for renewal in ["PEXPIRE l 20000", "EXPIRE l 20", "PEXPIREAT l 9999999999999", "PERSIST l"] {
        let mut server = with_fault("DROPREPLY");
        let stranger = server.client();
        server.send(stranger, renewal);
        assert!(found(&mut server).contains(&UNANSWERED.to_owned()), "{renewal}");
        server.send(stranger, "LOCK.RENEW 1 l alice PX 9000");
        assert!(!found(&mut server).contains(&UNANSWERED.to_owned()), "{renewal}");
        let mut server = Server::new();
        // A client that gets no answer at all sends no more requests.
        server.ask("FAULT.ADD late ON lock.acquire TIMES 1 DO DELAYREPLY 5");
        let alice = server.client();
        server.send(alice, "LOCK.ACQUIRE l alice PX 10000");
        server.advance(5);
        server.send(alice, renewal);
        assert!(!found(&mut server).contains(&UNANSWERED.to_owned()), "{renewal} of its own");
    }
}

#[test]
fn fault_actions_are_recognized_in_any_case() {
    for action in ["dropreply", "HoldReply", "closeAfter"] {
        let mut server = with_fault(action);
        assert_eq!(found(&mut server), ["suspect", UNANSWERED], "{action}");
    }
}

/// A client that gets another answer than the grant does not know of its grant either.
#[test]
fn a_replaced_reply_counts_as_a_lost_one() {
    let mut server = with_fault("REPLY NULL");
    let (found_now, text) = verify(&mut server, "LOCK.VERIFY");
    assert_eq!(found_now, ["suspect", UNANSWERED]);
    assert!(text.contains("withheld (REPLY NULL)"), "{text}");
    let edn = server.ask("LOCK.HISTORY FORMAT EDN");
    assert!(edn.contains(":type :info :f :acquire") && !edn.contains(":type :ok :f :acquire"), "{edn}");
    let again = server.client();
    server.send(again, "LOCK.RELEASE l alice");
    assert_eq!(found(&mut server), ["ok"]);
}

#[test]
fn a_lock_released_in_the_same_transaction_is_no_suspect() {
    for (ends, expected) in
        [("LOCK.RELEASE l alice", &["ok"][..]), ("LOCK.RENEW 1 l alice PX 20000", &["suspect", UNANSWERED])]
    {
        for action in ["CLOSEAFTER", "DROPREPLY", "HOLDREPLY"] {
            let mut server = Server::new();
            let alice = server.client();
            server.ask(&format!("FAULT.ADD lost ON exec DO {action}"));
            for line in ["MULTI", "LOCK.ACQUIRE l alice PX 10000", ends, "EXEC"] {
                server.send(alice, line);
            }
            assert_eq!(found(&mut server), expected, "{ends} {action}");
        }
    }
}

/// A push that is not sent counts as a withheld answer.
#[test]
fn a_grant_push_that_is_not_sent_is_a_suspect() {
    for cut in ["FAULT.FREEZECLIENT NAME alice FOREVER", "FAULT.PARTITION NAME alice OUT"] {
        let mut server = Server::new();
        let [alice, bob] = [server.client(), server.client()];
        server.send(alice, "HELLO 3 SETNAME alice");
        server.send(bob, "LOCK.ACQUIRE l bob PX 10000");
        assert!(server.send(alice, "LOCK.ACQUIRE l alice PX 10000 BLOCK 0 ASYNC").contains("QUEUED"));
        server.ask(cut);
        server.send(bob, "LOCK.RELEASE l bob");
        assert_eq!(found(&mut server), ["suspect", UNANSWERED], "{cut}");
        let edn = server.ask("LOCK.HISTORY FORMAT EDN");
        assert_eq!(edn.matches(":type :info :f :acquire").count(), 1, "{edn}");
        server.ask("FAULT.HEAL");
        server.ask("FAULT.THAWCLIENT NAME alice");
        assert_eq!(found(&mut server), ["ok"], "{cut}");
    }
}

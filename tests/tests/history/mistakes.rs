//! LOCK.VERIFY: what goes wrong by the order in which clients ask, and by answers that they do not get.

use crate::fixture::Server;
use crate::verify::{found, verify};

const UNANSWERED: &str = "suspect unanswered-acquire";

/// A server whose next answer to LOCK.ACQUIRE is kept back so.
fn with_fault(action: &str) -> Server {
    let mut server = Server::new();
    server.ask(&format!("FAULT.ADD lost ON lock.acquire TIMES 1 DO {action}"));
    let alice = server.client();
    server.send(alice, "LOCK.ACQUIRE l alice PX 10000");
    server
}

#[test]
fn an_owner_that_is_not_answered_takes_the_lock_again() {
    for action in
        ["CLOSEAFTER", "DROPREPLY", "DROPREPLY CLOSEAFTER 5", "TRUNCATE 3", "DELAYREPLY 100", "HOLDREPLY"]
    {
        let mut server = with_fault(action);
        let again = server.client();
        server.send(again, "LOCK.ACQUIRE l alice PX 10000");
        assert_eq!(server.send(again, "LOCK.RELEASE l alice"), ":1\r\n", "{action}");
        let (found_now, text) = verify(&mut server, "LOCK.VERIFY");
        assert_eq!(found_now, ["ok", UNANSWERED], "{action}");
        let told = format!(
            "alice was given l by a request whose answer was kept back ({action}), and took it again, and has not \
             given back all of it"
        );
        assert!(text.contains(&told), "{text}");
        server.send(again, "LOCK.RELEASE l alice");
        assert_eq!(found(&mut server), ["ok"], "{action}");
    }
}

#[test]
fn an_owner_that_is_not_answered_leaves_the_lock_behind() {
    let mut server = with_fault("CLOSEAFTER");
    assert_eq!(found(&mut server), ["ok", UNANSWERED]);
    server.advance(10_000);
    let (found, text) = verify(&mut server, "LOCK.VERIFY");
    assert_eq!(found, ["ok", UNANSWERED]);
    assert!(text.contains("held it until its lease ran out"), "{text}");
}

#[test]
fn an_owner_that_is_not_answered_finds_out() {
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
fn an_owner_is_not_answered_to_something_else() {
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
fn all_locks_of_a_request_that_is_not_answered() {
    let mut server = Server::new();
    let alice = server.client();
    server.ask("FAULT.ADD lost ON lock.macquire DO CLOSEAFTER");
    server.send(alice, "LOCK.MACQUIRE 2 k l alice PX 10000");
    assert_eq!(found(&mut server), ["ok", UNANSWERED, UNANSWERED]);
    let again = server.client();
    server.send(again, "LOCK.MRELEASE 2 k l alice");
    assert_eq!(found(&mut server), ["ok"]);
}

#[test]
fn a_transaction_that_is_not_answered() {
    let mut server = Server::new();
    let alice = server.client();
    server.ask("FAULT.ADD lost ON exec DO CLOSEAFTER");
    server.send(alice, "MULTI");
    server.send(alice, "LOCK.ACQUIRE l alice PX 10000");
    server.send(alice, "EXEC");
    assert_eq!(found(&mut server), ["ok", UNANSWERED]);
}

#[test]
fn an_owner_that_is_frozen_is_answered_later() {
    let mut server = Server::new();
    let [alice, bob] = [server.client(), server.client()];
    server.send(alice, "CLIENT SETNAME alice");
    server.send(bob, "LOCK.ACQUIRE l bob PX 10000");
    server.send(alice, "LOCK.ACQUIRE l alice PX 10000 BLOCK 0");
    server.ask("FAULT.FREEZECLIENT NAME alice FOREVER");
    server.send(bob, "LOCK.RELEASE l bob");
    assert_eq!(found(&mut server), ["ok", UNANSWERED]);
    server.ask("FAULT.THAWCLIENT NAME alice");
    assert_eq!(found(&mut server), ["ok"]);
}

/// The thread of an instance of Redisson.
fn owner(instance: usize) -> String {
    format!("8743c9c0-0795-4907-87fd-6c719a6b{instance:04}:1")
}

/// A client that is refused, listens if it is to, and asks once more, as Redisson does.
fn waiter(server: &mut Server, key: &str, owner: &str, listens: bool) -> u64 {
    let [client, listener] = [server.client(), server.client()];
    server.take(client, key, owner, 60_000);
    if listens {
        server.send(listener, &format!("SUBSCRIBE redisson_lock__channel:{{{key}}}"));
    }
    server.take(client, key, owner, 60_000);
    client
}

/// So many wait for a lock, which is given back; all ask again, and one of them gets it.
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
fn a_hand_off_that_wakes_many() {
    let mut server = one_hand_off(12, true);
    let (found_now, text) = verify(&mut server, "LOCK.VERIFY");
    assert_eq!(found_now, ["ok", "lint thundering-herd"]);
    let told = "a hand-off of l woke 11 who asked in vain; all hand-offs: 1, with 11 such requests";
    assert!(text.contains(told), "{text}");
    server.ask("CONFIG SET lock-herd-limit 11");
    assert_eq!(found(&mut server), ["ok"]);
}

#[test]
fn a_hand_off_that_wakes_few() {
    assert_eq!(found(&mut one_hand_off(11, true)), ["ok"]);
}

/// They were not woken: they ask again and again, whoever has the lock.
#[test]
fn who_does_not_listen_is_no_herd() {
    assert_eq!(found(&mut one_hand_off(30, false)), ["ok"]);
}

#[test]
fn a_deadlock_that_is_refused() {
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
fn a_deadlock_of_two_readers_that_would_write() {
    let mut server = Server::new();
    let [alice, bob] = [server.client(), server.client()];
    server.send(alice, "LOCK.ACQUIRE a alice SHARED");
    server.send(bob, "LOCK.ACQUIRE a bob SHARED");
    server.send(alice, "LOCK.CONVERT a alice EXCLUSIVE BLOCK 0");
    let refused = server.send(bob, "LOCK.CONVERT a bob EXCLUSIVE BLOCK 0");
    assert!(refused.starts_with("-DEADLOCK"), "{refused}");
    assert_eq!(found(&mut server), ["ok", "lint deadlock"]);
}

/// Nobody asks when a hold is given to an owner that waits: nobody can be refused.
#[test]
fn a_deadlock_that_a_transfer_closes() {
    let mut server = Server::new();
    let [alice, bob, carol] = [server.client(), server.client(), server.client()];
    server.send(bob, "LOCK.ACQUIRE b bob PX 10000");
    server.send(carol, "LOCK.ACQUIRE c carol PX 60000");
    server.send(alice, "LOCK.ACQUIRE b alice BLOCK 0");
    server.send(bob, "LOCK.ACQUIRE c bob BLOCK 0");
    assert_eq!(found(&mut server), ["ok"]);
    server.send(carol, "LOCK.TRANSFER c carol alice");
    let graph = server.ask("LOCK.GRAPH");
    assert!(graph.contains("alice -> b -> bob -> c -> alice"), "{graph}");
    let (found_now, text) = verify(&mut server, "LOCK.VERIFY");
    assert_eq!(found_now, ["ok", "suspect deadlock"]);
    assert!(text.contains("deadlock: alice -> b -> bob -> c -> alice waited for each other"), "{text}");
    // The end of a lease opens it.
    server.advance(10_000);
    assert_eq!(found(&mut server), ["ok", "suspect deadlock"]);
}

/// Two threads of two instances hold a lock each, and want the other's.
fn of_redisson() -> Server {
    let mut server = Server::new();
    let [one, other] = [owner(1), owner(2)];
    let [alice, bob] = [server.client(), server.client()];
    server.take(alice, "a", &one, 10_000);
    server.take(bob, "b", &other, 20_000);
    waiter(&mut server, "b", &one, true);
    waiter(&mut server, "a", &other, true);
    server
}

#[test]
fn a_deadlock_of_redisson() {
    let mut server = of_redisson();
    let [one, other] = [owner(1), owner(2)];
    let (found_now, text) = verify(&mut server, "LOCK.VERIFY");
    assert_eq!(found_now, ["ok", "suspect deadlock"]);
    assert!(text.contains(&format!("deadlock: {other} -> a -> {one} -> b -> {other} waited")), "{text}");
    server.advance(10_000);
    let client = server.client();
    server.take(client, "a", &other, 5_000);
    assert!(found(&mut server).contains(&"suspect deadlock".to_owned()));
}

/// Who asks once and does not wait is in no cycle.
#[test]
fn who_only_tries_does_not_wait() {
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

/// Both take them in one order.
#[test]
fn locks_in_one_order_make_no_deadlock() {
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

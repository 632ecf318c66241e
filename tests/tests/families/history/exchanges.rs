//! SWAPDB in the history: holders and waiters move with the database, and are lost at the old place.

use crate::history::fixture::{A, B, Server, short};
use crate::history::verify::{found, verify};

/// A server where A and B hold locks of one name in two databases. The histories of both up to now are known.
fn with_two_locks() -> (Server, [u64; 2]) {
    let mut server = Server::new();
    let clients = [server.client(), server.client()];
    server.ask("CLIENT SETNAME admin");
    server.send(clients[1], "SELECT 1");
    server.take(clients[0], "l", A, 1000);
    server.take(clients[1], "l", B, 2000);
    (server, clients)
}

#[test]
fn holds_keep_their_grants_when_databases_are_swapped() {
    let (mut server, [one, two]) = with_two_locks();
    server.send(one, "LOCK.ACQUIRE native n PX 3000");
    server.ask("SWAPDB 0 1");
    let told =
        short(server.entry_lines(&["db", "key", "owner", "grant", "ttl", "cause", "clientname", "by"]));
    assert_eq!(
        told[3..],
        [
            "lost 0 l A 1 null swapped admin swapdb",
            "lost 0 native n 3 null swapped admin swapdb",
            "lost 1 l B 2 null swapped admin swapdb",
            "acquired 0 l B 2 2000 swapped admin swapdb",
            "acquired 1 l A 1 1000 swapped admin swapdb",
            "acquired 1 native n 3 3000 swapped admin swapdb",
        ]
    );
    // The hold moves with its database, also for its token.
    assert_eq!(server.send(two, "LOCK.CHECK native 3"), ":1\r\n");
    server.give_back(two, "l", A);
    server.send(two, "LOCK.RELEASE native n");
    let told = short(server.entry_lines(&["db", "key", "owner", "grant"]));
    assert_eq!(told[9..], ["released 1 l A 1", "released 1 native n 3"]);
    let taken = "violation release-by-holder";
    assert_eq!(found(&mut server), ["violated", taken, taken, taken]);
    let (_, text) = verify(&mut server, "LOCK.VERIFY");
    assert!(text.contains(&format!("client 1 took away l by a bare swapdb while {A} held it")), "{text}");
}

#[test]
fn a_swap_overlaps_no_holds_and_breaks_no_order_of_grants() {
    let (mut server, _) = with_two_locks();
    for _ in 0..3 {
        server.ask("SWAPDB 1 0");
    }
    let found = found(&mut server);
    assert!(found[1..].iter().all(|finding| finding == "violation release-by-holder"), "{found:?}");
    assert_eq!(found.len(), 1 + 6);
}

/// An owner takes the lock, which is free because the database has moved: it holds the lock at the same time as the
/// former holder.
#[test]
fn a_release_of_a_swapped_lock_is_late() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.take(one, "l", A, 1000);
    server.ask("CLIENT SETNAME admin");
    server.ask("SWAPDB 0 3");
    server.take(two, "l", B, 1000);
    server.give_back(one, "l", A);
    assert_eq!(found(&mut server), ["violated", "violation release-by-holder", "suspect mutual-exclusion"]);
}

#[test]
fn holds_that_moved_are_counted_once() {
    let (mut server, _) = with_two_locks();
    server.ask("SWAPDB 0 1");
    let stats = server.ask("LOCK.STATS");
    assert!(stats.contains("$5\r\nholds\r\n:2\r\n"), "{stats}");
}

#[test]
fn queues_and_semaphores_go_with_their_database() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.send(one, "LOCK.ACQUIRE f a FAIR PX 5000");
    server.ask(&format!("RPUSH redisson_lock_queue:{{f}} {A}"));
    server.ask(&format!("ZADD redisson_lock_timeout:{{f}} 99999999999999 {A}"));
    server.send(two, "SEM.INIT s 3");
    server.send(two, "SEM.ACQUIRE s x PERMITS 2");
    server.ask("CLIENT SETNAME admin");
    server.ask("SWAPDB 0 1");
    let told = short(server.entry_lines(&["db", "key", "owner", "cause", "left", "held", "total"]));
    let of_swap: Vec<_> = told.iter().filter(|line| line.contains("swapped")).collect();
    assert_eq!(
        of_swap,
        [
            "lost 0 f a swapped null null null",
            "left-queue 0 f A swapped null null null",
            "permits 0 s null swapped null 2 null",
            "acquired 1 f a swapped null null null",
            "queued 1 f A swapped null null null",
            "permits 1 s null swapped 1 2 3",
        ]
    );
    server.send(two, "SELECT 1");
    server.send(two, "SEM.RELEASE s x PERMITS 2");
    assert_eq!(found(&mut server), ["violated", "violation release-by-holder"]);
}

/// A queue that a flush has emptied has no head any more that must be served first.
#[test]
fn a_flush_empties_the_queues_of_fair_locks() {
    for flush in ["FLUSHALL", "FLUSHDB"] {
        let mut server = Server::new();
        let [one, two] = [server.client(), server.client()];
        server.send(one, &format!("LOCK.ACQUIRE f {A} FAIR PX 5000"));
        server.send(two, "RPUSH redisson_lock_queue:{f} gone:1");
        server.ask("CLIENT SETNAME admin");
        server.ask(flush);
        server.send(one, "LOCK.ACQUIRE f b FAIR PX 5000");
        let told = short(server.entry_lines(&["owner", "mode", "cause"]));
        let expected = ["lost A null deleted", "left-queue gone:1 fair deleted", "acquired b exclusive null"];
        assert_eq!(told[2..], expected, "{flush}");
        assert_eq!(found(&mut server), ["violated", "violation release-by-holder"], "{flush}");
    }
}

/// A waiter that was deleted from a queue was not removed because of its score.
#[test]
fn a_deleted_queue_gives_no_clock_skew_finding() {
    for line in
        ["DEL redisson_lock_queue:{f}", "RENAME redisson_lock_queue:{f} x", "SET redisson_lock_queue:{f} x"]
    {
        let mut server = Server::new();
        let one = server.client();
        server.send(one, &format!("RPUSH redisson_lock_queue:{{f}} {A}"));
        server.send(one, line);
        assert_eq!(
            short(server.entry_lines(&["owner", "cause"])),
            ["queued A null", "left-queue A deleted"],
            "{line}"
        );
        assert_eq!(found(&mut server), ["ok"], "{line}");
    }
    let mut server = Server::new();
    let one = server.client();
    server.send(one, &format!("RPUSH redisson_lock_queue:{{f}} {A}"));
    server.send(one, "PEXPIRE redisson_lock_queue:{f} 10");
    server.advance(10);
    assert_eq!(short(server.entry_lines(&["owner", "cause"])), ["queued A null", "left-queue A expired"]);
}

/// A lock that is moved, or copied, keeps its lease.
#[test]
fn a_moved_lock_is_held_for_its_lease() {
    for line in ["RENAME l m", "RENAMENX l m", "MOVE l 1", "COPY l m"] {
        let mut server = Server::new();
        let [one, two] = [server.client(), server.client()];
        server.take(one, "l", A, 1000);
        server.advance(100);
        server.send(two, line);
        let told = short(server.entry_lines(&["owner", "grant", "ttl"]));
        assert_eq!(told.last().map(String::as_str), Some("acquired A 2 900"), "{line}");
        assert!(!found(&mut server).contains(&"violation no-eternal-lock".to_owned()), "{line}");
    }
}

/// A lock that is moved to a name with a queue was not granted there.
#[test]
fn a_renamed_lock_breaks_no_queue_order() {
    for line in ["RENAME f g", "COPY f g", "RENAMENX f g"] {
        let mut server = Server::new();
        let [one, two] = [server.client(), server.client()];
        server.send(one, "LOCK.ACQUIRE f a FAIR PX 5000");
        server.send(two, &format!("RPUSH redisson_lock_queue:{{g}} {A}"));
        server.send(two, line);
        let found = found(&mut server);
        assert!(!found.contains(&"violation fair-order".to_owned()), "{line}: {found:?}");
    }
}

/// A waiter that still stands in the queue, behind another one that was put back, was not removed from it.
#[test]
fn a_waiter_that_changes_its_place_in_a_queue_is_not_removed() {
    let mut server = Server::new();
    let one = server.client();
    server.send(one, &format!("RPUSH redisson_lock_queue:{{f}} {A}"));
    let again = "redis.call('lpush', KEYS[1], ARGV[1])";
    server.send(one, &format!("EVAL \"{again}\" 1 redisson_lock_queue:{{f}} {B}"));
    let told = short(server.entry_lines(&["owner", "cause"]));
    assert_eq!(told, ["queued A null", "left-queue A null", "queued B null", "queued A null"]);
    assert_eq!(found(&mut server), ["ok"]);
}

//! Fair queues on an advanced clock: a place that is kept for ever does not keep the server busy for ever.

use lockwheel_engine::config::Config;
use lockwheel_engine::core::Simulation;

/// A server with a lock that is never free, and a client.
fn locked() -> (Simulation, u64) {
    let mut server = Simulation::new(Config::default(), 7);
    let client = server.connect();
    for line in ["CLOCK.SET 5000000", "CLOCK.FREEZE", "LOCK.ACQUIRE l holder", "PERSIST l"] {
        server.ask(client, line);
    }
    (server, client)
}

/// Connects a client that sends this and waits.
fn waiting(server: &mut Simulation, line: &str) -> u64 {
    let client = server.connect();
    assert_eq!(server.ask(client, line), "", "{line}");
    client
}

/// Returns the number of fired deadlines.
#[track_caller]
fn fired(turned: &str) -> u64 {
    let (_, rest) = turned.split_once("fired\r\n:").expect("how many have fired");
    rest.split_once("\r\n").and_then(|(count, _)| count.parse().ok()).expect("a number")
}

/// A waiter without a timeout keeps its place as long as it lives, and advances still end.
#[test]
fn an_advance_of_any_length_ends_despite_an_endless_waiter() {
    let (mut server, main) = locked();
    let waiter = waiting(&mut server, "LOCK.ACQUIRE l me FAIR BLOCK 0");
    server.ask(main, "SET k v PX 5000000000000");
    let turned = server.ask(main, "CLOCK.ADVANCE 4000000000000000");
    assert!((65_537..66_000).contains(&fired(&turned)), "{turned}");
    assert_eq!(server.ask(main, "EXISTS k"), ":0\r\n");
    // The place is kept from here on, too.
    assert!(fired(&server.ask(main, "CLOCK.ADVANCE 1500000")) >= 10);
    let turned = server.ask(main, "CLOCK.NEXT COUNT 9223372036854775807");
    assert!((65_536..66_000).contains(&fired(&turned)), "{}", fired(&turned));
    server.ask(main, "LOCK.RELEASE l holder");
    assert!(server.read(waiter).contains("token"));
}

/// A subscriber to all keyspace events changes nothing: its messages are no progress.
#[test]
fn an_advance_ends_despite_an_endless_waiter_and_a_subscriber() {
    let (mut server, main) = locked();
    let listener = server.connect();
    server.ask(main, "CONFIG SET notify-keyspace-events KEA");
    server.ask(listener, "PSUBSCRIBE *");
    waiting(&mut server, "LOCK.ACQUIRE l me FAIR BLOCK 0");
    let turned = server.ask(main, "CLOCK.ADVANCE 4000000000000000");
    assert!((65_537..66_000).contains(&fired(&turned)), "{turned}");
}

/// An owner that waits without `FAIR` does not keep its place in the queue.
#[test]
fn a_head_that_waits_without_fair_is_skipped_at_its_timeout() {
    let (mut server, main) = locked();
    let elsewhere = waiting(&mut server, "LOCK.ACQUIRE l a BLOCK 0");
    server.ask(main, "RPUSH redisson_lock_queue:{l} a");
    server.ask(main, "ZADD redisson_lock_timeout:{l} 5000100 a");
    let fair = waiting(&mut server, "LOCK.ACQUIRE l b FAIR BLOCK 0");
    let turned = server.ask(main, "CLOCK.ADVANCE 1000");
    assert!(fired(&turned) < 10, "{turned}");
    assert_eq!(server.ask(main, "LRANGE redisson_lock_queue:{l} 0 -1"), "*1\r\n$1\r\nb\r\n");
    server.ask(main, "LOCK.RELEASE l holder");
    let served = [elsewhere, fair].map(|client| server.read(client).contains("token"));
    assert_eq!(served.iter().filter(|served| **served).count(), 1);
}

/// The request that is retried first keeps the head's place, though another stands before it in the line.
#[test]
fn a_retried_later_waiter_keeps_the_place_of_the_head() {
    let (mut server, main) = locked();
    waiting(&mut server, "LOCK.ACQUIRE l a FAIR BLOCK 1000000");
    waiting(&mut server, "LOCK.ACQUIRE l b FAIR BLOCK 5000000");
    // `a` is put back, at the end of Redisson's queue.
    server.ask(main, "LPOP redisson_lock_queue:{l}");
    server.ask(main, "ZADD redisson_lock_timeout:{l} 5000100 b");
    server.ask(main, "RPUSH redisson_lock_queue:{l} a");
    let turned = server.ask(main, "CLOCK.ADVANCE 900000");
    assert!((1..10).contains(&fired(&turned)), "{turned}");
    assert_eq!(server.ask(main, "LINDEX redisson_lock_queue:{l} 0"), "$1\r\nb\r\n");
    let ends = server.ask(main, "ZSCORE redisson_lock_timeout:{l} b");
    let ends: u64 = ends.lines().nth(1).and_then(|ends| ends.parse().ok()).expect("a time");
    assert!(ends > 5_900_000, "{ends}");
}

/// An owner that waits by two requests keeps its place when the first ends. The other one, which came after the next
/// owner's, serves it.
#[test]
fn a_head_is_served_by_the_later_request_of_its_owner() {
    let (mut server, main) = locked();
    let gone = waiting(&mut server, "LOCK.ACQUIRE l a FAIR BLOCK 100");
    let next = waiting(&mut server, "LOCK.ACQUIRE l b FAIR BLOCK 0");
    let again = waiting(&mut server, "LOCK.ACQUIRE l a FAIR BLOCK 0");
    server.ask(main, "CLOCK.ADVANCE 100");
    assert_eq!(server.read(gone), "$-1\r\n");
    server.ask(main, "LOCK.RELEASE l holder");
    assert!(server.read(again).contains("token"));
    assert_eq!(server.read(next), "");
    server.ask(main, "LOCK.RELEASE l a");
    assert!(server.read(next).contains("token"));
    assert_eq!(server.ask(main, "EXISTS redisson_lock_queue:{l} redisson_lock_timeout:{l}"), ":0\r\n");
}

/// The next waiter is also served when a Redisson client before it gives up, which only the queue shows.
#[test]
fn a_head_is_served_when_the_redisson_waiter_before_it_leaves() {
    let (mut server, main) = locked();
    server.ask(main, "RPUSH redisson_lock_queue:{l} foreign");
    server.ask(main, "ZADD redisson_lock_timeout:{l} 9000000 foreign");
    waiting(&mut server, "LOCK.ACQUIRE l a FAIR BLOCK 100");
    waiting(&mut server, "LOCK.ACQUIRE l b FAIR BLOCK 0");
    let again = waiting(&mut server, "LOCK.ACQUIRE l a FAIR BLOCK 0");
    server.ask(main, "CLOCK.ADVANCE 100");
    server.ask(main, "LOCK.RELEASE l holder");
    assert_eq!(server.read(again), "");
    server.ask(main, "ZREM redisson_lock_timeout:{l} foreign");
    server.ask(main, "LREM redisson_lock_queue:{l} 0 foreign");
    assert!(server.read(again).contains("token"));
}

/// A score that is no time ends no lease: the waiter is not retried again and again.
#[test]
fn a_permit_with_an_invalid_end_does_not_keep_the_server_busy() {
    let (mut server, main) = locked();
    server.ask(main, "SEM.INIT s 0");
    server.ask(main, "ZADD {s}:timeout -5 0123456789abcdef");
    waiting(&mut server, "SEM.ACQUIRE s me IDS BLOCK 0");
    let turned = server.ask(main, "CLOCK.ADVANCE 1000");
    assert_eq!(fired(&turned), 0, "{turned}");
}

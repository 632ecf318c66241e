//! The delayed hand-off to native waiters, which gives clients of Redisson their turn.

use lockwheel_engine::config::Config;
use lockwheel_engine::core::Simulation;

const OWNER: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";

/// A server on frozen clocks on which an owner holds a lock, one client waits for it natively, and one as Redisson
/// does.
fn contended(delay_ms: u64) -> (Simulation, u64, u64, u64) {
    let mut server = Simulation::new(Config::default(), 7);
    let [main, native, redisson] = [server.connect(), server.connect(), server.connect()];
    server.ask(main, "CLOCK.FREEZE");
    server.ask(main, &format!("CONFIG SET lock-handoff-delay {delay_ms}"));
    server.ask(main, "LOCK.ACQUIRE l a PX 100000");
    server.send(native, "LOCK.ACQUIRE l b BLOCK 0 PX 100000");
    server.ask(redisson, "SUBSCRIBE redisson_lock__channel:{l}");
    (server, main, native, redisson)
}

#[test]
fn a_lock_is_handed_over_at_once_or_when_the_delay_is_over() {
    for (delay_ms, before) in [(0, "token"), (50, "")] {
        let (mut server, main, native, redisson) = contended(delay_ms);
        server.ask(main, "LOCK.RELEASE l a");
        assert!(server.read(redisson).contains("message"));
        server.ask(main, "CLOCK.ADVANCE 49");
        let told = server.read(native);
        assert!(told.contains(before) && told.is_empty() == before.is_empty(), "{told}");
        server.ask(main, "CLOCK.ADVANCE 1");
        assert_eq!(server.read(native).contains("waited\r\n:50\r\n"), delay_ms == 50);
        assert_eq!(server.ask(main, "HLEN l"), ":1\r\n");
        // Every further grant is delayed equally.
        server.send(native, "LOCK.RELEASE l b");
        assert_eq!(server.read(native), ":0\r\n");
        server.send(native, "LOCK.ACQUIRE l b");
        assert!(server.read(native).contains("token"), "nobody else waits natively");
    }
}

#[test]
fn redisson_can_take_a_lock_during_the_handoff_delay() {
    let (mut server, main, native, _) = contended(50);
    server.ask(main, "LOCK.RELEASE l a");
    assert_eq!(server.ask(main, "LOCK.ACQUIRE l newcomer"), "$-1\r\n");
    server.ask(main, "CLOCK.ADVANCE 20");
    server.ask(main, &format!("EVAL \"redis.call('hincrby', KEYS[1], ARGV[1], 1)\" 1 l {OWNER}"));
    server.ask(main, "CLOCK.ADVANCE 100");
    assert_eq!(server.read(native), "");
    // The lock is free once more, and withheld from native waiters for as long.
    server.ask(main, "DEL l");
    server.ask(main, "CLOCK.ADVANCE 49");
    assert_eq!(server.read(native), "");
    server.ask(main, "CLOCK.ADVANCE 1");
    assert!(server.read(native).contains("token"));
}

#[test]
fn no_handoff_delay_applies_without_redisson_waiters_or_to_fair_locks() {
    let (mut server, main, native, redisson) = contended(50);
    server.send(redisson, "UNSUBSCRIBE");
    server.ask(main, "LOCK.RELEASE l a");
    assert!(server.read(native).contains("token"));

    let (mut server, main, native, _) = contended(50);
    let fair = server.connect();
    server.ask(main, "LOCK.CANCEL l b");
    server.read(native);
    server.send(fair, "LOCK.ACQUIRE l c FAIR BLOCK 0");
    server.ask(main, "LOCK.RELEASE l a");
    assert!(server.read(fair).contains("token"));
}

/// A client that takes the lock in between leaves nothing behind.
#[test]
fn a_handoff_delay_ends_with_its_last_waiter() {
    let (mut server, main, native, _) = contended(50);
    server.ask(main, "LOCK.RELEASE l a");
    server.close(native);
    server.notice();
    assert!(server.ask(main, "LOCK.ACQUIRE l d PX 100000").contains("token"));
    server.ask(main, "CLOCK.ADVANCE 50");
    let next = server.connect();
    server.send(next, "LOCK.ACQUIRE l e BLOCK 0");
    server.ask(main, "LOCK.RELEASE l d");
    assert_eq!(server.read(next), "");
    server.ask(main, "CLOCK.ADVANCE 50");
    assert!(server.read(next).contains("token"));
}

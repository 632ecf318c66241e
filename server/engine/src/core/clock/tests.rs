//! Tests of advances in pieces, and of panics during an advance.

use crate::clients::{Closing, Outbox, Peer, Slot};
use crate::clock::AdvanceProgress;
use crate::config::Config;
use crate::core::test_host::TestHost;
use crate::core::{Engine, Output};
use lockwheel_store::keyspace::EventClasses;
use lockwheel_store::time::Now;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

fn at(ms: u64) -> Now {
    Now { wall_us: ms as i64 * 1000, monotonic_us: ms * 1000 }
}

fn ask(engine: &mut Engine, slot: Slot, request: &str) -> String {
    let argv: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
    engine.execute(slot, &argv);
    let mut output = Outbox::default();
    engine.take_output(slot, &mut output);
    engine.sessions().buffers(slot).set_unwritten(0);
    String::from_utf8_lossy(output.bytes()).into_owned()
}

/// The client that advances the clock does not wait forever, and fired deadlines stay fired.
#[test]
fn a_panic_while_clients_settle_disconnects_the_advancing_client() {
    let mut config = Config::default();
    config.notify_keyspace_events = EventClasses::parse(b"Ex").expect("classes");
    let mut engine = Engine::new(config, 7, at(0));
    engine.begin(at(0));
    let [mover, listener] = [engine.connect(Peer::default()), engine.connect(Peer::default())];
    ask(&mut engine, listener, "SUBSCRIBE __keyevent@0__:expired");
    ask(&mut engine, mover, "CLOCK.FREEZE");
    ask(&mut engine, mover, "SET a 1 PX 10");
    ask(&mut engine, mover, "SET b 1 PX 20");
    // The clocks can be read three times: at the beginning of each piece, and at the end of the first.
    let left = AtomicU32::new(3);
    engine.set_host(Arc::new(TestHost(move || {
        assert!(left.fetch_sub(1, Ordering::Relaxed) > 0, "the clocks are worn out");
        at(0)
    })));
    assert_eq!(ask(&mut engine, mover, "CLOCK.ADVANCE 30 SETTLE 5"), "");
    assert_eq!(engine.sessions().get(mover).closing(), None);

    engine.begin(at(6));
    assert_eq!(engine.sessions().get(mover).closing(), Some(Closing::Now));
    assert_eq!(ask(&mut engine, listener, "UNSUBSCRIBE").matches("expired").count(), 3);
    while !matches!(engine.poll_output(), Output::Idle { .. }) {}
    let other = engine.connect(Peer::default());
    assert_eq!(ask(&mut engine, other, "DBSIZE"), ":0\r\n");
}

/// The maximum number of deadlines that fire in one piece.
const PIECE: usize = 131_072;

/// Returns an engine on frozen clocks, with keys that expire in 10 ms, and two clients.
fn frozen(keys: usize) -> (Engine, [Slot; 2]) {
    let mut engine = Engine::new(Config::default(), 7, at(0));
    engine.begin(at(0));
    let slots = [0; 2].map(|_| engine.connect(Peer::default()));
    ask(&mut engine, slots[0], "CLOCK.FREEZE");
    let script = b"for i = 1, ARGV[1] do redis.call('SET', i, '', 'PX', 10) end";
    engine.execute(slots[0], &[b"EVAL", script, b"0", keys.to_string().as_bytes()]);
    assert_eq!(ask(&mut engine, slots[1], "DBSIZE"), format!(":{keys}\r\n"));
    ask(&mut engine, slots[0], "PING");
    (engine, slots)
}

#[test]
fn many_deadlines_at_one_instant_fire_in_pieces() {
    let keys = 2 * PIECE + 10;
    let (mut engine, [mover, other]) = frozen(keys);
    ask(&mut engine, other, "SET later 1 PX 11");
    assert_eq!(ask(&mut engine, mover, "CLOCK.NEXT"), "");
    for pieces in 1..3 {
        engine.begin(at(0));
        let named = pieces - 1;
        assert_eq!(engine.keyspace.timers(), keys + 1 - pieces * PIECE - named, "nobody else fires them");
        assert_eq!(ask(&mut engine, other, "DBSIZE"), format!(":{pieces}\r\n"), "what is due is hidden");
        assert_eq!(ask(&mut engine, other, "PTTL later"), ":1\r\n");
        let last = keys.to_string();
        assert_eq!(
            ask(&mut engine, other, &format!("SET {last} 1 NX")),
            if pieces == 1 { "+OK\r\n" } else { "$-1\r\n" }
        );
        engine.begin(at(pieces as u64 + 1));
        ask(&mut engine, other, "PING");
    }
    let answer = ask(&mut engine, mover, "PING");
    assert!(answer.contains(&format!("fired\r\n:{}\r\n", keys - 1)), "{}", &answer[..100]);
    assert_eq!(engine.clock().now().monotonic_ms(), 10, "that was one instant");
    engine.begin(at(9));
    assert_eq!((engine.keyspace.timers(), engine.keyspace.has_expiry_backlog()), (1, false));
}

/// A deadline takes long if many clients listen to its event.
#[test]
fn a_piece_also_ends_after_a_second() {
    let (mut engine, [mover, other]) = frozen(1000);
    // Each reading of the clock, once in 16 deadlines, moves it by 100 ms.
    let ms = AtomicU64::new(1);
    engine.set_host(Arc::new(TestHost(move || at(ms.fetch_add(100, Ordering::Relaxed)))));
    assert_eq!(ask(&mut engine, mover, "CLOCK.ADVANCE 100"), "");
    let left = engine.keyspace.timers();
    assert!((800..900).contains(&left), "{left}");
    assert_eq!(ask(&mut engine, other, "DBSIZE"), ":0\r\n", "what is due is hidden");
    (1..30).for_each(|ms| engine.begin(at(ms)));
    assert_eq!((engine.keyspace.timers(), engine.clock().now().monotonic_ms()), (0, 100));
}

#[test]
fn an_advance_continues_after_its_client_disconnects() {
    for (request, keys) in [("CLOCK.ADVANCE 100", PIECE + 10), ("CLOCK.ADVANCE 100 SETTLE 5", 10)] {
        for way in 0..4 {
            let (mut engine, [mover, other]) = frozen(keys);
            ask(&mut engine, other, "SET later 1 PX 50");
            let waiter = engine.connect(Peer::default());
            assert_eq!(ask(&mut engine, waiter, "BLPOP q 0.01"), "");
            assert_eq!(ask(&mut engine, mover, request), "");
            let id = engine.sessions().get(mover).id;
            match way {
                0 => engine.disconnect(mover),
                1 => drop(ask(&mut engine, other, &format!("CLIENT KILL ID {id}"))),
                2 => drop(ask(&mut engine, other, &format!("CLIENT UNBLOCK {id} ERROR"))),
                _ => drop(ask(&mut engine, other, &format!("CLIENT UNBLOCK {id}"))),
            }
            (1..40).for_each(|ms| engine.begin(at(ms)));
            assert_eq!(engine.clock().now().monotonic_ms(), 100, "{request}, {way}");
            assert_eq!(ask(&mut engine, other, "DBSIZE"), ":0\r\n");
            assert_eq!(engine.next_deadline(), None);
        }
    }
}

#[test]
fn a_reset_ends_an_advance_whose_client_has_gone() {
    let (mut engine, [mover, other]) = frozen(PIECE + 10);
    assert_eq!(ask(&mut engine, mover, "CLOCK.ADVANCE 100"), "");
    engine.disconnect(mover);
    ask(&mut engine, other, "CONTROL.RESET");
    ask(&mut engine, other, "CLOCK.FREEZE");
    let before = engine.clock().now();
    (1..10).for_each(|ms| engine.begin(at(ms)));
    assert_eq!(engine.clock().now(), before);
}

#[test]
fn clients_also_settle_at_the_end_of_a_piece() {
    let (mut engine, [mover, other]) = frozen(PIECE - 1);
    let waiter = engine.connect(Peer::default());
    assert_eq!(ask(&mut engine, waiter, "BLPOP q 0.01"), "");
    ask(&mut engine, other, "SET later 1 PX 20");
    assert_eq!(ask(&mut engine, mover, "CLOCK.ADVANCE 30 SETTLE 50"), "");
    assert_eq!(ask(&mut engine, waiter, "SET reaction 1 PX 5"), "*-1\r\n+OK\r\n");
    engine.begin(at(20));
    assert_eq!(engine.clock().now().monotonic_ms(), 10, "clients may still react");
    engine.begin(at(60));
    assert_eq!(engine.clock().now().monotonic_ms(), 30);
}

/// An advance does not become a single piece once its limit is over.
#[test]
fn an_advance_past_its_settle_limit_still_runs_in_pieces() {
    let (mut engine, [mover, other]) = frozen(PIECE + 10);
    ask(&mut engine, other, "SET later 1 PX 20");
    let waiter = engine.connect(Peer::default());
    assert_eq!(ask(&mut engine, waiter, "BLPOP q 0.005"), "");
    assert_eq!(ask(&mut engine, mover, "CLOCK.ADVANCE 30 SETTLE 50 LIMIT 10"), "");
    engine.begin(at(12));
    assert_eq!(engine.clock().now().monotonic_ms(), 10, "a piece has ended");
    engine.begin(at(14));
    assert!(ask(&mut engine, mover, "PING").contains("settled\r\n:0\r\n"));
}

/// The transaction of the client that unblocks it stays atomic.
#[test]
fn waiters_are_served_after_the_transaction_that_ends_an_advance() {
    let (mut engine, [mover, other]) = frozen(0);
    let [timed, waiter] = [engine.connect(Peer::default()), engine.connect(Peer::default())];
    assert_eq!(ask(&mut engine, timed, "BLPOP none 0.005"), "");
    assert_eq!(ask(&mut engine, waiter, "BLPOP q 0"), "");
    assert_eq!(ask(&mut engine, mover, "CLOCK.ADVANCE 5 SETTLE 60000 LIMIT 60000"), "");
    let id = engine.sessions().get(mover).id;
    ask(&mut engine, other, "MULTI");
    for request in ["LPUSH q x", &format!("CLIENT UNBLOCK {id}"), "LPOP q"] {
        assert_eq!(ask(&mut engine, other, request), "+QUEUED\r\n");
    }
    assert_eq!(ask(&mut engine, other, "EXEC"), "*3\r\n:1\r\n:1\r\n$1\r\nx\r\n");
    assert!(engine.sessions().get(waiter).is_blocked());
}

/// Only its wait for the others to settle ends, and no other wait.
#[test]
fn unblocking_an_advancing_client_continues_the_advance() {
    let (mut engine, [mover, other]) = frozen(PIECE + 10);
    let waiter = engine.connect(Peer::default());
    assert_eq!(ask(&mut engine, waiter, "BLPOP q 0.005"), "");
    assert_eq!(ask(&mut engine, mover, "CLOCK.ADVANCE 100 SETTLE 5000 LIMIT 5000"), "");
    assert_eq!(engine.clock().now().monotonic_ms(), 5);
    let id = engine.sessions().get(mover).id;
    assert_eq!(ask(&mut engine, other, &format!("CLIENT UNBLOCK {id}")), ":1\r\n");
    assert!(!engine.sessions().get(mover).is_blocked());
    assert_eq!(ask(&mut engine, mover, "PING"), "$-1\r\n+PONG\r\n");
    assert_eq!(engine.clock().now().monotonic_ms(), 10, "amid an instant");
    assert_eq!(ask(&mut engine, other, &format!("CLIENT UNBLOCK {id}")), ":0\r\n");
    (1..5).for_each(|ms| engine.begin(at(ms)));
    assert_eq!(engine.clock().now().monotonic_ms(), 100);
    assert_eq!(ask(&mut engine, mover, "BLPOP x 0"), "");
    engine.begin(at(20_000));
    assert!(engine.sessions().get(mover).is_blocked());
    assert_eq!(engine.next_deadline(), None);
}

/// One advance waits long for clients to react; the other has stopped within an instant.
#[test]
fn advances_without_clients_continue_independently() {
    let (mut engine, [settling, other]) = frozen(PIECE + 10);
    let [waiter, mover] = [0; 2].map(|_| engine.connect(Peer::default()));
    assert_eq!(ask(&mut engine, waiter, "BLPOP q 0.005"), "");
    assert_eq!(ask(&mut engine, settling, "CLOCK.ADVANCE 100 SETTLE 60000 LIMIT 60000"), "");
    engine.disconnect(settling);
    engine.begin(at(1));
    assert_eq!(ask(&mut engine, mover, "CLOCK.ADVANCE 1000"), "");
    engine.disconnect(mover);
    (2..5).for_each(|ms| engine.begin(at(ms)));
    assert_eq!(engine.clock().now().monotonic_ms(), 1005);
    assert_eq!(ask(&mut engine, other, "DBSIZE"), ":0\r\n");
    assert_eq!(engine.next_deadline(), Some(60_001_000), "the other goes on when all have settled");
    engine.begin(at(60_001));
    assert_eq!((engine.clock().now().monotonic_ms(), engine.next_deadline()), (1100, None));
}

/// A key that a jump of the clock passes is hidden until it fires. Other clients are served meanwhile.
#[test]
fn deadlines_passed_by_a_clock_change_fire_in_pieces() {
    let changes = [
        ("CLOCK.STEP 10", "10"),
        ("CLOCK.SET 25", "25"),
        // Time runs on between the pieces.
        ("CLOCK.RESET", "11"),
        ("CLOCK.FREEZE", "10"),
    ];
    for (request, wall_ms) in changes {
        let (mut engine, [mover, other]) = frozen(2 * PIECE);
        if request == "CLOCK.FREEZE" {
            ask(&mut engine, mover, "CLOCK.RESUME");
            engine.fire_due(0, engine.clock.rule());
            // The keys have not expired yet; they do once the clock is frozen.
            engine.go_on_at(Now { wall_us: 10_400, monotonic_us: 10_400 });
        } else {
            engine.go_on_at(at(11));
        }
        assert_eq!(ask(&mut engine, mover, request), "", "{request}");
        assert_eq!(engine.keyspace.timers(), PIECE, "{request}");
        assert_eq!(ask(&mut engine, other, "DBSIZE"), ":0\r\n", "what is due is hidden");
        assert_eq!(ask(&mut engine, other, "SET new 1"), "+OK\r\n");
        (13..15).for_each(|ms| engine.begin(at(ms)));
        assert_eq!((engine.keyspace.timers(), engine.keyspace.has_expiry_backlog()), (0, false), "{request}");
        let answer = ask(&mut engine, mover, "PING");
        assert_eq!(answer, format!(":{wall_ms}\r\n+PONG\r\n"), "{request}");
        assert_eq!(ask(&mut engine, other, "DBSIZE"), ":1\r\n");
    }
}

#[test]
fn a_jump_of_the_clock_by_a_script_is_one_step() {
    let (mut engine, [mover, other]) = frozen(PIECE + 10);
    let jump = b"return redis.call('CLOCK.STEP', 10)";
    engine.execute(mover, &[b"EVAL", jump, b"0"]);
    assert_eq!(engine.keyspace.timers(), 0);
    assert_eq!(ask(&mut engine, other, "DBSIZE"), ":0\r\n");
}

/// Keys that expire only when they are named are also hidden after an advance.
#[test]
fn keys_passed_by_an_advance_are_hidden_without_active_expiry() {
    for request in ["CLOCK.STEP 10", "CLOCK.ADVANCE 10"] {
        let (mut engine, [mover, other]) = frozen(3);
        ask(&mut engine, mover, "DEBUG SET-ACTIVE-EXPIRE 0");
        assert!(!ask(&mut engine, mover, request).is_empty());
        assert_eq!(ask(&mut engine, other, "KEYS *"), "*0\r\n", "{request}");
    }
}

/// Deadlines that clients have seen pass stay passed, even if the clock is set back before all have fired.
#[test]
fn keys_passed_by_an_advance_stay_expired_when_the_clock_is_set_back() {
    let moves = [
        ("CLOCK.STEP 10", "CLOCK.STEP -5", ":10\r\n"),
        ("CLOCK.ADVANCE 10", "CLOCK.SET 3", "wall\r\n:10\r\n"),
        ("CLOCK.NEXT", "CLOCK.RESET", "wall\r\n:10\r\n"),
    ];
    for (request, back, own) in moves {
        let (mut engine, [mover, other]) = frozen(2 * PIECE + 10);
        let third = engine.connect(Peer::default());
        assert_eq!(ask(&mut engine, mover, request), "");
        assert_eq!(ask(&mut engine, third, "DBSIZE"), ":0\r\n", "what is due is hidden");
        assert_eq!(ask(&mut engine, other, back), "", "{request}, {back}");
        assert_eq!(ask(&mut engine, third, "DBSIZE"), ":0\r\n", "{request}, {back}");
        (1..6).for_each(|ms| engine.begin(at(ms)));
        assert_eq!(ask(&mut engine, third, "DBSIZE"), ":0\r\n", "{request}, {back}");
        assert_eq!((engine.keyspace.timers(), engine.keyspace.has_expiry_backlog()), (0, false));
        assert!(ask(&mut engine, other, "PING").starts_with(':'), "{request}, {back}");
        let answer = ask(&mut engine, mover, "PING");
        assert!(answer.contains(own), "{request}, {back}: {}", &answer[..answer.len().min(100)]);
    }
}

#[test]
fn keys_passed_by_real_time_stay_expired_when_the_clock_is_set_back() {
    let (mut engine, [mover, other]) = frozen(PIECE + 2000);
    ask(&mut engine, mover, "CLOCK.RESUME");
    engine.begin(at(11));
    assert_eq!(ask(&mut engine, other, "DBSIZE"), ":0\r\n");
    assert_eq!(ask(&mut engine, mover, "CLOCK.STEP -5"), "", "a piece has fired");
    (11..14).for_each(|ms| engine.begin(at(ms)));
    assert_eq!((ask(&mut engine, other, "DBSIZE"), engine.keyspace.timers()), (":0\r\n".to_owned(), 0));
}

#[test]
fn all_due_deadlines_fire_before_a_script_sets_the_clock_back() {
    let (mut engine, [mover, other]) = frozen(2 * PIECE);
    assert_eq!(ask(&mut engine, mover, "CLOCK.STEP 10"), "");
    engine.execute(other, &[b"EVAL", b"return redis.call('CLOCK.STEP', -5)", b"0"]);
    assert_eq!((engine.keyspace.timers(), engine.clock().now().wall_ms()), (0, 5));
    engine.begin(at(2));
    assert_eq!(ask(&mut engine, mover, "PING"), ":10\r\n+PONG\r\n");
}

/// The process itself drives the advance to its end, in its own loop.
#[test]
fn a_reset_ends_an_advance_of_the_rust_interface() {
    let (mut engine, [_, other]) = frozen(PIECE + 10);
    let mut advance = engine.clock().advance_by(1000).expect("it is in range").in_pieces();
    assert_eq!(engine.continue_advance(&mut advance), AdvanceProgress::WaitUs(0));
    ask(&mut engine, other, "CONTROL.RESET");
    ask(&mut engine, other, "CLOCK.FREEZE");
    ask(&mut engine, other, "SET k v PX 5");
    let before = engine.clock().now();
    assert_eq!(engine.continue_advance(&mut advance), AdvanceProgress::Done);
    assert_eq!(engine.clock().now(), before);
    assert_eq!(ask(&mut engine, other, "DBSIZE"), ":1\r\n");
}

#[test]
fn an_advance_pushed_out_of_range_by_another_client_is_refused() {
    let (mut engine, [mover, other]) = frozen(PIECE + 10);
    let far = (1_i64 << 62) / 1000 - 1000;
    assert_eq!(ask(&mut engine, mover, "CLOCK.ADVANCE 5000"), "");
    assert_eq!(ask(&mut engine, other, &format!("CLOCK.SET {far}")), format!(":{far}\r\n"));
    engine.begin(at(2));
    let refused = "-ERR time is out of range: another client has moved the clock meanwhile\r\n";
    assert_eq!(ask(&mut engine, mover, "PING"), format!("{refused}+PONG\r\n"));
}

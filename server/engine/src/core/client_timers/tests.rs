//! Tests of closing clients as time passes, on a frozen clock.

use crate::clients::{Closing, Outbox, Peer, Slot};
use crate::config::Config;
use crate::core::{Engine, Output};
use lockwheel_store::time::Now;

fn at(ms: u64) -> Now {
    Now { wall_us: ms as i64 * 1000, monotonic_us: ms * 1000 }
}

fn ask(engine: &mut Engine, slot: Slot, request: &str) -> String {
    let argv: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
    engine.execute(slot, &argv);
    read(engine, slot)
}

fn read(engine: &mut Engine, slot: Slot) -> String {
    let mut output = Outbox::default();
    engine.take_output(slot, &mut output);
    engine.sessions().buffers(slot).set_unwritten(0);
    String::from_utf8_lossy(output.bytes()).into_owned()
}

/// Returns an engine with a frozen clock, and the client that advances it.
fn frozen() -> (Engine, Slot) {
    let mut engine = Engine::new(Config::default(), 7, at(0));
    engine.begin(at(0));
    let main = engine.connect(Peer::default());
    ask(&mut engine, main, "CLOCK.FREEZE");
    (engine, main)
}

/// Advances the clock. Returns the number of fired deadlines.
fn advance(engine: &mut Engine, main: Slot, ms: u64) -> u64 {
    let reply = ask(engine, main, &format!("CLOCK.ADVANCE {ms}"));
    let fired = reply.split("fired\r\n:").nth(1).and_then(|rest| rest.lines().next());
    fired.and_then(|fired| fired.parse().ok()).unwrap_or_else(|| panic!("{reply}"))
}

/// Returns the woken clients, in order.
fn woken(engine: &mut Engine) -> Vec<u64> {
    let next = || match engine.poll_output() {
        Output::Session(id) => Some(id),
        _ => None,
    };
    std::iter::from_fn(next).collect()
}

fn is_closed(engine: &Engine, slot: Slot) -> bool {
    engine.sessions().get(slot).closing() == Some(Closing::Now)
}

#[test]
fn idle_clients_are_closed_unless_blocked_or_subscribed() {
    let (mut engine, main) = frozen();
    let mut client = |requests: &[&str]| {
        let slot = engine.connect(Peer::default());
        requests.iter().for_each(|request| drop(ask(&mut engine, slot, request)));
        slot
    };
    let closed: Vec<Slot> = [
        &[][..],
        &["PING"],
        &["MULTI", "SET k v"],
        &["WATCH k"],
        &["CLIENT NO-EVICT on"],
        &["SUBSCRIBE c", "UNSUBSCRIBE c"],
        &["PSUBSCRIBE c*", "PUNSUBSCRIBE"],
        &["SUBSCRIBE c", "RESET"],
    ]
    .map(&mut client)
    .into();
    let open =
        [&["BLPOP q 0"][..], &["WAIT 1 0"], &["SUBSCRIBE c"], &["PSUBSCRIBE c*"], &["AWAIT.BLOCKED 9"]]
            .map(client);
    assert_eq!(ask(&mut engine, main, "CONFIG SET timeout 5"), "+OK\r\n");
    assert_eq!(advance(&mut engine, main, 4999), 0);
    assert!(closed.iter().all(|&slot| !is_closed(&engine, slot)));
    assert_eq!(advance(&mut engine, main, 1), closed.len() as u64);
    assert!(closed.iter().all(|&slot| is_closed(&engine, slot)));
    assert_eq!(advance(&mut engine, main, 3_600_000), 0);
    assert!(open.iter().all(|&slot| !is_closed(&engine, slot)));
    assert!(!is_closed(&engine, main), "who turns the clock is active");
}

#[test]
fn a_request_or_the_end_of_a_wait_restarts_the_idle_timeout() {
    let (mut engine, main) = frozen();
    ask(&mut engine, main, "CONFIG SET timeout 5");
    let [active, blocked] = [0; 2].map(|_| engine.connect(Peer::default()));
    ask(&mut engine, blocked, "BLPOP q 7.5");
    advance(&mut engine, main, 3000);
    ask(&mut engine, active, "PING");
    assert_eq!(advance(&mut engine, main, 4500), 1, "of the wait");
    assert_eq!(read(&mut engine, blocked), "*-1\r\n");
    ask(&mut engine, main, "PING");
    assert!(ask(&mut engine, main, "CLOCK.INFO").contains("next\r\n:500\r\n"), "that of the active one");
    assert_eq!(advance(&mut engine, main, 500), 1);
    assert_eq!((is_closed(&engine, active), is_closed(&engine, blocked)), (true, false));
    engine.disconnect(active);
    assert_eq!(advance(&mut engine, main, 4499), 0);
    assert_eq!(advance(&mut engine, main, 1), 1);
    assert!(is_closed(&engine, blocked));
}

#[test]
fn a_client_that_is_answered_and_closed_at_once_gets_the_reply() {
    let (mut engine, main) = frozen();
    ask(&mut engine, main, "CONFIG SET timeout 5");
    let blocked = engine.connect(Peer::default());
    ask(&mut engine, blocked, "BLPOP q 1");
    assert_eq!(advance(&mut engine, main, 3_600_000), 2);
    assert_eq!(engine.sessions().get(blocked).closing(), Some(Closing::AfterOutput));
    assert_eq!(read(&mut engine, blocked), "*-1\r\n");
}

#[test]
fn a_changed_timeout_applies_to_connected_clients_at_once() {
    let (mut engine, main) = frozen();
    let timers = |engine: &mut Engine| {
        let info = ask(engine, main, "CLOCK.INFO");
        info.rsplit(':').next().map(|count| count.trim().to_owned())
    };
    let idle = engine.connect(Peer::default());
    assert_eq!(timers(&mut engine).as_deref(), Some("0"));
    ask(&mut engine, main, "CONFIG SET timeout 100");
    assert_eq!(timers(&mut engine).as_deref(), Some("2"));
    advance(&mut engine, main, 10_000);
    ask(&mut engine, main, "CONFIG SET timeout 0");
    assert_eq!(timers(&mut engine).as_deref(), Some("0"));
    ask(&mut engine, main, "CONFIG SET timeout 10");
    assert!(!is_closed(&engine, idle));
    engine.begin(at(1));
    assert!(is_closed(&engine, idle), "it has been idle for as long already");
    engine.disconnect(idle);
    assert_eq!(timers(&mut engine).as_deref(), Some("1"));
}

#[test]
fn no_idle_client_is_closed_before_its_timeout() {
    let mut config = Config::default();
    config.timeout = 5;
    let mut engine = Engine::new(config, 7, at(0));
    engine.begin(at(0));
    let slot = engine.connect(Peer::default());
    assert_eq!(engine.next_deadline(), Some(5_001_000));
    engine.begin(at(3000));
    ask(&mut engine, slot, "PING");
    for ms in [5001, 8000] {
        engine.begin(at(ms));
        assert!(!is_closed(&engine, slot));
    }
    assert_eq!(engine.next_deadline(), Some(8_001_000));
    engine.begin(at(8001));
    assert!(is_closed(&engine, slot));
}

#[test]
fn a_thousand_idle_clients_are_closed_in_order_of_arrival() {
    let (mut engine, main) = frozen();
    ask(&mut engine, main, "CONFIG SET timeout 60");
    let slots: Vec<Slot> = (0..1000).map(|_| engine.connect(Peer::default())).collect();
    // Effects of earlier requests do not count as wake-ups.
    woken(&mut engine);
    assert_eq!(advance(&mut engine, main, 60_000), 1000);
    let woken = woken(&mut engine);
    let ids: Vec<u64> = slots.iter().map(|&slot| engine.sessions().get(slot).id).collect();
    assert_eq!(woken, ids);
}

#[test]
fn deadlines_at_one_instant_fire_in_order_of_creation() {
    let (mut engine, main) = frozen();
    ask(&mut engine, main, "CONFIG SET timeout 5 notify-keyspace-events Ex");
    let mut client = |request: &str| {
        let slot = engine.connect(Peer::default());
        ask(&mut engine, slot, request);
        engine.sessions().get(slot).id
    };
    let listener = client("SUBSCRIBE __keyevent@0__:expired");
    let first_idle = client("PING");
    let waiter = client("BLPOP q 5");
    let second_idle = client("SET k v PX 5000");
    let late_waiter = client("BLPOP q 5");
    woken(&mut engine);
    assert_eq!(advance(&mut engine, main, 5000), 5);
    let woken = woken(&mut engine);
    assert_eq!(woken, [first_idle, waiter, second_idle, listener, late_waiter]);
}

#[test]
fn a_client_that_still_reads_its_output_is_not_idle() {
    let (mut engine, main) = frozen();
    ask(&mut engine, main, "CONFIG SET timeout 5");
    let reader = engine.connect(Peer::default());
    engine.execute(reader, &[b"PING"]);
    let left = engine.sessions().buffers(reader);
    for unread in [900, 500, 20] {
        left.set_unwritten(unread);
        advance(&mut engine, main, 5000);
        assert!(!is_closed(&engine, reader), "{unread}");
    }
    advance(&mut engine, main, 5000);
    assert!(is_closed(&engine, reader), "it has read nothing since");
}

/// Returns a client with 5,000 unread bytes at 0 ms of real time, which may have 4,000 for two seconds.
fn with_unread_output() -> (Engine, Slot, Slot) {
    let (mut engine, main) = frozen();
    engine.execute(main, &[b"CONFIG", b"SET", b"client-output-buffer-limit", b"normal 0 4000 2"]);
    ask(&mut engine, main, &format!("SET k {}", "x".repeat(5000)));
    let slow = engine.connect(Peer::default());
    engine.execute(slow, &[b"GET", b"k"]);
    (engine, main, slow)
}

#[test]
fn a_client_over_its_soft_limit_is_closed_without_further_output() {
    let (mut engine, main, slow) = with_unread_output();
    advance(&mut engine, main, 3_600_000);
    assert_eq!(engine.next_deadline(), Some(2_001_000), "in real time");
    engine.begin(at(2000));
    assert!(!is_closed(&engine, slow));
    engine.begin(at(2001));
    assert!(is_closed(&engine, slow));
    let woken = woken(&mut engine);
    assert!(woken.contains(&engine.sessions().get(slow).id));
}

#[test]
fn a_client_that_reads_its_output_in_time_is_not_closed() {
    let (mut engine, _, slow) = with_unread_output();
    ask(&mut engine, slow, "PING");
    engine.begin(at(2001));
    assert_eq!((is_closed(&engine, slow), engine.next_deadline()), (false, None));
}

#[test]
fn a_changed_output_limit_applies_at_once() {
    let (mut engine, main, slow) = with_unread_output();
    engine.begin(at(1500));
    engine.execute(main, &[b"CONFIG", b"SET", b"client-output-buffer-limit", b"normal 0 4000 1"]);
    assert!(is_closed(&engine, slow));
}

//! The number of checks of waits, whatever the time between them.

use crate::clients::{Outbox, Peer, Slot};
use crate::config::Config;
use crate::core::Engine;
use crate::locks::{self, Happening, HistoryEvent, ListenerCount};
use lockwheel_store::keyspace::Rng;
use lockwheel_store::time::Now;
use std::collections::BTreeSet;

const WAITS: usize = 1000;

fn at(ms: u64) -> Now {
    Now { wall_us: ms as i64 * 1000, monotonic_us: ms * 1000 }
}

fn engine() -> (Engine, Slot) {
    let mut config = Config::default();
    config.lock_history = true;
    let mut engine = Engine::new(config, 7, at(0));
    engine.begin(at(0));
    let slot = engine.connect(Peer::default());
    (engine, slot)
}

fn ask(engine: &mut Engine, slot: Slot, request: &str) -> String {
    let argv: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
    engine.execute(slot, &argv);
    received(engine, slot)
}

fn received(engine: &mut Engine, slot: Slot) -> String {
    let mut answer = Outbox::default();
    engine.take_output(slot, &mut answer);
    String::from_utf8_lossy(answer.bytes()).into_owned()
}

fn waiters(engine: &mut Engine, count: usize, request: &str) -> Vec<Slot> {
    let slots: Vec<Slot> = (0..count).map(|_| engine.connect(Peer::default())).collect();
    for slot in &slots {
        assert_eq!(ask(engine, *slot, request), "", "{request}");
    }
    slots
}

/// Returns how often waits are checked while `requests` run.
fn count_checks(engine: &mut Engine, slot: Slot, requests: &[&str]) -> u64 {
    let before = engine.retried_requests();
    for request in requests {
        ask(engine, slot, request);
    }
    engine.retried_requests() - before
}

#[test]
fn unrelated_requests_cause_no_check_of_a_wait() {
    for request in [
        "AWAIT.BLOCKED 9000 LIMIT 600000",
        "AWAIT.BLOCKED 9000 KEY k LIMIT 600000",
        "AWAIT.WAITERS k 9000 LIMIT 600000",
        "AWAIT.SUBSCRIBERS c 9000 LIMIT 600000",
        "AWAIT.CLIENTS 9000 LIMIT 600000",
        "AWAIT.CLIENTS 9000 NAME n* LIMIT 600000",
        "AWAIT.CALLS get 9000 LIMIT 600000",
        "AWAIT.CALLS ping 9000 LIMIT 600000",
        "AWAIT.CALLS config 9000 LIMIT 600000",
        "AWAIT.CALLS set 9000 KEY k* LIMIT 600000",
        "AWAIT.CALLS ping 0 ATMOST LIMIT 600000",
        "AWAIT.IDLE 600000 LIMIT 600000",
        "AWAIT.IDLE 600000 NAME n* LIMIT 600000",
        "AWAIT.EVENT acquired KEY k SINCE 1000000 LIMIT 600000",
        "AWAIT.FAULT rule 9000 LIMIT 600000",
        "AWAIT.HELD rule 9000 LIMIT 600000",
        "WAIT 1 0",
        "WAITAOF 0 1 0",
    ] {
        let (mut engine, slot) = engine();
        ask(&mut engine, slot, "FAULT.ADD rule ON get KEY faulty DO REPLY NULL");
        ask(&mut engine, slot, "PING");
        waiters(&mut engine, WAITS, request);
        // The first check of waits of this kind.
        ask(&mut engine, slot, "PING");
        let others = ["PING", "SET k1 v", "GET k1", "CONFIG GET port", "DEL k1", "PING"];
        assert_eq!(count_checks(&mut engine, slot, &others), 0, "{request}");
    }
}

#[test]
fn a_call_wakes_only_the_client_that_waits_for_its_count() {
    let (mut engine, slot) = engine();
    let waits: Vec<Slot> = (0..WAITS).map(|_| engine.connect(Peer::default())).collect();
    for (n, wait) in waits.iter().enumerate() {
        let exact = if n % 2 == 0 { "EXACT " } else { "" };
        ask(&mut engine, *wait, &format!("AWAIT.CALLS get {} {exact}LIMIT 600000", n + 1));
    }
    ask(&mut engine, slot, "PING");
    for wait in &waits {
        assert_eq!(count_checks(&mut engine, slot, &["GET k"]), 1);
        assert_eq!(received(&mut engine, *wait), ":1\r\n");
    }
    assert_eq!(count_checks(&mut engine, slot, &["GET k"]), 0);
}

/// A call is counted after it was tried.
#[test]
fn await_calls_counts_its_own_calls() {
    let (mut engine, slot) = engine();
    ask(&mut engine, slot, "AWAIT.CALLS get 0 KEY none LIMIT 0");
    waiters(&mut engine, 1, "AWAIT.CALLS get 9000 LIMIT 600000");
    for (n, how) in [(3, ""), (4, " EXACT")] {
        assert_eq!(
            ask(&mut engine, slot, &format!("AWAIT.CALLS await.calls {n}{how} LIMIT 600000")),
            ":1\r\n"
        );
    }
    let more = waiters(&mut engine, 1, "AWAIT.CALLS await.calls 6 LIMIT 600000")[0];
    assert_eq!(ask(&mut engine, slot, "AWAIT.CALLS get 0 LIMIT 600000"), ":1\r\n");
    assert_eq!(received(&mut engine, more), ":1\r\n");
}

#[test]
fn resetstat_wakes_await_calls_with_atmost_and_exact() {
    let (mut engine, slot) = engine();
    ask(&mut engine, slot, "GET k");
    ask(&mut engine, slot, "AWAIT.CALLS get 1 KEY k* LIMIT 0");
    ask(&mut engine, slot, "GET k");
    let few = waiters(&mut engine, 1, "AWAIT.CALLS get 0 ATMOST LIMIT 600000")[0];
    let none_of_key = waiters(&mut engine, 1, "AWAIT.CALLS get 0 EXACT KEY k* LIMIT 600000")[0];
    ask(&mut engine, slot, "GET k");
    assert_eq!(
        (received(&mut engine, few), received(&mut engine, none_of_key)),
        (String::new(), String::new())
    );
    ask(&mut engine, slot, "CONFIG RESETSTAT");
    assert_eq!((&*received(&mut engine, few), &*received(&mut engine, none_of_key)), (":1\r\n", ":1\r\n"));
}

#[test]
fn a_call_of_a_subcommand_counts_for_its_container() {
    let (mut engine, slot) = engine();
    let of_all = waiters(&mut engine, 1, "AWAIT.CALLS config 2 LIMIT 600000")[0];
    let of_one = waiters(&mut engine, 1, "AWAIT.CALLS config|get 2 LIMIT 600000")[0];
    ask(&mut engine, slot, "CONFIG GET port");
    ask(&mut engine, slot, "EVAL return{redis.call('config','set','timeout','0')} 0");
    assert_eq!((&*received(&mut engine, of_all), &*received(&mut engine, of_one)), ("", ""));
    ask(&mut engine, slot, "CONFIG SET timeout 0");
    assert_eq!((&*received(&mut engine, of_all), &*received(&mut engine, of_one)), (":1\r\n", ""));
    ask(&mut engine, slot, "MULTI");
    ask(&mut engine, slot, "CONFIG GET port");
    ask(&mut engine, slot, "EXEC");
    assert_eq!(received(&mut engine, of_one), ":1\r\n");
}

/// The call is counted when its wait begins.
#[test]
fn a_blocking_call_is_counted_when_it_begins() {
    let (mut engine, slot) = engine();
    let wait = waiters(&mut engine, 1, "AWAIT.CALLS blpop 1 LIMIT 600000")[0];
    assert_eq!(ask(&mut engine, slot, "BLPOP q 0"), "");
    assert_eq!(received(&mut engine, wait), ":1\r\n");
}

#[test]
fn a_fault_rule_wakes_waiters_when_it_acts_or_is_removed() {
    let (mut engine, slot) = engine();
    ask(&mut engine, slot, "FAULT.ADD hits ON get DO REPLY NULL");
    ask(&mut engine, slot, "FAULT.ADD holds ON set DO HOLD");
    let twice = waiters(&mut engine, 1, "AWAIT.FAULT hits 2 LIMIT 600000")[0];
    let often = waiters(&mut engine, 1, "AWAIT.FAULT hits 9 LIMIT 600000")[0];
    let held = waiters(&mut engine, 1, "AWAIT.HELD holds 2 LIMIT 600000")[0];
    ask(&mut engine, slot, "PING");
    assert_eq!(count_checks(&mut engine, slot, &["GET k"]), 0);
    assert_eq!(count_checks(&mut engine, slot, &["GET k"]), 1);
    assert_eq!((&*received(&mut engine, twice), &*received(&mut engine, often)), (":1\r\n", ""));
    let [one, other, third] = [0; 3].map(|_| engine.connect(Peer::default()));
    ask(&mut engine, one, "SET k v");
    engine.disconnect(one);
    ask(&mut engine, slot, "FAULT.GO holds");
    ask(&mut engine, other, "SET k v");
    assert_eq!(received(&mut engine, held), "");
    ask(&mut engine, third, "SET k v");
    assert_eq!(received(&mut engine, held), ":1\r\n");
    ask(&mut engine, slot, "FAULT.DEL hits");
    assert_eq!(received(&mut engine, often), "-ERR there is no rule 'hits'\r\n");
}

/// Returns a replica that has acknowledged nothing, and a client that waits for it.
fn replica_and_wait(engine: &mut Engine, slot: Slot, wait: &str) -> [Slot; 2] {
    let replica = engine.connect(Peer::default());
    ask(engine, replica, "PSYNC ? -1");
    ask(engine, slot, "SET k v");
    [replica, waiters(engine, 1, wait)[0]]
}

/// Acknowledges more than was ever written.
const ACKNOWLEDGE: &str = "REPLCONF ACK 1000000000 FACK 1000000000";

/// A served wait may satisfy another one of any kind.
#[test]
fn a_served_wait_wakes_await_blocked() {
    for wait in ["WAIT 1 0", "WAITAOF 0 1 0"] {
        let (mut engine, slot) = engine();
        let [replica, of_replicas] = replica_and_wait(&mut engine, slot, wait);
        let of_waits = waiters(&mut engine, 1, "AWAIT.BLOCKED 0 ATMOST LIMIT 600000")[0];
        ask(&mut engine, slot, "PING");
        ask(&mut engine, replica, ACKNOWLEDGE);
        assert_ne!(received(&mut engine, of_replicas), "", "{wait}");
        assert_eq!(received(&mut engine, of_waits), ":1\r\n", "{wait}");
    }
}

/// The rule's action is recorded after the waiters for it have been checked.
#[test]
fn a_rule_on_a_served_wait_wakes_waiters_for_its_entry() {
    let (mut engine, slot) = engine();
    ask(&mut engine, slot, "FAULT.ADD r ON wait DO REPLY INT 7");
    let [replica, of_replicas] = replica_and_wait(&mut engine, slot, "WAIT 1 0");
    let of_history = waiters(&mut engine, 1, "AWAIT.EVENT fault LIMIT 600000")[0];
    let of_act = waiters(&mut engine, 1, "AWAIT.FAULT r 1 LIMIT 600000")[0];
    ask(&mut engine, slot, "PING");
    ask(&mut engine, replica, ACKNOWLEDGE);
    assert_eq!(received(&mut engine, of_replicas), ":7\r\n");
    assert_ne!(received(&mut engine, of_history), "");
    assert_eq!(received(&mut engine, of_act), ":1\r\n");
}

#[test]
fn await_idle_counts_from_the_last_request_of_matching_clients() {
    let (mut engine, slot) = engine();
    let all = waiters(&mut engine, 1, "AWAIT.IDLE 100 LIMIT 600000")[0];
    let named = waiters(&mut engine, 1, "AWAIT.IDLE 100 NAME n* LIMIT 600000")[0];
    let other = engine.connect(Peer::default());
    engine.begin(at(50));
    ask(&mut engine, other, "CLIENT SETNAME n1");
    ask(&mut engine, other, "CLIENT SETNAME m");
    engine.disconnect(other);
    engine.begin(at(90));
    ask(&mut engine, slot, "PING");
    engine.begin(at(140));
    assert_eq!((received(&mut engine, all), received(&mut engine, named)), (String::new(), String::new()));
    engine.begin(at(152));
    assert_eq!((&*received(&mut engine, all), &*received(&mut engine, named)), ("", ":1\r\n"));
    engine.begin(at(192));
    assert_eq!(received(&mut engine, all), ":1\r\n");
}

/// Each of these waits alone would be checked every millisecond.
#[test]
fn many_await_idle_clients_are_rechecked_rarely() {
    let (mut engine, slot) = engine();
    let waits = waiters(&mut engine, WAITS, "AWAIT.IDLE 2 LIMIT 600000");
    let before = engine.retried_requests();
    for ms in 1..=150 {
        engine.begin(at(ms));
        ask(&mut engine, slot, "PING");
    }
    let looks = engine.retried_requests() - before;
    assert!(looks <= 12 * WAITS as u64, "{looks}");
    engine.begin(at(170));
    assert!(waits.into_iter().all(|wait| received(&mut engine, wait) == ":1\r\n"));
}

/// Waits are not checked as soon as a silence is long enough.
#[test]
fn many_await_idle_clients_miss_no_silence() {
    for request in ["AWAIT.IDLE 12 LIMIT 600000", "AWAIT.IDLE 12 NAME n* LIMIT 600000"] {
        let mut engine = engine().0;
        let named = [0; 2].map(|_| engine.connect(Peer::default()));
        for (n, client) in named.iter().enumerate() {
            ask(&mut engine, *client, &format!("CLIENT SETNAME n{n}"));
        }
        let waits = waiters(&mut engine, WAITS, request);
        // Each client alone is silent for long enough, but not both.
        for (n, ms) in (8..=80).step_by(8).enumerate() {
            engine.begin(at(ms));
            ask(&mut engine, named[n % 2], "PING");
        }
        assert_eq!(received(&mut engine, waits[0]), "", "{request}");
        // The silence lies between two checks of the waits.
        for ms in 81..=160 {
            engine.begin(at(ms));
            if !(103..=114).contains(&ms) {
                ask(&mut engine, named[0], "PING");
            }
        }
        assert!(waits.into_iter().all(|wait| received(&mut engine, wait) == ":1\r\n"), "{request}");
    }
}

/// The name exceeds the bytes that are kept of disconnected clients.
#[test]
fn a_long_name_causes_no_check_of_await_idle_at_each_request() {
    let (mut engine, slot) = engine();
    let others = [0; 2].map(|_| engine.connect(Peer::default()));
    waiters(&mut engine, 10, "AWAIT.IDLE 600000 NAME n* LIMIT 600000");
    for (n, other) in others.iter().enumerate() {
        ask(&mut engine, *other, &format!("CLIENT SETNAME {n}{}", "x".repeat(100_000)));
    }
    let mut looked = count_checks(&mut engine, slot, &["PING"]);
    for _ in 0..100 {
        looked += others.map(|other| count_checks(&mut engine, other, &["PING"])).iter().sum::<u64>();
        looked += count_checks(&mut engine, slot, &["PING"]);
    }
    assert!(looked <= 20, "{looked}");
}

/// There are more names than are kept.
#[test]
fn await_idle_misses_no_name_among_thousands() {
    let (mut engine, slot) = engine();
    let named = waiters(&mut engine, 1, "AWAIT.IDLE 100 NAME n7 LIMIT 600000")[0];
    engine.begin(at(50));
    let looks =
        (0..5000).map(|n| count_checks(&mut engine, slot, &[&format!("CLIENT SETNAME n{n}")])).sum::<u64>();
    assert!(looks < 10, "{looks}");
    engine.begin(at(140));
    assert_eq!(received(&mut engine, named), "");
    engine.begin(at(152));
    assert_eq!(received(&mut engine, named), ":1\r\n");
}

/// Adds an event of a few Redisson threads and locks, on which the threads listen.
fn random_entry(engine: &mut Engine, rng: &mut Rng) {
    let event = [
        HistoryEvent::Refused,
        HistoryEvent::Refused,
        HistoryEvent::Acquired,
        HistoryEvent::Queued,
        HistoryEvent::LeftQueue,
        HistoryEvent::Renewed,
    ][rng.below(6) as usize];
    let is_listener = matches!(event, HistoryEvent::Queued | HistoryEvent::LeftQueue);
    let owner = format!("{:08x}-0000-4000-8000-000000000000:{}", rng.below(4), rng.below(3));
    let key = format!("k{}", rng.below(3));
    let what = Happening {
        client: Some(1 + rng.below(4)),
        native: is_listener.then_some(false),
        ..Happening::new(event, key.as_bytes(), if is_listener { b"" } else { owner.as_bytes() })
    };
    locks::happened(&mut engine.keyspace, at(0), what);
}

fn counted(engine: &Engine, count: &mut ListenerCount) -> usize {
    count.count(&engine.keyspace, &engine.pubsub, (0, b"k1"))
}

#[test]
fn incremental_and_full_counts_of_listeners_agree() {
    let (mut engine, slot) = engine();
    (0..4).for_each(|id| engine.pubsub.subscribe(b"redisson_lock__channel:{k1}", id + 1));
    let (mut rng, mut count, mut seen) = (Rng::new(7), ListenerCount::default(), BTreeSet::new());
    for turn in 0..1000 {
        random_entry(&mut engine, &mut rng);
        let shown = engine.lock_snapshot(0, b"k1").waiters.len();
        assert_eq!(counted(&engine, &mut count), shown, "{turn}");
        seen.insert(shown);
        if turn % 250 == 249 {
            ask(&mut engine, slot, "CONFIG SET lock-history no");
            assert_eq!(counted(&engine, &mut count), 4, "nothing is known");
            ask(&mut engine, slot, "CONFIG SET lock-history yes");
        }
    }
    assert!(seen.len() > 3, "{seen:?}");
}

/// The result does not depend on the entries that the history has dropped.
#[test]
fn listeners_are_counted_alike_while_the_history_drops_entries() {
    for (kept, turns) in [(20, 1000), (1040, 3000)] {
        let (mut engine, slot) = engine();
        ask(&mut engine, slot, &format!("CONFIG SET lock-history-max {kept}"));
        (0..4).for_each(|id| engine.pubsub.subscribe(b"redisson_lock__channel:{k1}", id + 1));
        let (mut rng, mut count, mut seen) = (Rng::new(7), ListenerCount::default(), BTreeSet::new());
        for turn in 0..turns {
            random_entry(&mut engine, &mut rng);
            if turn == turns / 2 {
                ask(&mut engine, slot, &format!("CONFIG SET lock-history-max {}", kept - kept / 60));
            }
            let shown = engine.lock_snapshot(0, b"k1").waiters.len();
            assert_eq!(counted(&engine, &mut count), shown, "{kept}: {turn}");
            seen.insert(shown);
        }
        assert!(seen.len() > 2, "{seen:?}");
    }
}

/// A listener that was refused once does not wait, as long as the history has the entry.
#[test]
fn old_and_new_waits_for_listeners_agree_after_dropped_entries() {
    for longest in [100, 5000] {
        let (mut engine, slot) = engine();
        ask(&mut engine, slot, &format!("CONFIG SET lock-history-max {longest}"));
        let listener = engine.connect(Peer::default());
        ask(&mut engine, listener, "SUBSCRIBE redisson_lock__channel:{k1}");
        let client = Some(engine.sessions().get(listener).id);
        let happened = |engine: &mut Engine, event, key: &[u8], owner: &str, native| {
            let what = Happening { client, native, ..Happening::new(event, key, owner.as_bytes()) };
            locks::happened(&mut engine.keyspace, at(0), what);
        };
        let owner = "00000001-0000-4000-8000-000000000000:1";
        happened(&mut engine, HistoryEvent::Refused, b"k1", owner, None);
        happened(&mut engine, HistoryEvent::Queued, b"k1", "", Some(false));
        let wait = waiters(&mut engine, 1, "AWAIT.WAITERS k1 1 LIMIT 600000")[0];
        ask(&mut engine, slot, "PING");
        for _ in 0..longest {
            happened(&mut engine, HistoryEvent::Renewed, b"other", "x", None);
        }
        ask(&mut engine, slot, "PING");
        assert_eq!(engine.lock_snapshot(0, b"k1").waiters.len(), 1);
        let new = engine.connect(Peer::default());
        assert_eq!(ask(&mut engine, new, "AWAIT.WAITERS k1 1 LIMIT 600000"), ":1\r\n");
        assert_eq!(received(&mut engine, wait), ":1\r\n", "{longest}");
    }
}

/// The history drops an entry for each new one.
#[test]
fn counting_listeners_reads_each_entry_a_few_times() {
    let (mut engine, slot) = engine();
    ask(&mut engine, slot, "CONFIG SET lock-history-max 2000");
    engine.pubsub.subscribe(b"redisson_lock__channel:{k1}", 1);
    let (mut rng, mut count) = (Rng::new(7), ListenerCount::default());
    for turn in 0..10_000 {
        random_entry(&mut engine, &mut rng);
        counted(&engine, &mut count);
        if turn == 5000 {
            ask(&mut engine, slot, "CONFIG SET lock-history-max 1500");
        }
    }
    assert!((10_000..200_000).contains(&count.looks()), "{}", count.looks());
}

/// The wait continues while the history is switched off and on and the lock is requested again.
#[test]
fn changing_lock_history_wakes_await_waiters() {
    let (mut engine, slot) = engine();
    let listener = engine.connect(Peer::default());
    ask(&mut engine, listener, "SUBSCRIBE redisson_lock__channel:{k1}");
    let owner = "00000001-0000-4000-8000-000000000000:1";
    let entry = |engine: &mut Engine, event, owner: &str, native| {
        let client = Some(engine.sessions().get(listener).id);
        let what = Happening { client, native, ..Happening::new(event, b"k1", owner.as_bytes()) };
        locks::happened(&mut engine.keyspace, at(0), what);
    };
    entry(&mut engine, HistoryEvent::Refused, owner, None);
    entry(&mut engine, HistoryEvent::Queued, "", Some(false));
    let wait = waiters(&mut engine, 1, "AWAIT.WAITERS k1 1 LIMIT 600000")[0];
    ask(&mut engine, slot, "CONFIG SET lock-history no");
    assert_eq!(received(&mut engine, wait), ":1\r\n", "every subscription stands for one that waits");
    ask(&mut engine, slot, "CONFIG SET lock-history yes");
    entry(&mut engine, HistoryEvent::Refused, owner, None);
    entry(&mut engine, HistoryEvent::Queued, "", Some(false));
    let again = waiters(&mut engine, 1, "AWAIT.WAITERS k1 1 LIMIT 600000")[0];
    entry(&mut engine, HistoryEvent::Refused, owner, None);
    assert_eq!(count_checks(&mut engine, slot, &["PING"]), 1);
    assert_eq!(received(&mut engine, again), ":1\r\n");
}

/// Long readings of the history count as calls when they begin. They end with the state that they read.
#[test]
fn a_reset_ends_unfinished_readings_of_the_history() {
    let (mut engine, slot) = engine();
    for _ in 0..30_000 {
        ask(&mut engine, slot, "LOCK.MARK m");
    }
    let called = waiters(&mut engine, 1, "AWAIT.CALLS lock.verify 2 LIMIT 600000")[0];
    let [first, gone, second] = [0; 3].map(|_| waiters(&mut engine, 1, "LOCK.VERIFY")[0]);
    assert_eq!(received(&mut engine, called), ":1\r\n");
    engine.disconnect(gone);
    engine.begin(at(1));
    assert_eq!(ask(&mut engine, slot, "CONTROL.RESET KEEPCLIENTS"), "+OK\r\n");
    assert_eq!((&*received(&mut engine, first), &*received(&mut engine, second)), ("$-1\r\n", "$-1\r\n"));
    (2..9).for_each(|ms| engine.begin(at(ms)));
    assert!(ask(&mut engine, second, "LOCK.VERIFY").contains("\r\nok\r\n"));
    assert_eq!((received(&mut engine, first), engine.next_deadline()), (String::new(), None));
}

//! Tests of the waiting workloads on a server in this process: the counts match the guarantees of the locks.

use lockwheel::Server;
use lockwheel_bench::cli::Compare;
use lockwheel_bench::waiting::Target;
use lockwheel_bench::waiting::handoff::{self, Plan};
use lockwheel_bench::waiting::lateness;
use lockwheel_bench::waiting::options::Options;
use lockwheel_bench::waiting::pauses;
use lockwheel_bench::waiting::results::{Handoff, LockKind, Strain};
use lockwheel_bench::{compare, report};
use std::time::Duration;

fn start() -> (Server, Target) {
    let server = Server::builder().port(0).start().expect("it starts");
    let target = Target { name: "lockwheel".to_string(), address: server.addr(), pid: None, native: true };
    (server, target)
}

fn hand_off(kind: LockKind, waiters: usize, handoffs: usize) -> (Server, Handoff) {
    let (server, target) = start();
    let result = handoff::run(&target, &Plan { kind, waiters, handoffs }).expect("every reply is right");
    assert!(result.p50_us > 0.0 && result.p50_us <= result.p99_us && result.p99_us <= result.max_us);
    assert!(result.p50_us <= result.settled_p50_us);
    (server, result)
}

#[test]
fn a_native_lock_with_a_thousand_waiters_wakes_one_and_takes_two_commands() {
    let (server, result) = hand_off(LockKind::Native, 1000, 50);
    assert_eq!(result.requests_each, 2.0);
    assert_eq!(result.commands_each, 2.0);
    assert_eq!(result.wake_ups_each, 1.0);
    // The server counts one woken waiter for each turn, including those before the measured ones, and no other client.
    let turns = server.unblocked_clients();
    assert!((50..=60).contains(&turns), "{turns} waiters were woken in 50 turns and a few to warm up");
}

#[test]
fn every_unlock_of_an_rlock_wakes_all_waiters_and_each_tries_again() {
    let (_server, result) = hand_off(LockKind::RLock, 30, 20);
    assert_eq!(result.wake_ups_each, 30.0);
    // A turn consists of unlock and forget; thirty tries; leaving the channel; then try, subscribe, try.
    assert_eq!(result.requests_each, 2.0 + 30.0 + 1.0 + 3.0);
}

#[test]
fn an_unlock_of_a_fair_lock_wakes_the_head_of_its_queue() {
    let (_server, result) = hand_off(LockKind::Fair, 30, 20);
    assert_eq!(result.wake_ups_each, 1.0);
    assert_eq!(result.requests_each, 2.0 + 1.0 + 1.0 + 3.0);
    // Each turn moves the deadlines of all remaining waiters.
    assert!(result.commands_each > 30.0, "{result:?}");
}

/// Native objects need as many commands and wake-ups for any number of waiters, while Redisson's objects wake all.
#[test]
fn what_is_native_wakes_one_and_takes_two_commands() {
    for kind in [LockKind::NativeFair, LockKind::NativeWrite, LockKind::NativeSemaphore] {
        let (_server, result) = hand_off(kind, 100, 20);
        assert_eq!((result.requests_each, result.commands_each), (2.0, 2.0), "{kind:?}");
        assert_eq!(result.wake_ups_each, 1.0, "{kind:?}");
    }
    for (kind, unlock) in [(LockKind::Write, 2.0), (LockKind::Semaphore, 1.0)] {
        let (_server, result) = hand_off(kind, 30, 20);
        assert_eq!(result.wake_ups_each, 30.0, "{kind:?}");
        assert_eq!(result.requests_each, unlock + 30.0 + 1.0 + 3.0, "{kind:?}");
    }
}

/// A writer's release lets all readers in. The only requests are each reader's own request and release, while
/// Redisson's readers are told to try again.
#[test]
fn a_batch_of_readers_is_let_in_by_one_release() {
    let (_server, result) = hand_off(LockKind::NativeRead, 100, 20);
    assert_eq!((result.requests_each, result.commands_each), (202.0, 202.0));
    assert_eq!(result.wake_ups_each, 100.0);
    let (_server, result) = hand_off(LockKind::Read, 30, 20);
    assert_eq!(result.wake_ups_each, 30.0);
    // The writer: unlock, forget, try. Each reader: try, leave the channel; unlock, forget; try, subscribe, try.
    assert_eq!(result.requests_each, 3.0 + 30.0 * 7.0);
}

#[test]
fn every_expiry_is_heard_of_and_none_before_its_time() {
    let (_server, target) = start();
    for loaded in [false, true] {
        let plan = lateness::Plan {
            timers: 1000,
            probes: 200,
            spread: Duration::from_millis(200),
            loaded,
            give_up: Duration::from_secs(60),
        };
        let result = lateness::run(&target, &plan).unwrap();
        assert_eq!((result.probes, result.missing), (200, 0));
        assert!(result.p50_us >= 0.0 && result.p50_us <= result.max_us, "{result:?}");
    }
}

#[test]
fn pings_are_sent_and_answered_under_each_strain() {
    let (_server, target) = start();
    for strain in Strain::ALL {
        let result = pauses::run(&target, strain, 2000).unwrap();
        assert!(result.probes > 100, "{result:?}");
        assert!(result.p50_us > 0.0 && result.p99_us <= result.longest_us, "{result:?}");
    }
}

#[test]
fn a_comparison_measures_them_for_each_server_and_shows_what_it_found() {
    let (server, _) = start();
    let options = Compare {
        urls: vec![server.url()],
        only: vec![server.addr().to_string()],
        workloads: ["handoff", "expiry", "pauses"].map(String::from).into(),
        waiting: Options { waiters: vec![3, 5], handoffs: 4, timers: 100, probes: 100, pause_keys: 1000 },
        ..Compare::default_options().expect("no option is required")
    };
    let results = compare::run(&options, &mut |_| ()).expect("every reply is right");
    let kinds: Vec<_> = results.handoffs.iter().map(|handoff| (handoff.kind, handoff.waiters)).collect();
    assert_eq!(kinds, LockKind::ALL.map(|kind| [(kind, 3), (kind, 5)]).concat());
    assert_eq!(
        results.lateness.iter().map(|late| (late.loaded, late.missing)).collect::<Vec<_>>(),
        [(false, 0), (true, 0)]
    );
    assert_eq!(results.pauses.iter().map(|pause| pause.strain).collect::<Vec<_>>(), Strain::ALL);
    assert!(results.runs.is_empty() && results.memory.is_empty());
    let (tables, page) = (report::tables(&results), report::html(&results));
    for text in [&tables, &page] {
        assert!(text.contains("native lock") && text.contains("FLUSHALL") && text.contains("idle"), "{text}");
    }
}

//! The processor time of requests that concern many locks or permits. Not the time is checked but its growth: four
//! times as many take about four times as long, and would take sixteen times if each were compared with all.

use lockwheel::Config;
use lockwheel_engine::core::Simulation;
use lockwheel_tests::cpu;
use std::time::Duration;

/// A server whose clock stands still, and its first client.
fn server() -> (Simulation, u64) {
    let mut server = Simulation::new(Config::default(), 7);
    let client = server.connect();
    server.ask(client, "HELLO 3");
    server.ask(client, "CLOCK.FREEZE");
    (server, client)
}

/// A request for all of `count` locks.
fn acquire(count: usize, rest: &str) -> String {
    let keys: Vec<String> = (0..count).map(|n| format!("lock-{n}")).collect();
    format!("LOCK.MACQUIRE {count} {} {rest}", keys.join(" "))
}

/// A server whose first client holds `count` locks.
fn holder(count: usize) -> (Simulation, u64) {
    let (mut server, client) = server();
    let told = server.ask(client, &acquire(count, "holder PX 100000000"));
    assert!(told.starts_with('%'), "{told}");
    (server, client)
}

/// Checks that `cost` of four times as many is not much more than four times as large.
#[track_caller]
fn check_growth(few: usize, cost: impl Fn(usize) -> Duration) {
    // Some systems count processor time in ticks of 4 ms.
    const MEASURABLE: Duration = Duration::from_millis(60);
    let [mut of_few, mut of_many] = [Duration::ZERO; 2];
    while of_few < MEASURABLE {
        of_few += cost(few);
        of_many += cost(4 * few);
    }
    assert!(of_many < 10 * of_few, "{of_few:?}, {of_many:?}");
}

#[test]
fn a_wait_for_many_locks_has_linear_cost() {
    check_growth(4000, |count| {
        let (mut server, _) = holder(count);
        let waiter = server.connect();
        let request = acquire(count, "waiter BLOCK 0");
        cpu::of(|| assert_eq!(server.ask(waiter, &request), "", "it waits"))
    });
}

#[test]
fn a_request_that_passes_another_for_many_locks_has_linear_cost() {
    check_growth(2000, |count| {
        let (mut server, _) = holder(count);
        let [first, second] = [(); 2].map(|()| server.connect());
        server.send(first, &acquire(count, "waiter BLOCK 0"));
        let request = acquire(count, "urgent PRIORITY 5 BLOCK 0");
        cpu::of(|| assert_eq!(server.ask(second, &request), "", "it waits"))
    });
}

/// Returns the processor time of the releases of locks for all of which another request waits. `next` gives the next
/// of `count` locks.
fn releases(count: usize, next: fn(usize, usize) -> usize) -> Duration {
    let (mut server, client) = holder(count);
    let other = server.connect();
    server.send(other, &acquire(count, "waiter BLOCK 0"));
    let taken = cpu::of(|| {
        for n in 0..count {
            server.send(client, &format!("LOCK.RELEASE lock-{} holder", next(n, count)));
        }
    });
    assert!(server.read(other).contains("tokens"));
    taken
}

/// Each release is a change of one of the locks that the waiter needs. A look at all locks after each, or at all words
/// of the request, would make the cost quadratic.
#[test]
fn releases_of_locks_that_a_request_waits_for_together_have_linear_cost() {
    let orders: [fn(usize, usize) -> usize; 3] =
        [|n, _| n, |n, count| count - 1 - n, |n, count| (n * 7919 + 13) % count];
    for next in orders {
        check_growth(2000, |count| releases(count, next));
    }
}

/// All permits are one owner's.
#[test]
fn renewals_of_many_permits_of_a_session_have_linear_cost() {
    check_growth(2000, |grants| {
        let (mut server, client) = server();
        server.ask(client, "SEM.INIT s 1000000");
        for _ in 0..grants {
            let told = server.ask(client, "SEM.ACQUIRE s owner PX 3000 SESSION");
            assert!(told.starts_with('%'), "{told}");
        }
        cpu::of(|| {
            let told = server.ask(client, "CLOCK.ADVANCE 1000");
            assert!(told.contains("fired"), "{told}");
        })
    });
}

/// An advance leaps once it has renewed 65,536 leases. Each permit has one.
#[test]
fn renewals_of_permits_with_ids_are_counted_one_by_one() {
    for (permits, fired) in [(1, 90), (5000, 14)] {
        let (mut server, client) = server();
        server.ask(client, "SEM.INIT s 1000000");
        server.ask(client, &format!("SEM.ACQUIRE s owner PX 100 SESSION IDS PERMITS {permits}"));
        let told = server.ask(client, "CLOCK.ADVANCE 3000");
        let lines: Vec<&str> = told.split("\r\n").collect();
        let at = lines.iter().position(|line| *line == "fired").unwrap_or_else(|| panic!("{told}"));
        assert_eq!(lines[at + 1], format!(":{fired}"), "{permits}");
    }
}

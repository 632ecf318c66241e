//! Two clients that use a lock, without a socket: the results and their times, and equal bytes in each run.

use lockwheel::Config;
use lockwheel_engine::core::Simulation;
use std::time::Duration;

/// A step of a scenario: a request of a client, or the passing of time.
enum Step {
    Send(usize, &'static str),
    Pass(u64),
}

use Step::{Pass, Send};

/// Runs a scenario of two clients. Returns all bytes for each, with the step after which they came.
fn run(steps: &[Step], seed: u64) -> Vec<(usize, usize, String)> {
    let mut server = Simulation::new(Config::default(), seed);
    let clients = [server.connect(), server.connect()];
    let mut seen = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        match step {
            Send(client, line) => server.send(clients[*client], line),
            Pass(ms) => server.pass(Duration::from_millis(*ms)),
        }
        for (client, id) in clients.into_iter().enumerate() {
            let received = server.read(id);
            if !received.is_empty() {
                seen.push((number, client, received));
            }
        }
    }
    seen
}

const LEASE_RUNS_OUT: &[Step] = &[
    Send(0, "CLOCK.FREEZE"),
    Send(0, "LOCK.ACQUIRE orders a PX 3000"),
    Send(1, "LOCK.ACQUIRE orders b PX 500 BLOCK 10000"),
    // The server's time passes by itself, and nothing expires.
    Pass(60_000),
    Send(0, "CLOCK.ADVANCE 2999"),
    Send(0, "LOCK.INFO orders"),
    Send(0, "CLOCK.ADVANCE 1"),
    Send(0, "LOCK.RELEASE orders a"),
    Send(0, "SADD s a b c d e f g h"),
    Send(1, "SRANDMEMBER s 5"),
];

#[test]
fn a_lease_that_ends_by_an_advance_serves_the_waiter() {
    let seen = run(LEASE_RUNS_OUT, 7);
    let of = |client: usize| seen.iter().filter(move |(_, to, _)| *to == client);
    let (step, _, granted) = of(1).next().expect("it is served");
    assert_eq!(*step, 6, "when the lease runs out, and not before: {seen:?}");
    assert!(granted.contains("$5\r\ntoken\r\n:2\r\n"), "{granted}");
    let told: Vec<_> =
        of(0).map(|(step, _, text)| (*step, text.split("\r\n").next().unwrap_or(""))).collect();
    assert_eq!(told[0].0, 0);
    assert!(told.iter().any(|(step, text)| *step == 7 && text.starts_with("-LOCKLOST")), "{told:?}");
}

#[test]
fn the_same_steps_and_seed_give_the_same_bytes() {
    assert_eq!(run(LEASE_RUNS_OUT, 7), run(LEASE_RUNS_OUT, 7));
    let choice = |seed| run(LEASE_RUNS_OUT, seed).pop();
    assert!((0..8).any(|seed| choice(seed) != choice(7)), "the seed decides what is random");
}

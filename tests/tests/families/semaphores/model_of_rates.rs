//! A rate against a model: the times of grants, and never more than the rate in any interval.

use lockwheel_tests::rng::{Rng, seeds};
use lockwheel_tests::simulated::Simulated;
use std::collections::{BTreeMap, VecDeque};

const SEEDS: u64 = 40;
const STEPS: usize = 1_000;
const CLIENTS: usize = 6;
/// Acquisitions of the long run.
const MANY: usize = 10_000;

#[derive(Clone, Debug)]
struct Waiter {
    client: usize,
    permits: i64,
    ends_ms: i64,
    made: u64,
}

#[derive(Debug, Default)]
struct Model {
    now_ms: i64,
    made: u64,
    rate: i64,
    interval_ms: i64,
    /// The permits given out in the interval that ends now, and their times.
    taken: VecDeque<(i64, i64)>,
    queue: VecDeque<Waiter>,
    told: BTreeMap<usize, String>,
    /// The number of times permits were given out.
    given: usize,
}

impl Model {
    fn left(&mut self) -> i64 {
        while self.taken.front().is_some_and(|(at, _)| at + self.interval_ms <= self.now_ms) {
            self.taken.pop_front();
        }
        self.rate - self.taken.iter().map(|(_, permits)| permits).sum::<i64>()
    }

    fn take(&mut self, permits: i64) -> Option<String> {
        let left = self.left() - permits;
        if left < 0 {
            return None;
        }
        self.taken.push_back((self.now_ms, permits));
        self.given += 1;
        Some(format!("granted {left}"))
    }

    fn serve(&mut self) {
        while let Some(head) = self.queue.front().cloned() {
            let Some(told) = self.take(head.permits) else { return };
            self.queue.pop_front();
            self.told.insert(head.client, told);
        }
    }

    fn leave(&mut self, client: usize, told: &str) {
        if let Some(at) = self.queue.iter().position(|waiter| waiter.client == client) {
            self.queue.remove(at);
            self.told.insert(client, told.into());
            self.serve();
        }
    }

    /// The time at which enough permits are back for the head.
    fn head_ready_ms(&mut self) -> Option<i64> {
        let permits = self.queue.front()?.permits;
        let mut left = self.left();
        let back = self.taken.iter().find(|(_, permits_back)| {
            left += permits_back;
            left >= permits
        });
        back.map(|(at, _)| at + self.interval_ms)
    }

    fn advance(&mut self, ms: i64) {
        let target = self.now_ms + ms;
        loop {
            // The head's permits are available at their instant, even if its wait ends there.
            let ready = self.head_ready_ms().map(|at| (at, 0, None));
            let waits = self.queue.iter().map(|waiter| (waiter.ends_ms, waiter.made, Some(waiter.client)));
            let first = ready.into_iter().chain(waits).min_by_key(|&(at, made, _)| (at, made));
            let Some((at, _, what)) = first.filter(|&(at, ..)| at <= target) else { break };
            self.now_ms = at;
            match what {
                None => self.serve(),
                Some(client) => self.leave(client, "nothing"),
            }
        }
        self.now_ms = target;
    }
}

fn acquire(real: &mut Simulated, model: &mut Model, rng: &mut Rng) {
    let (client, permits) = (rng.below(CLIENTS), 1 + rng.below(3) as i64);
    let wait_ms = 1 + rng.below(80) as i64;
    if model.queue.iter().any(|waiter| waiter.client == client) {
        return;
    }
    real.send(client, &format!("RATE.ACQUIRE k {permits} BLOCK {wait_ms}"));
    let told = if model.queue.is_empty() { model.take(permits) } else { None };
    match told {
        Some(told) => drop(model.told.insert(client, told)),
        None => {
            let (made, ends_ms) = (model.made + 1, model.now_ms + wait_ms);
            model.made = made;
            model.queue.push_back(Waiter { client, permits, ends_ms, made });
        }
    }
}

fn step(real: &mut Simulated, model: &mut Model, rng: &mut Rng) {
    let client = rng.below(CLIENTS);
    match rng.below(20) {
        0..11 => acquire(real, model, rng),
        11 => {
            real.unblock(client);
            model.leave(client, "unblocked");
        }
        12 => {
            real.replace(client);
            model.leave(client, "gone");
            model.told.remove(&client);
        }
        13 if rng.chance(20) => {
            (model.rate, model.interval_ms) = (3 + rng.below(3) as i64, 5 + rng.below(40) as i64);
            real.ask(&format!("RATE.SET k {} {}", model.rate, model.interval_ms));
            model.taken.clear();
            model.serve();
        }
        _ => {
            let ms = rng.below(30) as i64;
            real.ask(&format!("CLOCK.ADVANCE {ms}"));
            model.advance(ms);
        }
    }
}

/// Requires the grants that the model predicts. Returns the remaining lines of a reply.
fn check(real: &mut Simulated, model: &mut Model, at: &str) {
    let granted = |lines: &[&str]| {
        assert_eq!((lines[0], lines[1], lines[3]), ("*3", ":1", ":0"), "{lines:?}");
        format!("granted {}", &lines[2][1..])
    };
    for client in 0..CLIENTS {
        let expected = model.told.remove(&client).unwrap_or_default();
        assert_eq!(real.reply_to(client, granted), expected, "{at}, client {client}: {model:?}");
    }
}

fn begin(rate: i64, interval_ms: i64) -> (Simulated, Model) {
    let mut real = Simulated::new(CLIENTS);
    real.ask(&format!("RATE.SET k {rate} {interval_ms}"));
    (real, Model { rate, interval_ms, ..Model::default() })
}

#[test]
fn permits_of_a_rate_are_granted_as_by_a_model() {
    for seed in seeds(SEEDS) {
        let ((mut real, mut model), mut rng) = (begin(4, 30), Rng::new(seed));
        for n in 0..STEPS {
            step(&mut real, &mut model, &mut rng);
            check(&mut real, &mut model, &format!("seed {seed}, step {n}"));
        }
    }
}

/// Ten thousand acquisitions: no interval, wherever it begins, has more than the rate, and no possible grant is missed.
#[test]
fn no_interval_has_more_permits_than_the_rate() {
    let ((mut real, mut model), mut rng) = (begin(7, 50), Rng::new(1));
    let mut given: VecDeque<(i64, i64)> = VecDeque::new();
    while model.given < MANY {
        let before = model.given;
        acquire(&mut real, &mut model, &mut rng);
        if rng.chance(60) {
            let ms = rng.below(12) as i64;
            real.ask(&format!("CLOCK.ADVANCE {ms}"));
            model.advance(ms);
        }
        check(&mut real, &mut model, "the long run");
        let new = model.given - before;
        let taken: Vec<(i64, i64)> = model.taken.iter().rev().take(new).copied().collect();
        for (at, permits) in taken.into_iter().rev() {
            given.push_back((at, permits));
            while given.front().is_some_and(|(first, _)| first + model.interval_ms <= at) {
                given.pop_front();
            }
            assert!(given.iter().map(|(_, permits)| permits).sum::<i64>() <= model.rate);
        }
    }
}

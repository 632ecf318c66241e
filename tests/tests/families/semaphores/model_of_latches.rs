//! A latch against a model: the times at which waiters continue, and the end that each is told.

use lockwheel_tests::rng::{Rng, seeds};
use lockwheel_tests::simulated::Simulated;
use std::collections::BTreeMap;

const SEEDS: u64 = 40;
const STEPS: usize = 1_000;
const CLIENTS: usize = 6;

#[derive(Debug)]
struct Waiter {
    client: usize,
    ends_ms: i64,
    made: u64,
}

#[derive(Debug, Default)]
struct Model {
    now_ms: i64,
    made: u64,
    count: Option<i64>,
    /// The deadline of the key, and the sequence number of that deadline.
    deadline: Option<(i64, u64)>,
    queue: Vec<Waiter>,
    told: BTreeMap<usize, String>,
}

impl Model {
    fn make(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    /// Ends the latch, if there is one: all waiters continue.
    fn end(&mut self, state: &str) {
        self.deadline = None;
        if self.count.take().is_some() {
            for waiter in self.queue.drain(..) {
                self.told.insert(waiter.client, state.into());
            }
        }
    }

    fn leave(&mut self, client: usize, told: &str) {
        if let Some(at) = self.queue.iter().position(|waiter| waiter.client == client) {
            self.queue.remove(at);
            self.told.insert(client, told.into());
        }
    }

    fn advance(&mut self, ms: i64) {
        let target = self.now_ms + ms;
        loop {
            let key = self.deadline.map(|(at, made)| (at, made, None));
            let waits = self.queue.iter().map(|waiter| (waiter.ends_ms, waiter.made, Some(waiter.client)));
            let first = key.into_iter().chain(waits).min_by_key(|&(at, made, _)| (at, made));
            let Some((at, _, what)) = first.filter(|&(at, ..)| at <= target) else { break };
            self.now_ms = at;
            match what {
                None => self.end("expired"),
                Some(client) => self.leave(client, "nothing"),
            }
        }
        self.now_ms = target;
    }
}

fn wait(real: &mut Simulated, model: &mut Model, rng: &mut Rng) {
    let (client, wait_ms, armed) = (rng.below(CLIENTS), 1 + rng.below(80) as i64, rng.chance(50));
    if model.queue.iter().any(|waiter| waiter.client == client) {
        return;
    }
    real.send(client, &format!("LATCH.AWAIT l BLOCK {wait_ms}{}", if armed { " ARMED" } else { "" }));
    if model.count.is_none() && !armed {
        model.told.insert(client, "absent".into());
        return;
    }
    let (made, ends_ms) = (model.make(), model.now_ms + wait_ms);
    model.queue.push(Waiter { client, ends_ms, made });
}

fn step(real: &mut Simulated, model: &mut Model, rng: &mut Rng) {
    let (client, n) = (rng.below(CLIENTS), 1 + rng.below(3) as i64);
    match rng.below(16) {
        0..5 => wait(real, model, rng),
        5..8 => {
            let left = model.count.map_or(0, |count| (count - n).max(0));
            assert_eq!(real.ask(&format!("LATCH.COUNTDOWN l {n}")), format!(":{left}\r\n"));
            model.count = model.count.map(|count| count - n);
            if model.count.is_some_and(|count| count <= 0) {
                model.end("zero");
            }
        }
        8..10 => {
            let only_new = rng.chance(50);
            let is_set = !only_new || model.count.is_none();
            let line = format!("LATCH.SET l {}{}", 2 * n, if only_new { " NX" } else { "" });
            assert_eq!(real.ask(&line), format!(":{}\r\n", i64::from(is_set)));
            if is_set {
                (model.count, model.deadline) = (Some(2 * n), None);
            }
        }
        10 => {
            let ms = 1 + rng.below(50) as i64;
            real.ask(&format!("PEXPIRE l {ms}"));
            let made = model.make();
            model.deadline = model.count.map(|_| (model.now_ms + ms, made));
        }
        11 => {
            real.ask(["DEL l", "FLUSHALL", "RENAME l other", "MOVE l 1"][rng.below(4)]);
            real.ask("EVAL \"redis.call('select', 1) redis.call('del', 'l')\" 0");
            model.end("deleted");
        }
        12 => {
            real.unblock(client);
            model.leave(client, "unblocked");
        }
        13 => {
            real.replace(client);
            model.leave(client, "gone");
            model.told.remove(&client);
        }
        _ => {
            let ms = rng.below(40) as i64;
            real.ask(&format!("CLOCK.ADVANCE {ms}"));
            model.advance(ms);
        }
    }
}

#[test]
fn waiters_for_a_latch_continue_as_by_a_model() {
    for seed in seeds(SEEDS) {
        let (mut real, mut model, mut rng) = (Simulated::new(CLIENTS), Model::default(), Rng::new(seed));
        for n in 0..STEPS {
            step(&mut real, &mut model, &mut rng);
            for client in 0..CLIENTS {
                let expected = model.told.remove(&client).unwrap_or_default();
                let told = real.reply_to(client, |lines| lines[4].to_owned());
                assert_eq!(told, expected, "seed {seed}, step {n}, client {client}: {model:?}");
            }
        }
    }
}

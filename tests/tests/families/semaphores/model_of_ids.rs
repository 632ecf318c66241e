//! Permits with ids against a model: the times of grants, expired leases, and the validity of ids.

use lockwheel_tests::rng::{Rng, seeds};
use lockwheel_tests::simulated::{Simulated, number};
use std::collections::BTreeMap;

const SEEDS: u64 = 60;
const STEPS: usize = 1_500;
const CLIENTS: usize = 6;
const OWNERS: [&str; 3] = ["x", "y", "z"];

#[derive(Clone, Debug)]
struct Waiter {
    client: usize,
    owner: &'static str,
    permits: i64,
    lease_ms: Option<i64>,
    ends_ms: i64,
    made: u64,
}

/// A permit that is out.
#[derive(Debug)]
struct Permit {
    owner: &'static str,
    /// The number of its grant, and its own among those of the grant.
    number: (usize, usize),
    /// The end of the lease, if it has one.
    ends_ms: Option<i64>,
}

#[derive(Debug, Default)]
struct Model {
    now_ms: i64,
    made: u64,
    grants: usize,
    left: i64,
    /// The permits, in the order in which they were given out.
    out: Vec<Permit>,
    queue: Vec<Waiter>,
    told: BTreeMap<usize, String>,
}

impl Model {
    fn is_over(&self, permit: &Permit) -> bool {
        permit.ends_ms.is_some_and(|ends_ms| ends_ms <= self.now_ms)
    }

    /// Takes permits. Before that, expired permits come back, as many as are wanted.
    fn take(&mut self, owner: &'static str, permits: i64, lease_ms: Option<i64>) -> Option<String> {
        let mut over: Vec<_> = self.out.iter().filter(|permit| self.is_over(permit)).collect();
        over.sort_by_key(|permit| permit.ends_ms);
        let back: Vec<_> = over.iter().take(permits as usize).map(|permit| permit.number).collect();
        self.out.retain(|permit| !back.contains(&permit.number));
        self.left += back.len() as i64;
        if self.left < permits {
            return None;
        }
        self.left -= permits;
        self.grants += 1;
        let ends_ms = lease_ms.map(|ms| self.now_ms + ms);
        let numbers = (0..permits as usize).map(|n| (self.grants, n));
        self.out.extend(numbers.map(|number| Permit { owner, number, ends_ms }));
        Some(format!("granted {permits} {} as {}", self.left, self.grants))
    }

    fn serve(&mut self) {
        while let Some(head) = self.queue.first().cloned() {
            let Some(told) = self.take(head.owner, head.permits, head.lease_ms) else { return };
            self.queue.remove(0);
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

    /// Expired permits come back when a client wants permits. If a client waits, they come back at their instant,
    /// before any wait ends there.
    fn advance(&mut self, ms: i64) {
        let target = self.now_ms + ms;
        loop {
            let leases =
                self.out.iter().filter_map(|permit| permit.ends_ms).filter(|_| !self.queue.is_empty());
            let leases = leases.map(|at| (at.max(self.now_ms), 0, None));
            let waits = self.queue.iter().map(|waiter| (waiter.ends_ms, waiter.made, Some(waiter.client)));
            let first = leases.chain(waits).min_by_key(|&(at, made, _)| (at, made));
            let Some((at, _, what)) = first.filter(|&(at, ..)| at <= target) else { break };
            self.now_ms = at;
            match what {
                None => self.serve(),
                Some(client) => self.leave(client, "nothing"),
            }
        }
        self.now_ms = target;
    }

    /// An owner's permit whose lease is not over.
    fn held(&self, number: (usize, usize)) -> Option<usize> {
        self.out.iter().position(|permit| permit.number == number && !self.is_over(permit))
    }
}

/// The ids of permits, by the model's numbers for them.
type Ids = BTreeMap<(usize, usize), String>;

fn acquire(real: &mut Simulated, model: &mut Model, rng: &mut Rng) {
    let (client, owner) = (rng.below(CLIENTS), *rng.pick(&OWNERS));
    let (permits, wait_ms) = (1 + rng.below(3) as i64, 1 + rng.below(60) as i64);
    let lease_ms = rng.chance(80).then(|| 1 + rng.below(60) as i64);
    if model.queue.iter().any(|waiter| waiter.client == client) {
        return;
    }
    let lease = lease_ms.map_or_else(String::new, |ms| format!(" PX {ms}"));
    real.send(client, &format!("SEM.ACQUIRE k {owner} IDS PERMITS {permits}{lease} BLOCK {wait_ms}"));
    match model.queue.is_empty().then(|| model.take(owner, permits, lease_ms)).flatten() {
        Some(told) => drop(model.told.insert(client, told)),
        None => {
            model.made += 1;
            let (made, ends_ms) = (model.made, model.now_ms + wait_ms);
            model.queue.push(Waiter { client, owner, permits, lease_ms, ends_ms, made });
        }
    }
    model.serve();
}

/// Releases or renews one of the permits that have ever been given out.
fn use_id(real: &mut Simulated, model: &mut Model, rng: &mut Rng, ids: &Ids) {
    let recent: Vec<_> = ids.iter().rev().take(12).collect();
    if recent.is_empty() {
        return;
    }
    let (number, id) = *rng.pick(&recent);
    let held = model.held(*number);
    if rng.chance(30) {
        let lease_ms = 1 + rng.below(60) as i64;
        let answer = real.ask(&format!("SEM.RENEW k {id} PX {lease_ms}"));
        assert_eq!(answer, format!(":{}\r\n", i64::from(held.is_some())));
        if let Some(at) = held {
            model.out[at].ends_ms = Some(model.now_ms + lease_ms);
        }
        return;
    }
    let owner = *rng.pick(&OWNERS);
    let answer = real.ask(&format!("SEM.RELEASE k {owner} ID {id}"));
    match held.filter(|at| model.out[*at].owner == owner) {
        None => assert!(answer.starts_with("-NOTHELD"), "{answer}"),
        Some(at) => {
            model.out.remove(at);
            model.left += 1;
            assert_eq!(answer, format!(":{}\r\n", model.left));
            model.serve();
        }
    }
}

/// An owner releases its oldest permits, unless one of its leases is over.
fn release(real: &mut Simulated, model: &mut Model, rng: &mut Rng) {
    let (owner, permits) = (*rng.pick(&OWNERS), 1 + rng.below(2));
    let mine = || model.out.iter().filter(|permit| permit.owner == owner);
    if mine().any(|permit| model.is_over(permit)) {
        return;
    }
    let back: Vec<_> = mine().map(|permit| permit.number).take(permits).collect();
    let answer = real.ask(&format!("SEM.RELEASE k {owner} PERMITS {permits}"));
    if back.len() < permits {
        return assert!(answer.starts_with("-NOTHELD"), "{answer}");
    }
    model.out.retain(|permit| !back.contains(&permit.number));
    model.left += permits as i64;
    assert_eq!(answer, format!(":{}\r\n", model.left));
    model.serve();
}

fn step(real: &mut Simulated, model: &mut Model, rng: &mut Rng, ids: &Ids) {
    let client = rng.below(CLIENTS);
    match rng.below(20) {
        0..8 => acquire(real, model, rng),
        8..11 => use_id(real, model, rng, ids),
        11 | 12 => release(real, model, rng),
        13 => {
            real.unblock(client);
            model.leave(client, "unblocked");
        }
        14 => {
            real.replace(client);
            model.leave(client, "gone");
            model.told.remove(&client);
        }
        15 if rng.chance(20) => {
            let permits = 1 + rng.below(4) as i64;
            real.ask("FLUSHALL");
            real.ask(&format!("SEM.INIT k {permits}"));
            (model.left, model.out) = (permits, Vec::new());
            model.serve();
        }
        _ => {
            let ms = rng.below(40) as i64;
            real.ask(&format!("CLOCK.ADVANCE {ms}"));
            model.advance(ms);
        }
    }
}

/// Returns a client's reply, and records the ids that it got, by the model's numbers for them.
fn reply_and_ids(real: &mut Simulated, client: usize, expected: &str, ids: &mut Ids) -> String {
    real.reply_to(client, |lines| {
        let named = lines.iter().filter(|line| line.len() == 32 && !line.starts_with('*'));
        let grant = expected.rsplit(' ').next().and_then(|grant| grant.parse().ok()).unwrap_or(0);
        ids.extend(named.enumerate().map(|(n, id)| ((grant, n), (*id).to_owned())));
        format!("granted {} {} as {grant}", number(lines, "permits"), number(lines, "left"))
    })
}

#[test]
fn permits_with_ids_are_granted_as_by_a_model() {
    for seed in seeds(SEEDS) {
        let (mut real, mut model, mut rng) = (Simulated::new(CLIENTS), Model::default(), Rng::new(seed));
        let mut ids = Ids::new();
        real.ask("SEM.INIT k 4");
        model.left = 4;
        for n in 0..STEPS {
            step(&mut real, &mut model, &mut rng, &ids);
            for client in 0..CLIENTS {
                let expected = model.told.remove(&client).unwrap_or_default();
                let told = reply_and_ids(&mut real, client, &expected, &mut ids);
                assert_eq!(told, expected, "seed {seed}, step {n}, client {client}: {model:#?}");
            }
            let shown = ["GET k", "ZCARD {k}:timeout"].map(|line| real.ask(line));
            let left = model.left.to_string();
            let expected = [format!("${}\r\n{left}\r\n", left.len()), format!(":{}\r\n", model.out.len())];
            assert_eq!(shown, expected, "seed {seed}, step {n}: {model:#?}");
        }
    }
}

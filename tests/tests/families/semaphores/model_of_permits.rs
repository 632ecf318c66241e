//! A semaphore against a model: clients come, leave, release and outlive leases, and the grants must match.

use lockwheel_tests::rng::{Rng, seeds};
use lockwheel_tests::simulated::{Simulated, number};
use std::collections::BTreeMap;

const SEEDS: u64 = 60;
const STEPS: usize = 1_500;
const CLIENTS: usize = 6;
const OWNERS: [&str; 3] = ["x", "y", "z"];
/// An owner that holds permits only as long as connections last.
const OF_SESSIONS: &str = "s";

#[derive(Clone, Debug)]
struct Waiter {
    client: usize,
    owner: &'static str,
    permits: i64,
    lease_ms: Option<i64>,
    priority: i64,
    ends_ms: i64,
    /// The sequence number of the wait among all deadlines.
    made: u64,
}

#[derive(Debug)]
struct Hold {
    owner: &'static str,
    permits: i64,
    /// The end of the lease, and the sequence number of that deadline.
    lease: Option<(i64, u64)>,
    /// The client whose connection bounds the hold.
    session: Option<usize>,
}

#[derive(Debug, Default)]
struct Model {
    now_ms: i64,
    made: u64,
    /// The permits left. `None` if there is no key.
    left: Option<i64>,
    /// The holds, in order of arrival.
    holds: Vec<Hold>,
    /// The waiters, in the order in which they are retried.
    queue: Vec<Waiter>,
    told: BTreeMap<usize, String>,
}

impl Model {
    fn make(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    fn take(
        &mut self,
        client: usize,
        owner: &'static str,
        permits: i64,
        lease_ms: Option<i64>,
    ) -> Option<String> {
        let left = self.left.filter(|left| *left >= permits)? - permits;
        self.left = Some(left);
        let lease = lease_ms.map(|ms| (self.now_ms + ms, self.make()));
        let session = (owner == OF_SESSIONS).then_some(client);
        self.holds.push(Hold { owner, permits, lease, session });
        Some(format!("granted {permits} {left}"))
    }

    /// Serves the head as long as possible.
    fn serve(&mut self) {
        while let Some(head) = self.queue.first().cloned() {
            let Some(told) = self.take(head.client, head.owner, head.permits, head.lease_ms) else { return };
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

    /// Closes a client's connection: its wait ends, and its session's permits are released.
    fn disconnect(&mut self, client: usize) {
        self.queue.retain(|waiter| waiter.client != client);
        for hold in self.holds.extract_if(.., |hold| hold.session == Some(client)) {
            self.left = self.left.map(|left| left + hold.permits);
        }
        self.serve();
        self.told.remove(&client);
    }

    fn held_by(&self, owner: &str) -> i64 {
        self.holds.iter().filter(|hold| hold.owner == owner).map(|hold| hold.permits).sum()
    }

    /// Releases this number of permits, from the oldest holds first.
    fn give_back(&mut self, owner: &str, permits: i64) {
        let mut missing = permits;
        for hold in self.holds.iter_mut().filter(|hold| hold.owner == owner) {
            let part = hold.permits.min(missing);
            hold.permits -= part;
            missing -= part;
        }
        self.holds.retain(|hold| hold.permits > 0);
        self.left = Some(self.left.unwrap_or(0) + permits);
        self.serve();
    }

    fn advance(&mut self, ms: i64) {
        let target = self.now_ms + ms;
        loop {
            let leases = self.holds.iter().enumerate();
            let leases = leases.filter_map(|(at, hold)| hold.lease.map(|(ends, made)| (ends, made, Ok(at))));
            let waits = self.queue.iter().map(|waiter| (waiter.ends_ms, waiter.made, Err(waiter.client)));
            let first = leases.chain(waits).min_by_key(|&(at, made, _)| (at, made));
            let Some((at, _, what)) = first.filter(|&(at, ..)| at <= target) else { break };
            self.now_ms = at;
            match what {
                Ok(hold) => {
                    let hold = self.holds.remove(hold);
                    self.left = self.left.map(|left| left + hold.permits);
                    self.serve();
                }
                Err(client) => self.leave(client, "nothing"),
            }
        }
        self.now_ms = target;
    }
}

fn acquire(real: &mut Simulated, model: &mut Model, rng: &mut Rng) {
    let (client, owner) = (rng.below(CLIENTS), OWNERS[rng.below(OWNERS.len())]);
    let (permits, wait_ms) = (1 + rng.below(3) as i64, 1 + rng.below(60) as i64);
    let session = rng.chance(25);
    let lease_ms = (!session && rng.chance(60)).then(|| 1 + rng.below(60) as i64);
    let owner = if session { OF_SESSIONS } else { owner };
    let (priority, barge) = (rng.below(3) as i64 - 1, rng.chance(15));
    if model.queue.iter().any(|waiter| waiter.client == client) {
        return;
    }
    let lease = lease_ms.map_or_else(String::new, |ms| format!(" PX {ms}"));
    let lease = if session { " SESSION PX 100" } else { &lease };
    let barges = if barge { " BARGE" } else { "" };
    let line =
        format!("SEM.ACQUIRE k {owner} PERMITS {permits}{lease} BLOCK {wait_ms} PRIORITY {priority}{barges}");
    real.send(client, &line);
    let queues = !barge && model.queue.iter().any(|waiter| waiter.priority >= priority);
    let told = if queues { None } else { model.take(client, owner, permits, lease_ms) };
    match told {
        Some(told) => drop(model.told.insert(client, told)),
        None => {
            let (made, ends_ms) = (model.make(), model.now_ms + wait_ms);
            model.queue.push(Waiter { client, owner, permits, lease_ms, priority, ends_ms, made });
            model.queue.sort_by_key(|waiter| (-waiter.priority, waiter.made));
        }
    }
}

fn release(real: &mut Simulated, model: &mut Model, rng: &mut Rng) {
    let owner = if rng.chance(20) { OF_SESSIONS } else { OWNERS[rng.below(OWNERS.len())] };
    let (permits, force) = (1 + rng.below(3) as i64, rng.chance(10));
    let forces = if force { " FORCE" } else { "" };
    let answer = real.ask(&format!("SEM.RELEASE k {owner} PERMITS {permits}{forces}"));
    if model.held_by(owner) < permits && !force {
        return assert!(answer.starts_with("-NOTHELD"), "{answer}");
    }
    assert_eq!(answer, format!(":{}\r\n", model.left.unwrap_or(0) + permits));
    model.give_back(owner, permits);
}

fn renew(real: &mut Simulated, model: &mut Model, rng: &mut Rng) {
    let (owner, lease_ms) = (OWNERS[rng.below(OWNERS.len())], 1 + rng.below(60) as i64);
    let answer = real.ask(&format!("SEM.RENEW k {owner} PX {lease_ms}"));
    let ends = model.now_ms + lease_ms;
    let mut made = model.made;
    let mut renewed = 0;
    for hold in model.holds.iter_mut().filter(|hold| hold.owner == owner) {
        if let Some(lease) = &mut hold.lease {
            made += 1;
            *lease = (ends, made);
            renewed = 1;
        }
    }
    model.made = made;
    assert_eq!(answer, format!(":{renewed}\r\n"));
}

fn step(real: &mut Simulated, model: &mut Model, rng: &mut Rng) {
    let client = rng.below(CLIENTS);
    match rng.below(20) {
        0..8 => acquire(real, model, rng),
        8..11 => release(real, model, rng),
        11 => renew(real, model, rng),
        12 => {
            real.unblock(client);
            model.leave(client, "unblocked");
        }
        13 => {
            real.replace(client);
            model.disconnect(client);
        }
        14 => {
            let by = rng.below(4) as i64 - 2;
            real.ask(&format!("SEM.ADJUST k {by}"));
            model.left = Some(model.left.unwrap_or(0) + by);
            model.serve();
        }
        15 if rng.chance(30) => {
            real.ask(["DEL k", "FLUSHALL", "RENAME k other"][rng.below(3)]);
            (model.left, model.holds) = (None, Vec::new());
        }
        16 => {
            let permits = rng.below(6) as i64;
            let force = rng.chance(10);
            real.ask(&format!("SEM.INIT k {permits} {}", if force { "FORCE" } else { "NX" }));
            if force || model.left.is_none() {
                (model.left, model.holds) = (Some(permits), Vec::new());
            }
            model.serve();
        }
        _ => {
            let ms = rng.below(40) as i64;
            real.ask(&format!("CLOCK.ADVANCE {ms}"));
            model.advance(ms);
        }
    }
}

#[test]
fn permits_are_granted_as_by_a_model() {
    for seed in seeds(SEEDS) {
        let (mut real, mut model, mut rng) = (Simulated::new(CLIENTS), Model::default(), Rng::new(seed));
        for n in 0..STEPS {
            step(&mut real, &mut model, &mut rng);
            let granted =
                |lines: &[&str]| format!("granted {} {}", number(lines, "permits"), number(lines, "left"));
            for client in 0..CLIENTS {
                let expected = model.told.remove(&client).unwrap_or_default();
                assert_eq!(
                    real.reply_to(client, granted),
                    expected,
                    "seed {seed}, step {n}, {client}: {model:?}"
                );
            }
            let info = real.ask("SEM.INFO k");
            let lines: Vec<&str> = info.split("\r\n").collect();
            let [left, held] = ["left", "held"].map(|name| number(&lines, name));
            let permits = model.holds.iter().map(|hold| hold.permits).sum::<i64>();
            assert_eq!((left, held), (model.left.unwrap_or(0), permits), "seed {seed}, step {n}: {model:?}");
            assert_eq!(left + held, number(&lines, "initial") + number(&lines, "adjustments"));
        }
    }
}

//! The queue of a lock against a model: clients come, leave, hold and release, and the times of service must match.

use lockwheel::Config;
use lockwheel_engine::core::Simulation;
use lockwheel_tests::rng::{Rng, seeds};
use std::collections::BTreeMap;

/// Random runs, and steps of each.
const SEEDS: u64 = 80;
const STEPS: usize = 2_500;
/// Clients that wait, and the names under which they wait: fewer, so that several have the same.
const CLIENTS: usize = 7;
const OWNERS: [&str; 4] = ["w", "x", "y", "z"];

/// A waiter of the model.
#[derive(Clone, Debug)]
struct Waiter {
    client: usize,
    owner: &'static str,
    lease_ms: i64,
    /// The priority. A higher one is served earlier.
    priority: i64,
    /// The time at which the wait ends.
    ends_ms: i64,
    /// The sequence numbers of the wait and its lease, among all.
    made: u64,
}

/// The lock and its queue.
#[derive(Debug, Default)]
struct Model {
    now_ms: i64,
    made: u64,
    /// The owner, its holds, the deadline, and the sequence number of the deadline.
    held: Option<(&'static str, i64, i64, u64)>,
    /// The waiters, in the order in which they are retried.
    queue: Vec<Waiter>,
    /// The replies to each client that it has not read yet.
    told: BTreeMap<usize, String>,
}

impl Model {
    fn make(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    /// Takes the lock if it is available. Returns the reply.
    fn take(&mut self, owner: &'static str, lease_ms: i64) -> Option<String> {
        let holds = match self.held {
            None => 1,
            Some((holder, holds, ..)) if holder == owner => holds + 1,
            Some(_) => return None,
        };
        let made = self.make();
        self.held = Some((owner, holds, self.now_ms + lease_ms, made));
        Some(format!("granted {holds}"))
    }

    /// Serves all possible waiters: the head as long as it can be served, then the waiters in the holder's name.
    fn serve(&mut self) {
        while let Some(at) = self.queue.iter().position(|waiter| match self.held {
            None => true,
            Some((holder, ..)) => waiter.owner == holder,
        }) {
            let waiter = self.queue.remove(at);
            let told = self.take(waiter.owner, waiter.lease_ms).expect("it was asked for");
            self.told.insert(waiter.client, told);
        }
    }

    /// Ends the wait of a client, if it waits.
    fn leave(&mut self, client: usize, told: &str) {
        if let Some(at) = self.queue.iter().position(|waiter| waiter.client == client) {
            self.queue.remove(at);
            self.told.insert(client, told.into());
            self.serve();
        }
    }

    /// Advances time. Each deadline takes effect at its own instant, in the order of creation.
    fn advance(&mut self, ms: i64) {
        let target = self.now_ms + ms;
        loop {
            let lease = self.held.map(|(_, _, at, made)| (at, made, None));
            let waits = self.queue.iter().map(|waiter| (waiter.ends_ms, waiter.made, Some(waiter.client)));
            let first = lease.into_iter().chain(waits).min_by_key(|&(at, made, _)| (at, made));
            let Some((at, _, what)) = first.filter(|&(at, ..)| at <= target) else { break };
            self.now_ms = at;
            match what {
                None => {
                    self.held = None;
                    self.serve();
                }
                Some(client) => self.leave(client, "nothing"),
            }
        }
        self.now_ms = target;
    }
}

/// A server, its clients, and a client that controls it.
struct Real {
    server: Simulation,
    clients: Vec<u64>,
    main: u64,
}

impl Real {
    fn new() -> Self {
        let mut server = Simulation::new(Config::default(), 7);
        let main = server.connect();
        let clients = (0..CLIENTS).map(|_| server.connect()).collect();
        server.ask(main, "CLOCK.FREEZE");
        Real { server, clients, main }
    }

    fn ask(&mut self, line: &str) -> String {
        self.server.ask(self.main, line)
    }

    /// Returns the reply to a waiter, in the model's words. Empty while it waits.
    fn reply_to(&mut self, client: usize) -> String {
        let answer = self.server.read(self.clients[client]);
        let lines: Vec<&str> = answer.split("\r\n").collect();
        match lines.iter().position(|line| *line == "holds") {
            Some(at) => format!("granted {}", &lines[at + 1][1..]),
            None if answer == "$-1\r\n" => "nothing".into(),
            None if answer.starts_with("-UNBLOCKED") => "unblocked".into(),
            None => answer,
        }
    }
}

fn acquire(real: &mut Real, model: &mut Model, rng: &mut Rng) {
    let (client, owner) = (rng.below(CLIENTS), OWNERS[rng.below(OWNERS.len())]);
    let (lease_ms, wait_ms) = (1 + rng.below(60) as i64, 1 + rng.below(60) as i64);
    let priority = rng.below(3) as i64 - 1;
    if model.queue.iter().any(|waiter| waiter.client == client) {
        return;
    }
    let line = format!("LOCK.ACQUIRE l {owner} PX {lease_ms} BLOCK {wait_ms} PRIORITY {priority}");
    real.server.send(real.clients[client], &line);
    if let Some(told) = model.take(owner, lease_ms) {
        model.told.insert(client, told);
        return model.serve();
    }
    let (made, ends_ms) = (model.make(), model.now_ms + wait_ms);
    model.queue.push(Waiter { client, owner, lease_ms, priority, ends_ms, made });
    model.queue.sort_by_key(|waiter| (-waiter.priority, waiter.made));
}

/// Closes a client's connection and opens another in its place.
fn disconnect(real: &mut Real, model: &mut Model, client: usize) {
    real.server.close(real.clients[client]);
    real.server.notice();
    real.clients[client] = real.server.connect();
    model.leave(client, "gone");
    model.told.remove(&client);
}

fn let_go(real: &mut Real, model: &mut Model, owner: &'static str) {
    let answer = real.ask(&format!("LOCK.RELEASE l {owner}"));
    match model.held {
        Some((holder, holds, at, made)) if holder == owner => {
            assert_eq!(answer, format!(":{}\r\n", holds - 1));
            model.held = (holds > 1).then_some((holder, holds - 1, at, made));
            model.serve();
        }
        _ => assert!(answer.starts_with("-NOTHELD") || answer.starts_with("-LOCKLOST"), "{answer}"),
    }
}

/// A script takes the lock from its holder for another owner, which only a script can do.
fn usurp(real: &mut Real, model: &mut Model, owner: &'static str) {
    let script =
        "redis.call('del',KEYS[1])redis.call('hset',KEYS[1],ARGV[1],1)redis.call('pexpire',KEYS[1],30)";
    real.ask(&format!("EVAL \"{script}\" 1 l {owner}"));
    let made = model.make();
    model.held = Some((owner, 1, model.now_ms + 30, made));
    model.serve();
}

/// All waits of an owner end before any other waiter is served.
fn cancel(real: &mut Real, model: &mut Model, owner: &'static str) {
    let answer = real.ask(&format!("LOCK.CANCEL l {owner}"));
    let cancelled: Vec<Waiter> = model.queue.extract_if(.., |waiter| waiter.owner == owner).collect();
    assert_eq!(answer, format!(":{}\r\n", cancelled.len()));
    model.told.extend(cancelled.iter().map(|waiter| (waiter.client, "unblocked".to_owned())));
    model.serve();
}

fn step(real: &mut Real, model: &mut Model, rng: &mut Rng) {
    let (client, owner) = (rng.below(CLIENTS), OWNERS[rng.below(OWNERS.len())]);
    match rng.below(13) {
        0..5 => acquire(real, model, rng),
        5..7 => let_go(real, model, owner),
        7 => {
            let id = real.clients[client];
            real.ask(&format!("CLIENT UNBLOCK {id} ERROR"));
            model.leave(client, "unblocked");
        }
        8 => disconnect(real, model, client),
        9 => {
            real.ask("DEL l");
            model.held = None;
            model.serve();
        }
        10 => usurp(real, model, owner),
        11 => cancel(real, model, owner),
        _ => {
            let ms = rng.below(40) as i64;
            real.ask(&format!("CLOCK.ADVANCE {ms}"));
            model.advance(ms);
        }
    }
}

#[test]
fn a_queue_is_served_as_by_a_model() {
    for seed in seeds(SEEDS) {
        let (mut real, mut model, mut rng) = (Real::new(), Model::default(), Rng::new(seed));
        for n in 0..STEPS {
            step(&mut real, &mut model, &mut rng);
            for client in 0..CLIENTS {
                let expected = model.told.remove(&client).unwrap_or_default();
                assert_eq!(
                    real.reply_to(client),
                    expected,
                    "seed {seed}, step {n}, client {client}: {model:?}"
                );
            }
        }
    }
}

//! Departures from any position of a long fair queue: the times of later waiters shrink by as much, as in Redisson's
//! script.

use lockwheel_engine::config::Config;
use lockwheel_engine::core::Simulation;
use std::collections::BTreeMap;

const QUEUE: &str = "redisson_lock_queue:{l}";
const TIMEOUTS: &str = "redisson_lock_timeout:{l}";

/// A server with a lock, and its expected queue.
struct Queue {
    server: Simulation,
    main: u64,
    holder: String,
    /// Owners with their clients and waiting times, in order.
    waiting: Vec<(String, u64, i64)>,
    scores: BTreeMap<String, i64>,
    joined: usize,
    random: u64,
}

impl Queue {
    fn new() -> Self {
        let mut server = Simulation::new(Config::default(), 7);
        let main = server.connect();
        for line in ["CLOCK.FREEZE", "LOCK.ACQUIRE l first PX 1000000000000 FAIR"] {
            server.ask(main, line);
        }
        let holder = "first".to_owned();
        Queue { server, main, holder, waiting: Vec::new(), scores: BTreeMap::new(), joined: 0, random: 7 }
    }

    fn below(&mut self, count: usize) -> usize {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % count
    }

    /// The words of an answer.
    fn words(&mut self, line: &str) -> Vec<String> {
        let answer = self.server.ask(self.main, line);
        answer.lines().filter(|line| !line.starts_with(['$', '*'])).map(str::to_owned).collect()
    }

    /// Adds a waiter: after the last, or as long as the lock is held.
    fn join(&mut self) {
        let (owner, wait_ms) = (format!("w{}", self.joined), 1_000_000 + 1_000 * (self.joined as i64 % 7));
        self.joined += 1;
        let before = match self.waiting.last() {
            Some((last, ..)) => self.scores[last],
            None => self.words("PEXPIRETIME l")[0].trim_start_matches(':').parse().expect("a number"),
        };
        let client = self.server.connect();
        let line = format!("LOCK.ACQUIRE l {owner} FAIR BLOCK {wait_ms} PX 1000000000000");
        assert_eq!(self.server.ask(client, &line), "");
        self.scores.insert(owner.clone(), before + wait_ms);
        self.waiting.push((owner, client, wait_ms));
    }

    /// Makes the waiter at this position leave, in one of several ways.
    fn leave(&mut self, at: usize) {
        let (owner, client, wait_ms) = self.waiting.remove(at);
        let how = if self.below(2) == 0 { "UNBLOCK" } else { "KILL ID" };
        assert_eq!(self.server.ask(self.main, &format!("CLIENT {how} {client}")), ":1\r\n");
        self.scores.remove(&owner);
        for (behind, ..) in &self.waiting[at..] {
            *self.scores.get_mut(behind).expect("it waits") -= wait_ms;
        }
    }

    /// The first waiter gets the lock.
    fn grant(&mut self) {
        let (owner, _, wait_ms) = self.waiting.remove(0);
        let line = format!("LOCK.RELEASE l {}", self.holder);
        assert_eq!(self.server.ask(self.main, &line), ":0\r\n");
        self.scores.remove(&owner);
        self.scores.values_mut().for_each(|score| *score -= wait_ms);
        self.holder = owner;
    }

    /// Another client changes a waiter's time.
    fn retime(&mut self, at: usize, by: i64) {
        let owner = self.waiting[at].0.clone();
        self.server.ask(self.main, &format!("ZINCRBY {TIMEOUTS} {by} {owner}"));
        *self.scores.get_mut(&owner).expect("it waits") += by;
    }

    #[track_caller]
    fn check(&mut self) {
        let owners: Vec<String> = self.waiting.iter().map(|(owner, ..)| owner.clone()).collect();
        assert_eq!(self.words(&format!("LRANGE {QUEUE} 0 -1")), owners);
        let words = self.words(&format!("ZRANGE {TIMEOUTS} 0 -1 WITHSCORES"));
        let told: BTreeMap<String, i64> = words
            .chunks_exact(2)
            .map(|pair| (pair[0].clone(), pair[1].parse().expect("a whole number")))
            .collect();
        assert_eq!(told, self.scores);
        let mut in_order: Vec<i64> =
            words.iter().skip(1).step_by(2).map(|score| score.parse().expect("a whole number")).collect();
        let shown = in_order.clone();
        in_order.sort_unstable();
        assert_eq!(shown, in_order);
        let one = self.below(owners.len());
        let score = self.words(&format!("ZSCORE {TIMEOUTS} {}", owners[one]));
        assert_eq!(score, [self.scores[&owners[one]].to_string()]);
    }
}

/// More waiters leave from the middle than are remembered individually.
#[test]
fn leaving_waiters_reduce_the_timeouts_behind_them() {
    let mut queue = Queue::new();
    (0..700).for_each(|_| queue.join());
    for turn in 0..900 {
        let at = queue.below(queue.waiting.len());
        match turn % 9 {
            0..5 => queue.leave(at),
            5 => queue.leave(0),
            6 => queue.grant(),
            _ => queue.join(),
        }
        if turn % 50 == 0 || turn > 880 {
            queue.check();
        }
    }
    queue.leave(queue.waiting.len() - 1);
    queue.check();
}

/// Values that other clients write count like the server's own, even if they reorder the owners.
#[test]
fn leaving_waiters_reduce_timeouts_that_other_clients_wrote() {
    let mut queue = Queue::new();
    (0..300).for_each(|_| queue.join());
    for turn in 0..400 {
        let at = queue.below(queue.waiting.len() - 1);
        match turn % 8 {
            0 => queue.retime(at, 3),
            1 if turn % 5 == 0 => queue.retime(at, 50_000_000),
            2 => queue.grant(),
            3..6 => queue.leave(at),
            _ => (0..2).for_each(|_| queue.join()),
        }
        if turn % 20 == 0 {
            queue.check();
        }
    }
    queue.check();
}

/// The queue is lost, or all its members are replaced: no earlier knowledge applies any more.
#[test]
fn a_rewritten_queue_discards_remembered_departures() {
    let mut queue = Queue::new();
    (0..200).for_each(|_| queue.join());
    queue.leave(100);
    // The last and the first exchange their times, but not their places.
    let (first, last) = (queue.waiting[0].0.clone(), queue.waiting[198].0.clone());
    let (low, high) = (queue.scores[&first], queue.scores[&last]);
    queue.server.ask(queue.main, &format!("ZADD {TIMEOUTS} {high} {first} {low} {last}"));
    queue.scores.extend([(first, high), (last, low)]);
    queue.leave(90);
    queue.check();
    for line in ["SWAPDB 0 1", "SWAPDB 0 1"] {
        queue.server.ask(queue.main, line);
    }
    queue.leave(50);
    queue.check();
}

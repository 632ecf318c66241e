//! Random native commands, waits, sessions and ends of leases: a replica has the data of its master.

use crate::replication::servers::{AnyServer, Makes, Pair, info};
use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::{Client, split};
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::Reply;
use lockwheel_tests::rng::{Rng, seeds};
use lockwheel_tests::shapes::until;
use std::collections::BTreeSet;

/// Random runs, rounds of each, and requests of each round.
const SEEDS: u64 = 4;
const ROUNDS: usize = 150;
const STEPS: usize = 40;
/// Longer than each wait, in milliseconds.
const END_MS: usize = 1000;

/// The last name is so long that a sorted set with it has the form of a large one.
const OWNERS: [&str; 5] = [
    "a",
    "b",
    "c",
    "8743c9c0-0795-4907-87fd-6c719a6b4586:1",
    "an-owner-whose-name-has-more-bytes-than-zset-max-listpack-value-allows-for",
];
const LOCKS: [&str; 4] = ["plain", "text", "rw", "fair"];
const TIMES: [&str; 6] = ["1", "20", "60", "150", "400", "100000"];

/// Requests that do not wait. `OWNER`, `LOCK`, `TIME`, `N` and `PERMIT` stand for random words.
const REQUESTS: &[&str] = &[
    "LOCK.ACQUIRE plain OWNER PX TIME",
    "LOCK.ACQUIRE plain OWNER PX TIME FENCED",
    "LOCK.ACQUIRE plain OWNER PX TIME DELAY TIME",
    "LOCK.ACQUIRE text OWNER PX TIME LAYOUT STRING",
    "LOCK.ACQUIRE text OWNER PX TIME LAYOUT STRING DELAY TIME",
    "LOCK.ACQUIRE rw OWNER PX TIME SHARED",
    "LOCK.ACQUIRE rw OWNER PX TIME SHARED DELAY TIME",
    "LOCK.ACQUIRE rw OWNER PX TIME EXCLUSIVE",
    "LOCK.ACQUIRE rw OWNER PX TIME EXCLUSIVE FENCED DELAY TIME",
    "LOCK.ACQUIRE fair OWNER PX TIME FAIR",
    "LOCK.ACQUIRE fair OWNER PX TIME FAIR DELAY TIME",
    "LOCK.MACQUIRE 2 rw rw2 OWNER PX TIME SHARED",
    "LOCK.MACQUIRE 2 plain plain2 OWNER PX TIME",
    "LOCK.MRELEASE 2 rw rw2 OWNER",
    "LOCK.RELEASE LOCK OWNER",
    "LOCK.RELEASE LOCK OWNER ALL",
    "LOCK.RELEASE rw OWNER SHARED",
    "LOCK.RELEASE rw OWNER EXCLUSIVE",
    "LOCK.RENEW 2 LOCK LOCK OWNER PX TIME",
    "LOCK.RENEW 1 rw OWNER PX TIME GT",
    "LOCK.TRANSFER LOCK OWNER OWNER",
    "LOCK.TRANSFER LOCK OWNER OWNER PX TIME",
    "LOCK.CONVERT rw OWNER SHARED",
    "LOCK.CONVERT rw OWNER SHARED PX TIME",
    "LOCK.CONVERT rw OWNER EXCLUSIVE",
    "LOCK.CONVERT rw OWNER EXCLUSIVE PX TIME",
    "LOCK.FORCEUNLOCK LOCK",
    "LOCK.FORCEUNLOCK LOCK owner OWNER",
    "SEM.INIT pool N",
    "SEM.INIT pool N PX TIME",
    "SEM.INIT pool N FORCE",
    "SEM.ACQUIRE pool OWNER",
    "SEM.ACQUIRE pool OWNER PX TIME",
    "SEM.ACQUIRE pool OWNER PERMITS N IDS",
    "SEM.ACQUIRE pool OWNER PERMITS N IDS PX TIME",
    "SEM.RELEASE pool OWNER",
    "SEM.RELEASE pool OWNER PERMITS N FORCE",
    "SEM.RELEASE pool OWNER ID PERMIT FORCE",
    "SEM.RENEW pool OWNER PX TIME",
    "SEM.RENEW pool PERMIT PX TIME",
    "SEM.ADJUST pool N",
    "SEM.ADJUST pool -1",
    "SEM.DRAIN pool",
    "LATCH.SET latch N",
    "LATCH.SET latch N NX",
    "LATCH.COUNTDOWN latch",
    "LATCH.COUNTDOWN latch N",
    "RATE.SET rate N TIME",
    "RATE.SET rate 9 400 NX",
    // Nothing else changes the settings of this one, so that permits come back one after the other.
    "RATE.SET slow 9 3000 NX",
    "RATE.SET each N TIME CLIENT OWNER",
    "RATE.ACQUIRE rate",
    "RATE.ACQUIRE slow",
    "RATE.ACQUIRE slow N",
    "RATE.ACQUIRE rate N",
    "RATE.ACQUIRE each N CLIENT OWNER",
    "HSET rate keepAliveTime TIME",
    "CL.THROTTLE throttle N 3 1",
    // Requests on their keys that are not native.
    "DEL LOCK",
    "DEL pool latch throttle",
    "HDEL rate rate interval",
    "PEXPIRE LOCK TIME",
    "PEXPIRE pool TIME",
    "PEXPIRE latch TIME",
    "PEXPIRE rate TIME",
    "PERSIST LOCK",
    "RPUSH redisson_lock_queue:{fair} OWNER",
    "LPOP redisson_lock_queue:{fair}",
    "ZADD redisson_lock_timeout:{fair} N OWNER",
    "ZREM redisson_lock_timeout:{fair} OWNER",
    "INCR number",
];

/// Requests that wait for less than [`END_MS`].
const WAITS: &[&str] = &[
    "LOCK.ACQUIRE plain OWNER PX TIME BLOCK 300",
    "LOCK.ACQUIRE text OWNER PX TIME BLOCK 100 LAYOUT STRING",
    "LOCK.ACQUIRE rw OWNER PX TIME BLOCK 300 SHARED",
    "LOCK.ACQUIRE rw OWNER PX TIME BLOCK 100 EXCLUSIVE DELAY TIME",
    "LOCK.CONVERT rw OWNER EXCLUSIVE BLOCK 100",
    "LOCK.ACQUIRE fair OWNER PX 20 BLOCK 40 FAIR",
    "LOCK.ACQUIRE fair OWNER PX TIME BLOCK 100 FAIR",
    "LOCK.ACQUIRE fair OWNER PX TIME BLOCK 300 FAIR",
    "SEM.ACQUIRE pool OWNER PERMITS N PX TIME BLOCK 300",
    "SEM.ACQUIRE pool OWNER PERMITS N IDS PX TIME BLOCK 300",
    "LATCH.AWAIT latch BLOCK 300",
    "RATE.ACQUIRE rate N BLOCK 300",
    "RATE.ACQUIRE each N CLIENT OWNER BLOCK 100",
];

/// Requests of connections that are closed later.
const SESSIONS: &[&str] = &[
    "LOCK.ACQUIRE plain OWNER PX 150 SESSION",
    "LOCK.ACQUIRE text OWNER PX 150 SESSION LAYOUT STRING",
    "LOCK.ACQUIRE rw OWNER PX 150 SESSION SHARED",
    "LOCK.ACQUIRE rw OWNER PX 150 SESSION EXCLUSIVE DELAY 50",
    "LOCK.ACQUIRE fair OWNER PX 150 SESSION FAIR",
    "SEM.ACQUIRE pool OWNER PX 150 SESSION",
    "SEM.ACQUIRE pool OWNER PERMITS N PX 150 SESSION IDS",
];

/// A script that runs its arguments as requests.
const SCRIPT: &str = "for _, line in ipairs(ARGV) do local words = {} \
     for word in string.gmatch(line, '%S+') do words[#words + 1] = word end redis.pcall(unpack(words)) end";

/// A run on a pair of servers.
struct Run {
    pair: Pair,
    rng: Rng,
    /// Connections that do not wait.
    idle: Vec<Client>,
    /// Connections that wait, or have been answered since, each with the form of its request.
    waiting: Vec<(Client, &'static str)>,
    /// Connections with leases.
    sessions: Vec<Client>,
    /// Ids of permits that were given out.
    permits: Vec<String>,
    /// The forms of requests that have had a reply other than an error.
    done: BTreeSet<&'static str>,
}

impl Run {
    fn new(pair: Pair, seed: u64) -> Run {
        let (idle, waiting, sessions, permits) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Run { pair, rng: Rng::new(seed), idle, waiting, sessions, permits, done: BTreeSet::new() }
    }

    /// Returns a request of this form, with random words.
    fn request(&mut self, form: &str) -> String {
        let mut words = Vec::new();
        for word in form.split(' ') {
            words.push(match word {
                "OWNER" => (*self.rng.pick(&OWNERS)).to_owned(),
                "LOCK" => (*self.rng.pick(&LOCKS)).to_owned(),
                "TIME" => (*self.rng.pick(&TIMES)).to_owned(),
                "N" => (1 + self.rng.below(3)).to_string(),
                "PERMIT" if self.permits.is_empty() => "0".repeat(32),
                "PERMIT" => self.rng.pick(&self.permits).clone(),
                word => word.to_owned(),
            });
        }
        words.join(" ")
    }

    fn note(&mut self, form: &'static str, reply: Reply) {
        if !reply.is_error() {
            self.done.insert(form);
        }
        let last = reply.into_elements().and_then(|mut elements| elements.pop());
        for id in last.and_then(Reply::into_elements).unwrap_or_default() {
            let id = String::from_utf8_lossy(id.as_bytes().unwrap_or_default()).into_owned();
            self.permits.extend(Some(id).filter(|id| id.len() == 32));
        }
        let old = self.permits.len().saturating_sub(3);
        self.permits.drain(..old);
    }

    fn connect(&self) -> Client {
        let mut client = Client::connect(self.pair.servers.0.addr());
        client.line("PING");
        client
    }

    fn step(&mut self) {
        match self.rng.below(100) {
            0..70 => {
                let form = *self.rng.pick(REQUESTS);
                let line = self.request(form);
                let reply = self.pair.master.line(&line);
                self.note(form, reply);
            }
            70..79 => self.wait(),
            79..83 => self.lease(),
            83..91 => self.several(),
            _ => {
                let ms = self.rng.below(200);
                self.pair.ask_master(&format!("CLOCK.ADVANCE {ms}"));
            }
        }
    }

    /// Sends a request that may wait. A server with one thread has read it before the next request.
    fn wait(&mut self) {
        let form = *self.rng.pick(WAITS);
        let line = self.request(form);
        let mut client = self.idle.pop().unwrap_or_else(|| self.connect());
        client.send_line(&line);
        self.pair.ask_master("PING");
        self.waiting.push((client, form));
    }

    fn lease(&mut self) {
        if self.sessions.len() < 3 {
            self.sessions.push(self.connect());
        }
        let form = *self.rng.pick(SESSIONS);
        let line = self.request(form);
        let at = self.rng.below(self.sessions.len());
        let reply = self.sessions[at].line(&line);
        self.note(form, reply);
    }

    /// Sends requests as a transaction or as a script.
    fn several(&mut self) {
        let count = 1 + self.rng.below(5);
        let lines: Vec<String> = (0..count)
            .map(|_| {
                let form = *self.rng.pick(REQUESTS);
                self.request(form)
            })
            .collect();
        if self.rng.chance(50) {
            let lines = lines.iter().map(String::as_str);
            let all: Vec<_> = ["MULTI"].into_iter().chain(lines).chain(["EXEC"]).map(split).collect();
            self.pair.master.pipeline(&all);
        } else {
            let script = [&["EVAL".to_owned(), SCRIPT.to_owned(), "0".to_owned()][..], &lines].concat();
            self.pair.master.cmd(&script);
        }
    }

    /// Lets all waits and most leases end, and closes some connections.
    fn end_round(&mut self) {
        self.pair.ask_master(&format!("CLOCK.ADVANCE {END_MS}"));
        for (mut client, form) in std::mem::take(&mut self.waiting) {
            let reply = client.read_reply();
            self.note(form, reply);
            self.idle.push(client);
        }
        while self.rng.chance(50) {
            self.sessions.pop();
        }
        let left = (1 + self.idle.len() + self.sessions.len()).to_string();
        until("connections are closed", || {
            info(&mut self.pair.master, "clients", "connected_clients") == left
        });
    }
}

/// Returns our master, with one thread, and a replica. The master's time stands still, ahead of that of the replica,
/// so that no key of the master is overdue there. `None`: there is no real server on this machine.
fn pair(makes: Makes) -> Option<Pair> {
    let master: AnyServer = Box::new(ours::builder().threads(1).start().expect("loopback has a free port"));
    let replica: AnyServer = match makes {
        Makes::RealReplica => Box::new(RealServer::start(Kind::Redis, &["--repl-diskless-sync-delay", "0"])?),
        _ => Box::new(ours::server()),
    };
    let mut pair = Pair::new(master, replica);
    for line in ["CLOCK.FREEZE", "CLOCK.ADVANCE 3600000", "CONFIG SET repl-timeout 1000000"] {
        assert!(!pair.ask_master(line).starts_with('-'), "{line}");
    }
    pair.follow();
    Some(pair)
}

/// Requires that all keys have the same deadlines. DEBUG DIGEST only tells whether they have any.
fn check_deadlines(pair: &mut Pair) {
    let names = pair.master.line("KEYS *").into_elements().expect("an array");
    let question = |name: &Reply| vec![b"PEXPIRETIME".to_vec(), name.as_bytes().expect("a name").to_vec()];
    let questions: Vec<_> = names.iter().map(question).collect();
    let [ours, theirs] = [&mut pair.master, &mut pair.replica].map(|client| client.pipeline(&questions));
    for ((name, ours), theirs) in names.iter().zip(ours).zip(theirs) {
        assert_eq!(ours, theirs, "{name}");
    }
}

fn follows(makes: Makes) {
    let mut done = BTreeSet::new();
    for seed in seeds(SEEDS) {
        let Some(pair) = pair(makes) else { return };
        let mut run = Run::new(pair, seed);
        for round in 0..ROUNDS {
            (0..STEPS).for_each(|_| run.step());
            run.end_round();
            if round % 4 == 3 {
                run.pair.check_same();
                check_deadlines(&mut run.pair);
            }
        }
        done.append(&mut run.done);
        let replica = &mut run.pair.replica;
        assert_eq!(info(replica, "stats", "unexpected_error_replies"), "0", "seed {seed}");
        let calls = replica.line("INFO commandstats").to_string();
        assert!(!calls.contains("cmdstat_restore"), "a value was sent: {calls}");
    }
    let all = [REQUESTS, WAITS, SESSIONS].concat();
    let missing: Vec<&&str> = all.iter().filter(|form| !done.contains(*form)).collect();
    // A single seed need not have all.
    assert!(missing.is_empty() || seeds(SEEDS).count() == 1, "never done: {missing:?}");
}

#[test]
fn a_real_replica_has_the_data_of_native_families() {
    follows(Makes::RealReplica);
}

#[test]
fn our_replica_has_the_data_of_native_families() {
    follows(Makes::Ours);
}

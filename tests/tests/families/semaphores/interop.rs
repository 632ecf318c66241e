//! Redisson's own scripts and native commands on the same keys: whichever performs a step, the state, the messages and
//! the replies are those of Redisson on a real redis-server.
//!
//! Two servers get the same random steps. The real one performs each by Redisson's script; ours performs it by the
//! script or by the native command, at random.

use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::redisson_scripts::{Script, scripts_of};
use lockwheel_tests::reply::Reply;
use lockwheel_tests::rng::Rng;
use std::path::Path;

const SEEDS: u64 = 12;
const STEPS: usize = 120;

/// The objects of each version, and whether they publish by an argument.
const VERSIONS: [(&str, Has); 4] = [
    ("3.6.5", Has { adds: false, rate: false, keeps_alive: false, publish_argument: false, many_ids: false }),
    ("3.17.0", Has { adds: true, rate: true, keeps_alive: false, publish_argument: false, many_ids: false }),
    ("3.24.3", Has { adds: true, rate: true, keeps_alive: false, publish_argument: true, many_ids: true }),
    ("4.7.0", Has { adds: true, rate: true, keeps_alive: true, publish_argument: true, many_ids: true }),
];

/// The features of a version.
#[derive(Clone, Copy)]
struct Has {
    /// `RSemaphore.addPermits`.
    adds: bool,
    /// `RRateLimiter`.
    rate: bool,
    /// The limiter's `keepAliveTime`.
    keeps_alive: bool,
    /// The name of the publishing command is an argument.
    publish_argument: bool,
    /// Several permits with ids at once.
    many_ids: bool,
}

impl Has {
    /// The publishing command, if it is an argument.
    fn publish(&self) -> &'static str {
        if self.publish_argument { "publish" } else { "" }
    }
}

/// Runs `test` with the scripts of each version.
fn each_version(test: impl Fn(&Has, &[Script])) {
    for (version, has) in VERSIONS {
        let Some((scripts, _)) = scripts_of(version, Path::new(env!("CARGO_TARGET_TMPDIR"))) else { return };
        test(&has, &scripts);
    }
}

/// The classes of the scripts. A script that several classes share has the name of another class.
const CLASSES: [&str; 5] = [
    "RedissonSemaphore",
    "RedissonPermitExpirableSemaphore",
    "RedissonCountDownLatch",
    "RedissonRateLimiter",
    "RedissonBoundedBlockingQueue",
];

/// The script that has all these parts and none of those.
fn script<'s>(scripts: &'s [Script], with: &[&str], without: &[&str]) -> &'s str {
    let fits = |script: &&Script| {
        let text = &script.text;
        with.iter().all(|part| text.contains(part)) && !without.iter().any(|part| text.contains(part))
    };
    let of_class = |class: &&str| scripts.iter().filter(|script| script.class == *class).find(fits);
    let found = CLASSES.iter().find_map(of_class);
    &found.unwrap_or_else(|| panic!("no script has {with:?} without {without:?}")).text
}

/// A server, a client of it, and a subscriber of the channels.
struct Side {
    client: Client,
    listener: Client,
    _server: Box<dyn Endpoint>,
}

impl Side {
    fn new(server: Box<dyn Endpoint>, channels: &[&str]) -> Self {
        let mut listener = Client::connect(server.addr());
        listener.line(&format!("SUBSCRIBE sync {}", channels.join(" ")));
        channels.iter().for_each(|_| drop(listener.read_frame()));
        Side { client: Client::connect(server.addr()), listener, _server: server }
    }

    /// Redisson on a real server, and our server.
    fn both(channels: &[&str]) -> [Side; 2] {
        let real = RealServer::start(Kind::Redis, &[]).map(|server| Box::new(server) as Box<dyn Endpoint>);
        let real = real.unwrap_or_else(|| Box::new(ours::manual_server()));
        [Side::new(real, channels), Side::new(Box::new(ours::manual_server()), channels)]
    }

    fn eval(&mut self, script: &str, keys: &[&[u8]], arguments: &[Vec<u8>]) -> Reply {
        let count = keys.len().to_string();
        let mut words: Vec<&[u8]> = vec![b"EVAL", script.as_bytes(), count.as_bytes()];
        words.extend(keys);
        words.extend(arguments.iter().map(|argument| &argument[..]));
        self.client.cmd(&words)
    }

    /// Returns the messages of the channels since the last call.
    fn messages(&mut self) -> Vec<String> {
        self.client.line("PUBLISH sync end");
        let mut told = Vec::new();
        loop {
            let message = self.listener.read_frame().to_string();
            if message.contains("\"sync\"") {
                return told;
            }
            told.push(message);
        }
    }

    /// Returns the contents of the keys. Random names are replaced by their length and `shown` of their last bytes.
    fn state(&mut self, keys: &[&str], shown: usize) -> Vec<String> {
        let mut state = Vec::new();
        for key in keys {
            let kind = self.client.line(&format!("TYPE {key}")).to_string();
            state.push(match kind.as_str() {
                "+string" => self.client.line(&format!("GET {key}")).to_string(),
                "+hash" => {
                    let text = self.client.line(&format!("HGETALL {key}")).to_string();
                    text.replace(", \"keepAliveTime\", \"0\"", "")
                }
                "+zset" => {
                    let all = self.client.line(&format!("ZRANGE {key} 0 -1 WITHSCORES"));
                    let all = all.into_elements().expect("an array");
                    let pair = |pair: &[Reply]| {
                        let member = pair[0].as_bytes().expect("a member");
                        format!("{}{:?} {}", member.len(), &member[member.len() - shown..], pair[1])
                    };
                    let mut all: Vec<String> = all.chunks(2).map(pair).collect();
                    all.sort_unstable();
                    all.join(", ")
                }
                _ => kind,
            });
        }
        state
    }
}

/// Requires that a step has the same effect on both sides.
fn check_same(sides: &mut [Side; 2], keys: &[&str], shown: usize, step: &str) {
    let states = sides.each_mut().map(|side| side.state(keys, shown));
    assert_eq!(states[0], states[1], "the state after {step}");
    let messages = sides.each_mut().map(Side::messages);
    assert_eq!(messages[0], messages[1], "the messages of {step}");
}

fn words(words: &[&dyn ToString]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.to_string().into_bytes()).collect()
}

/// Performs a step by its script on the first side, and by either way on ours. Returns both replies.
fn step(
    sides: &mut [Side; 2],
    natively: bool,
    (text, keys, arguments): (&str, &[&[u8]], &[Vec<u8>]),
    native: &str,
) -> [Reply; 2] {
    let [redisson, ours] = sides;
    let expected = redisson.eval(text, keys, arguments);
    assert!(!expected.is_error(), "{expected}");
    [expected, if natively { ours.client.line(native) } else { ours.eval(text, keys, arguments) }]
}

/// The scripts of `RSemaphore`.
struct OfSemaphores<'s> {
    acquire: &'s str,
    release: &'s str,
    set: &'s str,
    drain: &'s str,
    add: Option<&'s str>,
    publish: &'static str,
}

impl<'s> OfSemaphores<'s> {
    fn find(has: &Has, scripts: &'s [Script]) -> Self {
        let add =
            || script(scripts, &["value + ARGV[1]", "KEYS[2], value + ARGV[1]"], &["tonumber(value) + "]);
        OfSemaphores {
            acquire: script(scripts, &["decrby', KEYS[1], ARGV[1]", "return 1; end; return 0;"], &["zrange"]),
            release: release_of_semaphore(scripts),
            set: set_of_semaphore(scripts),
            drain: script(scripts, &["redis.call('set', KEYS[1], 0); return value;"], &[]),
            add: has.adds.then(add),
            publish: has.publish(),
        }
    }

    /// Performs one random step. Returns its description.
    fn step(&self, sides: &mut [Side; 2], rng: &mut Rng) -> &'static str {
        let (n, natively) = (1 + rng.below(3), rng.chance(50));
        let keys: [&[u8]; 2] = [b"k", b"redisson_sc:{k}"];
        let told = words(&[&n, &self.publish]);
        match (rng.below(12), self.add) {
            (0, _) => {
                let replies = step(sides, natively, (self.set, &keys, &told), &format!("SEM.INIT k {n}"));
                assert_eq!(got(&replies[0]), got(&replies[1]), "{replies:?}");
                "set"
            }
            (1, _) => {
                let replies = step(sides, natively, (self.drain, &keys[..1], &[]), "SEM.DRAIN k");
                let [expected, drained] = replies.map(|reply| reply.to_string().replace([':', '"'], ""));
                assert_eq!(expected, drained);
                "drain"
            }
            (2, Some(add)) => {
                step(sides, natively, (add, &keys, &told), &format!("SEM.ADJUST k {n}"));
                "add"
            }
            (2..=6, _) => {
                let native = format!("SEM.RELEASE k o PERMITS {n} FORCE");
                step(sides, natively, (self.release, &keys, &told), &native);
                "release"
            }
            (7, _) => {
                sides.iter_mut().for_each(|side| drop(side.client.line("DEL k")));
                "del"
            }
            _ => {
                let native = format!("SEM.ACQUIRE k o PERMITS {n}");
                let replies = step(sides, natively, (self.acquire, &keys[..1], &words(&[&n])), &native);
                assert_eq!(got(&replies[0]), got(&replies[1]), "{replies:?}");
                "acquire"
            }
        }
    }
}

/// Whether a reply reports an effect.
fn got(reply: &Reply) -> bool {
    !matches!(reply, Reply::Null | Reply::Int(0))
}

fn release_of_semaphore(scripts: &[Script]) -> &str {
    script(
        scripts,
        &["local value = redis.call('incrby', KEYS[1], ARGV[1]); ", "KEYS[2], value"],
        &["exists", "zrem"],
    )
}

fn set_of_semaphore(scripts: &[Script]) -> &str {
    let with = ["redis.call('set', KEYS[1], ARGV[1]); ", "KEYS[2], ARGV[1]", "value == false"];
    script(scripts, &with, &["px", "zcount"])
}

#[test]
fn semaphores() {
    each_version(|has, scripts| {
        let scripts = OfSemaphores::find(has, scripts);
        for seed in 0..SEEDS {
            let (mut rng, mut sides) = (Rng::new(seed), Side::both(&["redisson_sc:{k}"]));
            for _ in 0..STEPS {
                let what = scripts.step(&mut sides, &mut rng);
                check_same(&mut sides, &["k"], 0, what);
            }
        }
    });
}

/// The scripts of `RPermitExpirableSemaphore`, and the permits that are out.
struct OfPermits<'s> {
    acquire: &'s str,
    release: &'s str,
    has: Has,
    now: i64,
    /// The ids of each permit on either side, and the end of its lease.
    out: Vec<([Vec<u8>; 2], i64)>,
}

impl OfPermits<'_> {
    fn acquire(&mut self, sides: &mut [Side; 2], rng: &mut Rng) {
        let natively = rng.chance(50);
        let n = if self.has.many_ids { 1 + rng.below(3) } else { 1 };
        let (now, lease) = (self.now, 1 + rng.below(50) as i64);
        let ids: Vec<Vec<u8>> = (0..n).map(|_| id(rng)).collect();
        let arguments = match self.has.many_ids {
            true => [words(&[&n, &(now + lease), &now, &NEVER, &"publish"]), ids.clone()].concat(),
            false => [words(&[&n, &(now + lease)]), ids.clone(), words(&[&now, &NEVER])].concat(),
        };
        let keys: [&[u8]; 3] = [b"k", b"{k}:timeout", b"redisson_sc:{k}"];
        let native = format!("SEM.ACQUIRE k o PERMITS {n} IDS PX {lease}");
        let replies = step(sides, natively, (self.acquire, &keys, &arguments), &native);
        // A client that must wait gets the time of the next expiry.
        let got = |reply: &Reply| got(reply) && !reply.as_bytes().is_some_and(|text| text.starts_with(b":"));
        assert_eq!(got(&replies[0]), got(&replies[1]), "{replies:?}");
        if got(&replies[0]) {
            let given = if natively { given(&replies[1]) } else { ids.clone() };
            self.out.extend(ids.into_iter().zip(given).map(|(one, other)| ([one, other], now + lease)));
        }
    }

    fn release(&mut self, sides: &mut [Side; 2], rng: &mut Rng) {
        // Redisson takes a permit back whose lease is over; a native release leaves it in its place.
        self.out.retain(|(_, end)| *end > self.now);
        if self.out.is_empty() {
            return;
        }
        let (ids, _) = self.out.remove(rng.below(self.out.len()));
        let arguments =
            |id: &Vec<u8>| [vec![id.clone()], words(&[&1, &self.now, &self.has.publish()])].concat();
        let keys: [&[u8]; 3] = [b"k", b"redisson_sc:{k}", b"{k}:timeout"];
        let expected = sides[0].eval(self.release, &keys, &arguments(&ids[0]));
        let digits: String = ids[1].iter().map(|byte| format!("{byte:02x}")).collect();
        let reply = match rng.chance(50) {
            true => sides[1].client.line(&format!("SEM.RELEASE k o ID {digits}")),
            false => sides[1].eval(self.release, &keys, &arguments(&ids[1])),
        };
        assert!(expected == Reply::Int(1) && !reply.is_error(), "{expected} {reply}");
    }

    fn step(&mut self, sides: &mut [Side; 2], rng: &mut Rng) -> &'static str {
        match rng.below(10) {
            0..=4 => {
                self.acquire(sides, rng);
                "acquire"
            }
            5..=7 => {
                self.release(sides, rng);
                "release"
            }
            _ => {
                let ms = rng.below(20) as i64;
                self.now += ms;
                sides[1].client.line(&format!("CLOCK.ADVANCE {ms}"));
                "time"
            }
        }
    }
}

#[test]
fn semaphores_of_permits_with_ids() {
    each_version(|has, scripts| {
        let acquire = script(scripts, &["zrangebyscore', KEYS[2], 0", "decrby', KEYS[1], ARGV[1]"], &[]);
        let release = script(scripts, &["zrem', KEYS[3], ARGV[1]", "incrby', KEYS[1], ARGV[2]"], &[]);
        let set = set_of_semaphore(scripts);
        for seed in 0..SEEDS {
            let (mut rng, mut sides) = (Rng::new(seed), Side::both(&["redisson_sc:{k}"]));
            let now = sides[1].client.line("CLOCK.FREEZE").as_int().expect("an instant");
            let keys: [&[u8]; 2] = [b"k", b"redisson_sc:{k}"];
            step(&mut sides, false, (set, &keys, &words(&[&4, &has.publish()])), "");
            let mut of_permits = OfPermits { acquire, release, has: *has, now, out: Vec::new() };
            for _ in 0..STEPS {
                let what = of_permits.step(&mut sides, &mut rng);
                check_same(&mut sides, &["k", "{k}:timeout"], 0, what);
            }
        }
    });
}

/// The end of a permit without a lease.
const NEVER: i64 = 922_337_203_685_477;

fn id(rng: &mut Rng) -> Vec<u8> {
    [rng.next_u64().to_be_bytes(), rng.next_u64().to_be_bytes()].concat()
}

/// The ids in the reply of SEM.ACQUIRE.
fn given(reply: &Reply) -> Vec<Vec<u8>> {
    let elements = reply.clone().into_elements().expect("a map");
    let ids = elements.last().expect("ids").clone().into_elements().expect("ids");
    let id = |id: &Reply| {
        let digits = std::str::from_utf8(id.as_bytes().expect("an id")).expect("digits").to_owned();
        (0..16).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("digits")).collect()
    };
    ids.iter().map(id).collect()
}

#[test]
fn latches() {
    each_version(|has, scripts| {
        let down = script(scripts, &["local v = redis.call('decr', KEYS[1]);"], &[]);
        let set = script(
            scripts,
            &["redis.call('exists', KEYS[1]) == 0 then redis.call('set', KEYS[1], ARGV[2])"],
            &[],
        );
        for seed in 0..SEEDS {
            let mut rng = Rng::new(seed);
            let channel = "redisson_countdownlatch__channel__{k}";
            let mut sides = Side::both(&[channel]);
            let keys: [&[u8]; 2] = [b"k", channel.as_bytes()];
            for _ in 0..STEPS {
                let (n, natively) = (1 + rng.below(4), rng.chance(50));
                let what = if rng.chance(30) {
                    let arguments = words(&[&1, &n, &has.publish()]);
                    let replies =
                        step(&mut sides, natively, (set, &keys, &arguments), &format!("LATCH.SET k {n} NX"));
                    assert_eq!(replies[0], replies[1]);
                    "set"
                } else {
                    step(
                        &mut sides,
                        natively,
                        (down, &keys, &words(&[&0, &has.publish()])),
                        "LATCH.COUNTDOWN k",
                    );
                    "countdown"
                };
                check_same(&mut sides, &["k"], 0, what);
            }
        }
    });
}

/// The keys of a limiter: its hash, and the permits left and given out, of all clients and of one.
const LIMITER: [&[u8]; 5] = [b"k", b"{k}:value", b"{k}:value:c", b"{k}:permits", b"{k}:permits:c"];

/// The scripts of `RRateLimiter`.
struct OfRates<'s> {
    acquire: &'s str,
    try_set: &'s str,
    set: &'s str,
    per_client: bool,
    now: i64,
    is_set: bool,
}

impl OfRates<'_> {
    fn client(&self) -> &'static str {
        if self.per_client { " CLIENT c" } else { "" }
    }

    fn set(&mut self, sides: &mut [Side; 2], rng: &mut Rng) {
        let (rate, interval, natively) = (4 + rng.below(3), 20 + rng.below(30), rng.chance(50));
        let arguments = words(&[&rate, &interval, &i32::from(self.per_client), &0]);
        // Before 3.24, only the counting keys were declared.
        let own = usize::from(self.per_client);
        let keys: &[&[u8]] = match self.set.contains("KEYS[4]") {
            true => &LIMITER,
            false => &[LIMITER[0], LIMITER[1 + own], LIMITER[3 + own]],
        };
        let native = format!("RATE.SET k {rate} {interval}{}", self.client());
        step(sides, natively, (self.set, keys, &arguments), &native);
        self.is_set = true;
    }

    fn try_set(&mut self, sides: &mut [Side; 2], rng: &mut Rng) {
        let (rate, interval, natively) = (4 + rng.below(3), 20 + rng.below(30), rng.chance(50));
        let arguments = words(&[&rate, &interval, &i32::from(self.per_client), &0]);
        let native = format!("RATE.SET k {rate} {interval} NX{}", self.client());
        let replies = step(sides, natively, (self.try_set, &LIMITER[..1], &arguments), &native);
        assert_eq!(replies[0], replies[1]);
        self.is_set = true;
    }

    fn acquire(&self, sides: &mut [Side; 2], rng: &mut Rng) {
        let (n, natively) = (1 + rng.below(4), rng.chance(50));
        let arguments = [words(&[&n, &self.now]), vec![id(rng)]].concat();
        let native = format!("RATE.ACQUIRE k {n}{}", self.client());
        let replies = step(sides, natively, (self.acquire, &LIMITER, &arguments), &native);
        // The script tells a refused client how long to wait.
        let refused = |reply: &Reply| match reply {
            Reply::Array(parts) => parts[0] == Reply::Int(0),
            other => *other != Reply::Null,
        };
        assert_eq!(refused(&replies[0]), refused(&replies[1]), "{replies:?}");
    }

    fn step(&mut self, sides: &mut [Side; 2], rng: &mut Rng) -> &'static str {
        match rng.below(20) {
            0 => {
                self.set(sides, rng);
                "set"
            }
            1 => {
                self.try_set(sides, rng);
                "try set"
            }
            2..=6 => {
                let ms = rng.below(15) as i64;
                self.now += ms;
                sides[1].client.line(&format!("CLOCK.ADVANCE {ms}"));
                "time"
            }
            _ => {
                if self.is_set {
                    self.acquire(sides, rng);
                }
                "acquire"
            }
        }
    }
}

#[test]
fn rate_limiters() {
    each_version(|has, scripts| {
        if !has.rate {
            return;
        }
        let acquire = script(scripts, &["zadd', permitsName, ARGV[2]"], &[]);
        let try_set = script(scripts, &["hsetnx', KEYS[1], 'rate'"], &[]);
        let set =
            script(scripts, &["hset', KEYS[1], 'rate', ARGV[1]", "'type', ARGV[3]"], &["oldType", "hsetnx"]);
        assert_eq!(try_set.contains("keepAliveTime"), has.keeps_alive);
        for (seed, per_client) in (0..SEEDS).flat_map(|seed| [(seed, false), (seed, true)]) {
            let (mut rng, mut sides) = (Rng::new(seed), Side::both(&[]));
            let now = sides[1].client.line("CLOCK.FREEZE").as_int().expect("an instant");
            let mut of_rates = OfRates { acquire, try_set, set, per_client, now, is_set: false };
            for _ in 0..STEPS {
                let what = of_rates.step(&mut sides, &mut rng);
                let keys = ["k", "{k}:value", "{k}:permits", "{k}:value:c", "{k}:permits:c"];
                check_same(&mut sides, &keys, 4, what);
            }
        }
    });
}

/// Whoever releases, native waiters are served in their order, once the script has ended.
#[test]
fn releases_by_redisson_serve_native_waiters() {
    each_version(|has, scripts| {
        let release = release_of_semaphore(scripts);
        let by_id = script(scripts, &["zrem', KEYS[3], ARGV[1]", "incrby', KEYS[1], ARGV[2]"], &[]);
        let down = script(scripts, &["local v = redis.call('decr', KEYS[1]);"], &[]);
        let server = ours::manual_server();
        let mut side = Side::new(Box::new(server.addr()), &[]);
        side.client.line("SEM.INIT k 0");
        let mut waiters: Vec<Client> = (0..4).map(|_| Client::connect(server.addr())).collect();
        for (n, waiter) in waiters.iter_mut().enumerate() {
            let ids = if n % 2 == 0 { "" } else { " IDS" };
            waiter.send_line(&format!("SEM.ACQUIRE k w{n} PERMITS {}{ids} BLOCK 0", n % 2 + 1));
            side.client.line(&format!("AWAIT.WAITERS k {}", n + 1));
        }
        for (n, waiter) in waiters.iter_mut().enumerate() {
            let arguments = words(&[&(n % 2 + 1), &has.publish()]);
            side.eval(release, &[b"k", b"redisson_sc:{k}"], &arguments);
            let reply = waiter.read_reply();
            assert!(reply.to_string().contains("\"left\", :0"), "{n}: {reply}");
            assert_eq!(side.client.line(&format!("AWAIT.WAITERS k {}", 3 - n)).to_string(), ":1");
            if n == 3 {
                let waiter = &mut waiters[0];
                waiter.send_line("SEM.ACQUIRE k z IDS BLOCK 0");
                side.client.line("AWAIT.WAITERS k 1");
                let now = side.client.line("CLOCK.FREEZE").as_int().expect("an instant");
                let arguments = [vec![given(&reply)[0].clone()], words(&[&1, &now, &has.publish()])].concat();
                side.eval(by_id, &[b"k", b"redisson_sc:{k}", b"{k}:timeout"], &arguments);
                assert_eq!(given(&waiter.read_reply()).len(), 1);
                break;
            }
        }
        side.client.line("LATCH.SET l 2");
        for (n, waiter) in waiters.iter_mut().enumerate() {
            waiter.send_line("LATCH.AWAIT l BLOCK 0");
            side.client.line(&format!("AWAIT.WAITERS l {}", n + 1));
        }
        for _ in 0..2 {
            let channel: &[u8] = b"redisson_countdownlatch__channel__{l}";
            side.eval(down, &[b"l", channel], &words(&[&0, &has.publish()]));
        }
        for waiter in &mut waiters {
            assert_eq!(waiter.read_reply().to_string(), r#"["state", "zero", "waited", :0]"#);
        }
    });
}

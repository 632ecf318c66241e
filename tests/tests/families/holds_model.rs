//! Grants and losses of locks against a model: owners take, delete, move and overwrite keys, and leases expire.

use lockwheel::Config;
use lockwheel_engine::core::Simulation;
use lockwheel_tests::rng::{Rng, seeds};
use std::collections::BTreeMap;

/// Random runs, and steps of each.
const SEEDS: u64 = 80;
const STEPS: usize = 400;
const KEYS: [&str; 2] = ["k", "l"];
/// Three owners as Redisson names them, and one whose holds are recognised only on a key that is a lock already.
const OWNERS: [&str; 4] = [
    "8743c9c0-0795-4907-87fd-6c719a6b4586:1",
    "8743c9c0-0795-4907-87fd-6c719a6b4586:2",
    "8743c9c0-0795-4907-87fd-6c719a6b4586:3:write",
    "plain",
];

/// The contents of a key: owners in order of arrival, each with its count and its grant, if the grant was recorded.
#[derive(Clone, Debug, Default)]
struct Held {
    is_text: bool,
    owners: Vec<(&'static str, i64, Option<u64>)>,
    deadline: Option<i64>,
}

#[derive(Debug, Default)]
struct Model {
    now_ms: i64,
    last_grant: u64,
    keys: BTreeMap<&'static str, Held>,
    losses: BTreeMap<(&'static str, &'static str), (&'static str, i64, u64)>,
}

impl Model {
    fn grant(&mut self, key: &'static str, owner: &'static str) -> u64 {
        self.last_grant += 1;
        self.losses.remove(&(key, owner));
        self.last_grant
    }

    fn end(&mut self, key: &'static str, owner: &'static str, grant: Option<u64>, cause: &'static str) {
        if let Some(grant) = grant.filter(|_| cause != "released") {
            self.losses.insert((key, owner), (cause, self.now_ms, grant));
        }
    }

    /// The key is deleted; `named` has given its hold back.
    fn gone(&mut self, key: &'static str, cause: &'static str, named: Option<&str>) -> Option<Held> {
        let held = self.keys.remove(key)?;
        for &(owner, _, grant) in &held.owners {
            self.end(key, owner, grant, if named == Some(owner) { "released" } else { cause });
        }
        Some(held)
    }

    fn hset(&mut self, key: &'static str, owner: &'static str) {
        let held = self.keys.entry(key).or_default();
        if held.is_text {
            return;
        }
        if let Some((_, count, _)) = held.owners.iter_mut().find(|(name, ..)| *name == owner) {
            *count = 1;
            return;
        }
        let is_lock = held.owners.iter().any(|(.., grant)| grant.is_some());
        let grant = (is_lock || owner != "plain").then(|| self.grant(key, owner));
        self.keys.entry(key).or_default().owners.push((owner, 1, grant));
    }

    fn hdel(&mut self, key: &'static str, owner: &'static str) {
        let Some(held) = self.keys.get_mut(key).filter(|held| !held.is_text) else { return };
        held.owners.retain(|(name, ..)| *name != owner);
        if held.owners.is_empty() {
            self.keys.remove(key);
        }
    }

    fn set(&mut self, key: &'static str, owner: &'static str, lock: bool) {
        if lock && self.keys.contains_key(key) {
            return;
        }
        let again =
            self.keys.get(key).filter(|held| held.is_text).and_then(|held| held.owners.first().copied());
        let grant = match again {
            Some((name, _, grant)) if name == owner => grant,
            _ => {
                self.gone(key, "overwritten", None);
                lock.then(|| self.grant(key, owner))
            }
        };
        let deadline = lock.then_some(self.now_ms + 50);
        self.keys.insert(key, Held { is_text: true, owners: vec![(owner, 1, grant)], deadline });
    }

    fn acquire(&mut self, key: &'static str, owner: &'static str) {
        let free = !self.keys.contains_key(key);
        let mine = self
            .keys
            .get(key)
            .and_then(|held| held.owners.iter().find(|(name, ..)| *name == owner && !held.is_text).copied());
        if owner.ends_with(":write") || (!free && mine.is_none()) {
            return;
        }
        let grant = mine.and_then(|(.., grant)| grant).unwrap_or_else(|| self.grant(key, owner));
        let deadline = Some(self.now_ms + 70);
        let held = self.keys.entry(key).or_default();
        held.deadline = deadline;
        match held.owners.iter_mut().find(|(name, ..)| *name == owner) {
            Some(entry) => *entry = (owner, entry.1 + 1, Some(grant)),
            None => held.owners.push((owner, 1, Some(grant))),
        }
    }

    fn rename(&mut self, from: &'static str, to: &'static str) {
        if from == to || !self.keys.contains_key(from) {
            return;
        }
        let moved = self.gone(from, "deleted", None);
        self.gone(to, "overwritten", None);
        let Some(mut held) = moved else { return };
        for (owner, _, grant) in held.owners.iter_mut().filter(|(.., grant)| grant.is_some()) {
            *grant = Some(self.grant(to, owner));
        }
        self.keys.insert(to, held);
    }

    fn advance(&mut self, ms: i64) {
        let target = self.now_ms + ms;
        let due = |held: &Held| held.deadline.filter(|&deadline| deadline <= target);
        let mut gone: Vec<_> = self.keys.iter().filter_map(|(&key, held)| Some((due(held)?, key))).collect();
        gone.sort_unstable();
        for (at, key) in gone {
            self.now_ms = at;
            self.gone(key, "expired", None);
        }
        self.now_ms = target;
    }
}

struct Real {
    server: Simulation,
    client: u64,
}

impl Real {
    fn new() -> Self {
        let mut server = Simulation::new(Config::default(), 7);
        let client = server.connect();
        let mut real = Real { server, client };
        real.ask("CLOCK.FREEZE");
        real.ask("CLOCK.SET 0");
        real
    }

    fn ask(&mut self, line: &str) -> String {
        self.server.ask(self.client, line)
    }
}

const FORCE: &str = "redis.call('del',KEYS[1])";

fn step(real: &mut Real, model: &mut Model, rng: &mut Rng) -> String {
    let (key, owner) = (*rng.pick(&KEYS), *rng.pick(&OWNERS));
    let line = match rng.below(16) {
        0..4 => {
            model.hset(key, owner);
            format!("HSET {key} {owner} 1")
        }
        4 | 5 => {
            model.hdel(key, owner);
            format!("HDEL {key} {owner}")
        }
        6..9 => {
            model.acquire(key, owner);
            format!("LOCK.ACQUIRE {key} {owner} PX 70")
        }
        9 => {
            model.set(key, owner, true);
            format!("SET {key} {owner} NX PX 50")
        }
        10 => {
            model.set(key, owner, false);
            format!("SET {key} {owner}")
        }
        11 => {
            let other = *rng.pick(&KEYS);
            model.rename(key, other);
            format!("RENAME {key} {other}")
        }
        12 => {
            model.gone(key, "forced", Some(owner));
            format!("EVAL \"{FORCE}\" 1 {key} {owner}")
        }
        13 => {
            model.gone(key, "deleted", None);
            format!("DEL {key}")
        }
        14 => {
            let ms = rng.below(40);
            model.advance(ms as i64);
            format!("CLOCK.ADVANCE {ms}")
        }
        _ if rng.chance(20) => {
            KEYS.iter().for_each(|key| drop(model.gone(key, "deleted", None)));
            "FLUSHALL".to_owned()
        }
        _ => "PING".to_owned(),
    };
    real.ask(&line);
    line
}

/// The grant of an owner as LOCK.INFO shows it. `None` if the owner is not shown.
fn shown(info: &str, owner: &str) -> Option<Option<u64>> {
    let lines: Vec<&str> = info.split("\r\n").collect();
    let at = lines.iter().position(|line| *line == owner)?;
    let at = at + lines[at..].iter().position(|line| *line == "grant")?;
    Some(lines[at + 1].strip_prefix(':').map(|number| number.parse().expect("a number")))
}

/// Requires that the grants match the model, and that each former holder is notified of its loss.
fn check(real: &mut Real, model: &Model, what: &str) {
    for key in KEYS {
        let info = real.ask(&format!("LOCK.INFO {key}"));
        let held = model.keys.get(key).cloned().unwrap_or_default();
        let current = held.owners.iter().filter_map(|(.., grant)| *grant).max();
        for owner in OWNERS {
            let expected = held.owners.iter().find(|(name, ..)| *name == owner).map(|(.., grant)| *grant);
            assert_eq!(shown(&info, owner), expected, "{what}: {key} {owner}: {model:?}");
            if owner.ends_with(":write") || expected.is_some() {
                continue;
            }
            let told = real.ask(&format!("LOCK.RELEASE {key} {owner}"));
            let expected = match model.losses.get(&(key, owner)) {
                Some((cause, at, grant)) => {
                    let current = current.map_or("none".to_owned(), |grant| grant.to_string());
                    format!(
                        "-LOCKLOST this owner lost the lock: grant {grant} ended ({cause}) at {at}, \
                         current grant {current}"
                    )
                }
                None if held.is_text && current.is_none() => "-WRONGTYPE".to_owned(),
                None => "-NOTHELD".to_owned(),
            };
            assert!(told.starts_with(&expected), "{what}: {key} {owner}: {told} {expected} {model:?}");
        }
    }
}

#[test]
fn grants_and_losses_match_a_model() {
    for seed in seeds(SEEDS) {
        let (mut real, mut model, mut rng) = (Real::new(), Model::default(), Rng::new(seed));
        for n in 0..STEPS {
            let line = step(&mut real, &mut model, &mut rng);
            check(&mut real, &model, &format!("seed {seed}, step {n}, {line}"));
        }
    }
}

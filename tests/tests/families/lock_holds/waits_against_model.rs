//! Locks of several keys against a model: all or none, in order, and a deadlock exactly where waits close a cycle.

use super::model_of_waits::{Answer, Edge, Model, Request};
use lockwheel_tests::rng::{Rng, seeds};
use lockwheel_tests::simulated::{Simulated, number};
use std::collections::BTreeSet;

const SEEDS: u64 = 80;
const STEPS: usize = 1_200;
const CLIENTS: usize = 6;
const OWNERS: [&str; 5] = ["v", "w", "x", "y", "z"];
const KEYS: [&str; 4] = ["a", "b", "c", "d"];

/// The number of requests refused for a deadlock, for one lock and for several, and the length of the longest cycle.
#[derive(Debug, Default)]
struct Seen {
    deadlocks: [usize; 2],
    longest: usize,
}

/// The tokens of one server, as far as a client was told of them.
#[derive(Debug, Default)]
struct Tokens(BTreeSet<i64>);

impl Tokens {
    /// Checks the tokens that are told now: they belong to continuing holds, or exceed all earlier ones.
    #[track_caller]
    fn record(&mut self, now: &[i64]) {
        let last = self.0.last().copied().unwrap_or(0);
        assert!(now.iter().all(|token| *token > last || self.0.contains(token)), "{now:?} after {last}");
        self.0.extend(now);
    }
}

/// Generates an owner's request.
fn request(rng: &mut Rng) -> Request {
    let together = rng.chance(40);
    let mut keys = KEYS.to_vec();
    rng.shuffle(&mut keys);
    keys.truncate(if together { 1 + rng.below(3) } else { 1 });
    let (lease_ms, priority) = (1 + rng.below(90) as i64, rng.below(3) as i64 - 1);
    let owner = *rng.pick(&OWNERS);
    Request { owner, keys, together, lease_ms, priority }
}

/// The line of the request.
fn line(Request { owner, keys, together, lease_ms, priority }: &Request) -> String {
    let (keys, count) = (keys.join(" "), keys.len());
    let head =
        if *together { format!("LOCK.MACQUIRE {count} {keys}") } else { format!("LOCK.ACQUIRE {keys}") };
    format!("{head} {owner} PX {lease_ms} PRIORITY {priority}")
}

/// Sends a request of a client, if it does not wait. An owner waits for one request at a time.
fn ask(real: &mut Simulated, model: &mut Model, rng: &mut Rng, seen: &mut Seen) {
    let (client, request) = (rng.below(CLIENTS), request(rng));
    let wait_ms = (!model.owner_waits(request.owner) && rng.chance(85)).then(|| 1 + rng.below(90) as i64);
    if model.is_waiting(client) {
        return;
    }
    let block = wait_ms.map_or_else(String::new, |ms| format!(" BLOCK {ms}"));
    real.send(client, &format!("{}{block}", line(&request)));
    let edges = model.edges_with(&request);
    let told = match model.ask(client, request.clone(), wait_ms) {
        Answer::Granted(told) => told,
        Answer::Waits => return,
        Answer::Nothing => "nothing".into(),
        Answer::Deadlock(steps) => {
            let told = real.reply_to(client, |lines| lines[0].to_owned());
            assert_eq!(cycle(&told, request.owner, &edges), steps, "{told}: {request:?} {model:#?}");
            seen.deadlocks[usize::from(request.together)] += 1;
            seen.longest = seen.longest.max(steps);
            return;
        }
    };
    model.told.insert(client, told);
}

/// Returns the number of waits on the cycle that an error names. Each must be one that the request would create.
fn cycle(error: &str, owner: &str, edges: &BTreeSet<Edge>) -> usize {
    let names: Vec<&str> =
        error.strip_prefix("-DEADLOCK ").expect("it is a deadlock").split(" -> ").collect();
    assert!(names.first() == Some(&owner) && names.last() == Some(&owner), "{error}");
    for way in names.windows(3).step_by(2) {
        assert!(
            edges.iter().any(|(from, key, to)| [*from, *key, *to] == *way),
            "{error}: {way:?} of {edges:?}"
        );
    }
    names.len() / 2
}

fn release(real: &mut Simulated, model: &mut Model, rng: &mut Rng) {
    let Request { owner, keys, together, .. } = request(rng);
    let all = !together && rng.chance(30);
    let answer = match together {
        true => real.ask(&format!("LOCK.MRELEASE {} {} {owner}", keys.len(), keys.join(" "))),
        false => real.ask(&format!("LOCK.RELEASE {} {owner}{}", keys[0], if all { " ALL" } else { "" })),
    };
    match model.release(&keys, owner, all) {
        None => assert!(answer.starts_with("-NOTHELD") || answer.starts_with("-LOCKLOST"), "{answer}"),
        Some(left) => {
            let left: String = left.iter().map(|left| format!(":{left}\r\n")).collect();
            let head = if together { format!("*{}\r\n", keys.len()) } else { String::new() };
            assert_eq!(answer, head + &left);
        }
    }
}

/// Changes locks from outside, or leases.
fn change(real: &mut Simulated, model: &mut Model, rng: &mut Rng, tokens: &mut Tokens) {
    let (key, owner, to) = (*rng.pick(&KEYS), *rng.pick(&OWNERS), *rng.pick(&OWNERS));
    match rng.below(8) {
        0 => {
            real.ask("FLUSHALL");
            model.delete(|_| true);
        }
        1 => {
            real.ask(&format!("RENAME {key} other"));
            model.delete(|lock| lock == key);
        }
        2 | 3 => {
            real.ask(&format!("DEL {key}"));
            model.delete(|lock| lock == key);
        }
        4 => {
            let answer = real.ask(&format!("LOCK.TRANSFER {key} {owner} {to}"));
            let token = answer.strip_prefix(':').map(|token| token.trim_end().parse().expect("a token"));
            assert_eq!(token.is_some(), model.transfer(key, owner, to), "{answer}");
            tokens.record(token.as_slice());
        }
        _ => {
            let (lease_ms, longer) = (1 + rng.below(90) as i64, rng.chance(50));
            let longer_word = if longer { " GT" } else { "" };
            let answer = real.ask(&format!("LOCK.RENEW 1 {key} {owner} PX {lease_ms}{longer_word}"));
            let renewed = model.renew(key, owner, lease_ms, longer);
            assert_eq!(answer, format!("*1\r\n:{}\r\n", i64::from(renewed)));
        }
    }
}

fn step(real: &mut Simulated, model: &mut Model, rng: &mut Rng, seen: &mut Seen, tokens: &mut Tokens) {
    let client = rng.below(CLIENTS);
    match rng.below(20) {
        0..9 => ask(real, model, rng, seen),
        9..12 => release(real, model, rng),
        12 => {
            real.unblock(client);
            model.leave("unblocked", |waits, _| waits == client);
        }
        13 => {
            real.replace(client);
            model.leave("gone", |waits, _| waits == client);
            model.told.remove(&client);
        }
        14 => {
            let (key, owner) = (*rng.pick(&KEYS), *rng.pick(&OWNERS));
            let answer = real.ask(&format!("LOCK.CANCEL {key} {owner}"));
            let left = model.leave("unblocked", |_, of| of.owner == owner && of.keys.contains(&key));
            assert_eq!(answer, format!(":{left}\r\n"));
        }
        15 | 16 => change(real, model, rng, tokens),
        _ => {
            let ms = rng.below(40) as i64;
            real.ask(&format!("CLOCK.ADVANCE {ms}"));
            model.advance(ms);
        }
    }
}

/// Returns a client's replies in the model's words, and collects its tokens.
fn reply_and_tokens(real: &mut Simulated, client: usize, tokens: &mut Vec<i64>) -> String {
    real.reply_to(client, |lines| match lines[0] {
        // A lock that the client was given, or has lost, has closed a cycle.
        error if error.starts_with("-DEADLOCK ") => {
            format!("deadlock of {}", error.split(" -> ").count() / 2)
        }
        error if error.starts_with('-') => error.into(),
        _ if lines.contains(&"tokens") => {
            let at = lines.iter().position(|line| *line == "tokens").expect("there are tokens") + 1;
            let count: usize = lines[at][1..].parse().expect("so many");
            tokens.extend(
                lines[at + 1..=at + count].iter().map(|token| token[1..].parse::<i64>().expect("one")),
            );
            format!("granted {count} waited {}", number(lines, "waited"))
        }
        _ => {
            tokens.push(number(lines, "token"));
            let [holds, ttl, waited] = ["holds", "ttl", "waited"].map(|name| number(lines, name));
            format!("granted holds {holds} for {ttl} waited {waited}")
        }
    })
}

/// Each lock's owner, count and remaining lease, and each current token.
fn shown(real: &mut Simulated) -> Vec<(String, String, i64)> {
    let mut shown = Vec::new();
    for key in KEYS {
        let all = real.ask(&format!("HGETALL {key}"));
        let words: Vec<&str> = all.split("\r\n").skip(2).step_by(2).collect();
        if let [owner, count, ..] = words[..] {
            let left = real.ask(&format!("PTTL {key}"))[1..].trim_end().parse().expect("an integer");
            shown.push((key.to_owned(), format!("{owner} {count}"), left));
        }
    }
    shown
}

#[test]
fn waits_for_several_locks_and_deadlocks_match_a_model() {
    let mut seen = Seen::default();
    for seed in seeds(SEEDS) {
        let (mut real, mut model, mut rng) = (Simulated::new(CLIENTS), Model::default(), Rng::new(seed));
        let mut tokens = Tokens::default();
        for n in 0..STEPS {
            step(&mut real, &mut model, &mut rng, &mut seen, &mut tokens);
            let mut now = Vec::new();
            for client in 0..CLIENTS {
                let expected = model.told.remove(&client).unwrap_or_default();
                let told = reply_and_tokens(&mut real, client, &mut now);
                assert_eq!(told, expected, "seed {seed}, step {n}, client {client}: {model:#?}");
            }
            tokens.record(&now);
            assert_eq!(shown(&mut real), model.shown(), "seed {seed}, step {n}: {model:#?}");
        }
    }
    eprintln!("{seen:?}");
    // Cycles longer than two occur, too.
    let enough = seen.deadlocks.iter().all(|count| *count > 100) && seen.longest > 2;
    assert!(enough || std::env::var_os("LOCKWHEEL_SEED").is_some(), "{seen:?}");
}

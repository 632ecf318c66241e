//! Read-write locks against a model: shared batches, priorities, conversions, leases and cancelled waits.

use super::model::{Mode, Model, Wanted};
use lockwheel_tests::rng::{Rng, seeds};
use lockwheel_tests::simulated::{Simulated, number};
use std::collections::BTreeMap;

const SEEDS: u64 = 80;
const STEPS: usize = 1_500;
/// Clients that wait, and the names under which they wait: fewer, so that several have the same.
const CLIENTS: usize = 7;
const OWNERS: [&str; 4] = ["w", "x", "y", "z"];
const MODES: [Mode; 2] = [Mode::Shared, Mode::Exclusive];

fn word(mode: Mode) -> &'static str {
    match mode {
        Mode::Shared => "SHARED",
        Mode::Exclusive => "EXCLUSIVE",
    }
}

/// Sends a request of a client, if the model says that it is not waiting.
fn ask(real: &mut Simulated, model: &mut Model, rng: &mut Rng, waiting: &[bool]) {
    let (client, owner, wait_ms) = (rng.below(CLIENTS), *rng.pick(&OWNERS), 1 + rng.below(60) as i64);
    let (mode, lease_ms, priority) = (*rng.pick(&MODES), 1 + rng.below(60) as i64, rng.below(3) as i64 - 1);
    if waiting[client] {
        return;
    }
    let (wanted, line) = if rng.chance(75) {
        let line = format!("LOCK.ACQUIRE l {owner} {} PX {lease_ms} PRIORITY {priority}", word(mode));
        (Wanted::Hold(mode, lease_ms), line)
    } else {
        let lease_ms = rng.chance(50).then_some(lease_ms);
        let lease = lease_ms.map_or_else(String::new, |ms| format!(" PX {ms}"));
        (Wanted::Conversion(mode, lease_ms), format!("LOCK.CONVERT l {owner} {}{lease}", word(mode)))
    };
    real.send(client, &format!("{line} BLOCK {wait_ms}"));
    model.ask(client, (owner, wanted), priority, wait_ms);
}

fn release(real: &mut Simulated, model: &mut Model, rng: &mut Rng) {
    let (owner, mode, all) =
        (*rng.pick(&OWNERS), *rng.pick(&[None, Some(MODES[0]), Some(MODES[1])]), rng.chance(30));
    let words = [mode.map_or("", word), if all { "ALL" } else { "" }];
    let answer = real.ask(&format!("LOCK.RELEASE l {owner} {} {}", words[0], words[1]));
    match model.release(owner, mode, all) {
        Some(left) => assert_eq!(answer, format!(":{left}\r\n")),
        None => assert!(
            ["-NOTHELD", "-LOCKLOST", "-LOCKMODE"].iter().any(|error| answer.starts_with(error)),
            "{answer}"
        ),
    }
}

fn step(real: &mut Simulated, model: &mut Model, rng: &mut Rng, waiting: &[bool]) {
    let (client, owner) = (rng.below(CLIENTS), *rng.pick(&OWNERS));
    match rng.below(20) {
        0..9 => ask(real, model, rng, waiting),
        9..13 => release(real, model, rng),
        13 => {
            real.unblock(client);
            model.leave("unblocked", |waits, _| waits == client);
        }
        14 => {
            real.replace(client);
            model.leave("gone", |waits, _| waits == client);
            model.told.remove(&client);
        }
        15 => {
            let answer = real.ask(&format!("LOCK.CANCEL l {owner}"));
            let left = model.leave("unblocked", |_, waits| waits == owner);
            assert_eq!(answer, format!(":{left}\r\n"));
        }
        16 => {
            let (lease_ms, longer) = (1 + rng.below(60) as i64, rng.chance(50));
            let answer =
                real.ask(&format!("LOCK.RENEW 1 l {owner} PX {lease_ms}{}", if longer { " GT" } else { "" }));
            assert_eq!(answer, format!("*1\r\n:{}\r\n", i64::from(model.renew(owner, lease_ms, longer))));
        }
        17 if rng.chance(30) => {
            let all = rng.chance(50);
            real.ask(if all { "FLUSHALL" } else { "DEL l" });
            model.delete(all);
        }
        _ => {
            let ms = rng.below(40) as i64;
            real.ask(&format!("CLOCK.ADVANCE {ms}"));
            model.advance(ms);
        }
    }
}

/// Returns the reply to a waiter, in the model's words. Empty while it waits.
fn reply_in_model_words(real: &mut Simulated, client: usize) -> String {
    real.reply_to(client, |lines| match lines[0] {
        error if error.starts_with("-DEADLOCK") => "deadlock".into(),
        error if error.starts_with("-NOTHELD") || error.starts_with("-LOCKLOST") => "not held".into(),
        error if error.starts_with('-') => error.into(),
        _ => {
            let [token, holds, ttl, waited] =
                ["token", "holds", "ttl", "waited"].map(|name| number(lines, name));
            format!("granted {token} {holds} {ttl} {waited}")
        }
    })
}

/// The fields of the lock, its remaining lease, and the number of keys.
fn shown(real: &mut Simulated) -> (BTreeMap<String, String>, i64, usize) {
    let all = real.ask("HGETALL l");
    let words: Vec<&str> = all.split("\r\n").skip(1).skip(1).step_by(2).collect();
    let fields = words.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect();
    let [left, keys] =
        ["PTTL l", "DBSIZE"].map(|line| real.ask(line)[1..].trim_end().parse().expect("an integer"));
    (fields, left, keys as usize)
}

#[test]
fn readers_and_writers_are_served_as_by_a_model() {
    for seed in seeds(SEEDS) {
        let (mut real, mut model, mut rng) = (Simulated::new(CLIENTS), Model::default(), Rng::new(seed));
        for n in 0..STEPS {
            let waiting: Vec<bool> = (0..CLIENTS).map(|client| model.is_waiting(client)).collect();
            step(&mut real, &mut model, &mut rng, &waiting);
            for client in 0..CLIENTS {
                let expected = model.told.remove(&client).unwrap_or_default();
                assert_eq!(
                    reply_in_model_words(&mut real, client),
                    expected,
                    "seed {seed}, step {n}, client {client}: {model:#?}"
                );
            }
            assert_eq!(shown(&mut real), model.shown(), "seed {seed}, step {n}: {model:#?}");
        }
    }
}

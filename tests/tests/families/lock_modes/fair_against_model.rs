//! Fair locks against a model: native waiters and threads of Redisson, by its own scripts, in one queue.

use super::fair::{ask, give_back, give_up};
use super::fair_model::Model;
use super::interop::{OWNERS, Scripts};
use lockwheel_tests::rng::{Rng, seeds};
use lockwheel_tests::simulated::{Simulated, number};

const SEEDS: u64 = 60;
/// The number is so small that no time in Redisson's queue ends before the run does.
const STEPS: usize = 250;
const CLIENTS: usize = 5;
const NATIVE: [&str; 4] = ["w", "x", "y", "z"];
const BEGIN_MS: i64 = 5_000_000;
/// The lease that Redisson's scripts request.
const LEASE_MS: i64 = 30_000;

/// Sends a native client's request, if it does not wait.
fn ask_natively(real: &mut Simulated, model: &mut Model, rng: &mut Rng) {
    let (client, owner, lease_ms) = (rng.below(CLIENTS), *rng.pick(&NATIVE), 1 + rng.below(60) as i64);
    let wait_ms = (!model.owner_waits(owner) && rng.chance(85)).then(|| 1 + rng.below(90) as i64);
    if model.is_waiting(client) {
        return;
    }
    let block = wait_ms.map_or_else(String::new, |ms| format!(" BLOCK {ms}"));
    real.send(client, &format!("LOCK.ACQUIRE l {owner} FAIR PX {lease_ms}{block}"));
    model.ask(client, owner, lease_ms, wait_ms);
}

/// A thread of Redisson requests, releases, or gives up.
fn as_redisson(real: &mut Simulated, model: &mut Model, rng: &mut Rng, scripts: &Scripts) {
    let (owner, clock_ms) = (*rng.pick(&OWNERS), BEGIN_MS + model.now_ms);
    match rng.below(5) {
        0..3 => {
            let answer = real.ask(&ask(scripts, owner, clock_ms));
            let granted = model.ask_as_redisson(owner, LEASE_MS);
            assert_eq!(answer == "$-1\r\n", granted, "{answer}");
        }
        3 => {
            let answer = real.ask(&give_back(scripts, owner, clock_ms));
            real.ask("DEL latch");
            // The answer says whether the lock is free.
            let was_free = model.shown().is_none();
            let expected = match model.release(owner, false, Some(LEASE_MS)) {
                None if was_free => ":1\r\n".to_owned(),
                None => "$-1\r\n".to_owned(),
                Some(left) => format!(":{}\r\n", i64::from(left == 0)),
            };
            assert_eq!(answer, expected);
        }
        _ => {
            real.ask(&give_up(scripts, owner));
            model.give_up(owner);
        }
    }
}

/// An action of another client on the lock or on its waiters.
fn from_outside(real: &mut Simulated, model: &mut Model, rng: &mut Rng) {
    let (client, owner, to) = (rng.below(CLIENTS), *rng.pick(&NATIVE), *rng.pick(&NATIVE));
    match rng.below(7) {
        0 => {
            real.unblock(client);
            model.leave("unblocked", |waits, _| waits == client);
        }
        1 => {
            real.replace(client);
            model.leave("gone", |waits, _| waits == client);
            model.told.remove(&client);
        }
        2 => {
            let answer = real.ask(&format!("LOCK.CANCEL l {owner}"));
            let left = model.leave("unblocked", |_, waits| waits == owner);
            assert_eq!(answer, format!(":{left}\r\n"));
        }
        3 => {
            let answer = real.ask(&format!("LOCK.TRANSFER l {owner} {to}"));
            assert_eq!(answer.starts_with(':'), model.transfer(owner, to), "{answer}");
        }
        4 => {
            real.ask("DEL l");
            model.delete(true, false);
        }
        5 if rng.chance(30) => {
            real.ask("FLUSHALL");
            model.delete(true, true);
        }
        _ if rng.chance(20) => {
            real.ask("DEL redisson_lock_queue:{l} redisson_lock_timeout:{l}");
            model.delete(false, true);
        }
        _ => {}
    }
}

fn release(real: &mut Simulated, model: &mut Model, rng: &mut Rng) {
    let (owner, all) = (*rng.pick(&NATIVE), rng.chance(30));
    let answer = real.ask(&format!("LOCK.RELEASE l {owner}{}", if all { " ALL" } else { "" }));
    match model.release(owner, all, None) {
        Some(left) => assert_eq!(answer, format!(":{left}\r\n")),
        None => assert!(answer.starts_with("-NOTHELD") || answer.starts_with("-LOCKLOST"), "{answer}"),
    }
}

/// The holder with its count, and the remaining lease.
fn shown(real: &mut Simulated) -> Option<(String, i64)> {
    let all = real.ask("HGETALL l");
    let words: Vec<&str> = all.split("\r\n").skip(2).step_by(2).collect();
    let [owner, count, ..] = words[..] else { return None };
    let left = real.ask("PTTL l")[1..].trim_end().parse().expect("an integer");
    Some((format!("{owner} {count}"), left))
}

/// Redisson's list is the queue, and exactly its members have a time.
#[track_caller]
fn check_queue(real: &mut Simulated, model: &Model, what: &str) {
    let list = real.ask("LRANGE redisson_lock_queue:{l} 0 -1");
    let list: Vec<&str> = list.split("\r\n").skip(2).step_by(2).collect();
    if model.list_was_lost {
        assert!(list.iter().all(|owner| model.queue().contains(owner)), "{what}: {list:?}");
    } else {
        assert_eq!(list, model.queue(), "{what}: {model:#?}");
    }
    assert_eq!(real.ask("ZCARD redisson_lock_timeout:{l}"), format!(":{}\r\n", list.len()), "{what}");
}

#[test]
fn waiters_for_a_fair_lock_are_served_as_by_a_model() {
    for version in ["3.17.0", "4.7.0"] {
        let Some(scripts) = Scripts::of(version) else { return };
        for seed in seeds(SEEDS) {
            let (mut real, mut model, mut rng) = (Simulated::new(CLIENTS), Model::default(), Rng::new(seed));
            real.ask(&format!("CLOCK.SET {BEGIN_MS}"));
            for n in 0..STEPS {
                match rng.below(20) {
                    0..7 => ask_natively(&mut real, &mut model, &mut rng),
                    7..11 => as_redisson(&mut real, &mut model, &mut rng, &scripts),
                    11..14 => release(&mut real, &mut model, &mut rng),
                    14..16 => from_outside(&mut real, &mut model, &mut rng),
                    _ => {
                        let ms = rng.below(40) as i64;
                        real.ask(&format!("CLOCK.ADVANCE {ms}"));
                        model.advance(ms);
                    }
                }
                let what = format!("Redisson {version}, seed {seed}, step {n}");
                for client in 0..CLIENTS {
                    let expected = model.told.remove(&client).unwrap_or_default();
                    let told = real.reply_to(client, |lines| match lines[0] {
                        error if error.starts_with('-') => error.into(),
                        _ => {
                            let [holds, ttl, waited] =
                                ["holds", "ttl", "waited"].map(|name| number(lines, name));
                            format!("granted {holds} {ttl} {waited}")
                        }
                    });
                    assert_eq!(told, expected, "{what}, client {client}: {model:#?}");
                }
                assert_eq!(shown(&mut real), model.shown(), "{what}: {model:#?}");
                check_queue(&mut real, &model, &what);
            }
        }
    }
}

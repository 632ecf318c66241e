//! `LOCK.MACQUIRE` compared with Redisson's MultiLock. A MultiLock takes its members one after the other by the scripts
//! of RLock, and releases them if it does not get all.

use crate::lock_modes::interop::{Act, OWNERS, Scripts, World};
use lockwheel_tests::rng::Rng;

const VERSIONS: [&str; 4] = ["3.6.5", "3.17.0", "3.24.3", "4.7.0"];
const SEEDS: u64 = 12;
const STEPS: usize = 120;

/// An owner's action on some of the keys, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Take,
    GiveBack,
}

/// The keys of a step.
const SOME: [&[&str]; 5] = [&["a", "b"], &["b", "a"], &["c", "a", "b"], &["a"], &["b"]];

/// The request of a client of Redisson for one key.
fn member(scripts: &Scripts, act: Act, key: &str, owner: &str) -> String {
    let request = scripts.request(act, owner);
    let (text, words) = request.rsplit_once('"').expect("the text of a script is quoted");
    format!("{text}\"{}", words.replace(" l ", &format!(" {key} ")).replace("{l}", &format!("{{{key}}}")))
}

/// Performs the step as RedissonMultiLock does. Returns whether it has got all locks, or has released all for the last
/// time.
fn by_script(world: &mut World, scripts: &Scripts, step: Step, keys: &[&str], owner: &str) -> bool {
    let act = if step == Step::Take { Act::Lock } else { Act::Unlock };
    let mut replies = Vec::new();
    for (n, key) in keys.iter().enumerate() {
        let reply = world.ask(&member(scripts, act, key, owner));
        forget_latch(world, key);
        if step == Step::Take && reply != "$-1\r\n" {
            for taken in &keys[..n] {
                world.ask(&member(scripts, Act::Unlock, taken, owner));
                forget_latch(world, taken);
            }
            return false;
        }
        replies.push(reply);
    }
    step == Step::Take || replies.iter().all(|reply| reply == ":1\r\n")
}

/// A client's latch for the answer of one unlock; the client deletes it afterwards.
fn forget_latch(world: &mut World, key: &str) {
    world.ask(&format!("DEL redisson_unlock_latch:{{{key}}}:1"));
}

/// Performs the step natively.
fn natively(world: &mut World, step: Step, keys: &[&str], owner: &str) -> bool {
    let (count, names) = (keys.len(), keys.join(" "));
    let reply = match step {
        Step::Take => world.ask(&format!("LOCK.MACQUIRE {count} {names} {owner}")),
        Step::GiveBack => world.ask(&format!("LOCK.MRELEASE {count} {names} {owner}")),
    };
    assert!(!reply.starts_with('-'), "{step:?} {names}: {reply}");
    match step {
        Step::Take => reply.contains("token"),
        Step::GiveBack => keys.iter().all(|key| !holds(world, key, owner)),
    }
}

fn holds(world: &mut World, key: &str, owner: &str) -> bool {
    world.ask(&format!("HEXISTS {key} {owner}")) == ":1\r\n"
}

/// Three servers perform the same steps: one by scripts, one natively, one by a random choice of both. Keys and
/// outcomes are equal after each step, and so are the messages, except those of a roll-back, which only Redisson has.
#[test]
fn several_locks_are_the_same_by_multi_lock_and_natively() {
    for version in VERSIONS {
        let Some(scripts) = Scripts::of(version) else { return };
        let mut refused = 0;
        for seed in 0..SEEDS {
            let mut rng = Rng::new(seed);
            let mut worlds = [World::new(), World::new(), World::new()];
            for n in 0..STEPS {
                let step = *rng.pick(&[Step::Take, Step::GiveBack]);
                let (keys, owner) = (*rng.pick(&SOME), *rng.pick(&OWNERS));
                if step == Step::GiveBack && !keys.iter().all(|key| holds(&mut worlds[0], key, owner)) {
                    continue;
                }
                let chance = rng.chance(50);
                let [script, native, mixed] = &mut worlds;
                let told = [
                    by_script(script, &scripts, step, keys, owner),
                    natively(native, step, keys, owner),
                    match chance {
                        true => natively(mixed, step, keys, owner),
                        false => by_script(mixed, &scripts, step, keys, owner),
                    },
                ];
                let what = format!("{version}, seed {seed}, step {n}: {step:?} {keys:?} {owner}");
                assert_eq!(told, [told[0]; 3], "{what}");
                let [script, natively, mixed] = worlds.each_mut().map(World::state);
                assert_eq!(natively, script, "{what}, natively");
                assert_eq!(mixed, script, "{what}, mixed");
                let [script, natively, _] = worlds.each_mut().map(World::take_messages);
                if step == Step::GiveBack {
                    assert_eq!(natively, script, "{what}, messages");
                } else {
                    assert_eq!(natively, [] as [String; 0], "{what}, messages");
                }
                refused += usize::from(step == Step::Take && !told[0]);
            }
        }
        assert!(refused > 100, "{version}: {refused} roll-backs");
    }
}

/// The native waiter holds nothing while it waits, until a script releases the last member.
#[test]
fn a_native_waiter_gets_the_locks_once_multi_lock_releases_all() {
    for version in VERSIONS {
        let Some(scripts) = Scripts::of(version) else { return };
        let mut world = World::new();
        assert!(by_script(&mut world, &scripts, Step::Take, &["a", "b"], OWNERS[0]), "{version}");
        let waiter = world.server.connect();
        world.server.send(waiter, "LOCK.MACQUIRE 3 c b a native BLOCK 0");
        assert_eq!(world.ask("EXISTS c"), ":0\r\n", "{version}");
        assert!(by_script(&mut world, &scripts, Step::GiveBack, &["a"], OWNERS[0]), "{version}");
        assert_eq!(world.server.read(waiter), "", "{version}");
        // A single member may have another owner meanwhile.
        assert!(by_script(&mut world, &scripts, Step::Take, &["a"], OWNERS[1]), "{version}");
        assert!(by_script(&mut world, &scripts, Step::GiveBack, &["b"], OWNERS[0]), "{version}");
        assert_eq!(world.server.read(waiter), "", "{version}");
        assert!(by_script(&mut world, &scripts, Step::GiveBack, &["a"], OWNERS[1]), "{version}");
        assert!(world.server.read(waiter).contains("token"), "{version}");
        for key in ["a", "b", "c"] {
            assert!(!by_script(&mut world, &scripts, Step::Take, &[key], OWNERS[1]), "{version}, {key}");
        }
    }
}

/// A waiting MultiLock listens to the channel of the member that it did not get.
#[test]
fn native_releases_publish_on_the_channels_of_a_waiting_multi_lock() {
    for version in VERSIONS {
        let Some(scripts) = Scripts::of(version) else { return };
        let mut world = World::new();
        assert!(natively(&mut world, Step::Take, &["a", "b"], "native"));
        assert!(!by_script(&mut world, &scripts, Step::Take, &["c", "b", "a"], OWNERS[0]), "{version}");
        world.take_messages();
        natively(&mut world, Step::GiveBack, &["b", "a"], "native");
        let heard = world.take_messages().join(" ");
        for channel in ["redisson_lock__channel:{a}", "redisson_lock__channel:{b}"] {
            assert!(heard.contains(channel), "{version}: {heard}");
        }
        assert!(by_script(&mut world, &scripts, Step::Take, &["c", "b", "a"], OWNERS[0]), "{version}");
    }
}

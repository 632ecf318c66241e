//! Random commands of all types: a replica comes to the same state.

use crate::replication::servers::{Makes, Pair, info};
use lockwheel_engine::spec::Flags;
use lockwheel_tests::differential::{Commands, Subject, rounds};
use lockwheel_tests::generate::Generator;

/// The number of commands in one batch.
const BATCH: usize = 500;

/// Commands that cannot be sent in a pipeline without reading their replies, or that are not replicated.
const LEFT_OUT: &[&str] =
    &["select", "script|flush", "function|kill", "subscribe", "psubscribe", "ssubscribe"];

/// Whether a command may change a server's data.
fn is_sent(subject: &Subject) -> bool {
    subject.at_random()
        && !subject.is_newer()
        && !subject.is_of_transactions()
        && !subject.command.has(Flags::BLOCKING)
        && subject.command.spec.flags.intersects(Flags::of(&[Flags::WRITE, Flags::MAY_REPLICATE]))
        && !LEFT_OUT.contains(&subject.name())
}

/// Sends this number of random commands, some of them in transactions.
fn send_random(pair: &mut Pair, generator: &mut Generator, count: usize) {
    let all = Commands::all();
    let subjects: Vec<&Subject> = all.iter().filter(|subject| is_sent(subject)).collect();
    let words = |line: &str| line.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
    for _ in 0..count / BATCH {
        let mut batch = Vec::new();
        let db = generator.rng().below(3);
        batch.push(words(&format!("SELECT {db}")));
        let mut queued = 0;
        for _ in 0..BATCH {
            if queued == 0 && generator.rng().chance(5) {
                queued = 1 + generator.rng().below(6);
                batch.push(words("MULTI"));
            }
            let subject = *generator.rng().pick(&subjects);
            // If everything were deleted too often, little else would be tested.
            let flushes = subject.name().starts_with("flush") || subject.name() == "swapdb";
            if !flushes || generator.rng().chance(5) {
                let row = subject.command.spec;
                batch.push(generator.command(subject.name(), row.group, &subject.syntax).arguments);
            }
            if queued > 0 {
                queued -= 1;
                if queued == 0 {
                    batch.push(words("EXEC"));
                }
            }
        }
        if queued > 0 {
            batch.push(words("EXEC"));
        }
        pair.master.pipeline(&batch);
    }
}

/// The number of commands that a test sends: 100,000 in 13 rounds.
fn count() -> usize {
    8000 * rounds()
}

fn follows(makes: Makes, seed: u64, count: usize) {
    let Some(mut pair) = makes.start() else { return };
    let mut generator = Generator::new(seed);
    send_random(&mut pair, &mut generator, 2 * BATCH);
    pair.follow().check_same();
    for _ in 0..4 {
        send_random(&mut pair, &mut generator, count / 4);
        pair.check_same();
    }
    assert_eq!(info(&mut pair.master, "stats", "sync_full"), "1", "{makes:?}");
}

#[test]
fn our_replica_reaches_the_state_of_our_master() {
    follows(Makes::Ours, 1, count());
}

#[test]
fn a_real_replica_reaches_the_state_of_our_master() {
    follows(Makes::RealReplica, 2, count());
}

#[test]
fn our_replica_reaches_the_state_of_a_real_master() {
    follows(Makes::RealMaster, 3, count());
}

/// The connection between them is cut in the middle of random commands, again and again: at each side in turn.
fn follows_through_cuts(makes: Makes, seed: u64, count: usize) {
    let Some(mut pair) = makes.start() else { return };
    // The backlog holds all commands that the replica misses while it is away.
    pair.ask_master("CONFIG SET repl-backlog-size 268435456");
    let mut generator = Generator::new(seed);
    pair.follow();
    let cuts = count / (4 * BATCH);
    for cut in 0..cuts {
        send_random(&mut pair, &mut generator, BATCH);
        let ended = match cut % 2 {
            0 => pair.ask_master("CLIENT KILL TYPE replica"),
            _ => pair.ask_replica("CLIENT KILL TYPE master"),
        };
        assert_eq!(ended, ":1", "{makes:?}");
        send_random(&mut pair, &mut generator, 3 * BATCH);
        pair.check_same();
    }
    assert_eq!(info(&mut pair.master, "stats", "sync_full"), "1", "{makes:?}");
    assert_eq!(info(&mut pair.master, "stats", "sync_partial_ok"), cuts.to_string(), "{makes:?}");
}

#[test]
fn our_replica_continues_after_disconnects() {
    follows_through_cuts(Makes::Ours, 4, count());
}

#[test]
fn a_real_replica_continues_after_disconnects() {
    follows_through_cuts(Makes::RealReplica, 5, count());
}

#[test]
fn our_replica_of_a_real_master_continues_after_disconnects() {
    follows_through_cuts(Makes::RealMaster, 6, count());
}

//! `LOCK.MRELEASE`: gives back one hold of each of several locks.

use super::options;
use super::ownership;
use super::redisson::{self, WRITE_SUFFIX};
use super::release::{self, NOT_HELD};
use super::warnings;
use crate::spec::{
    Args, CommandError, CommandGrammar, DataHandler, Flags, KeyFlags, KeySpec, Outcome, ParsedArgs, Row,
    Symbol, grammar,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;
use std::collections::BTreeMap;

const MRELEASE: &CommandGrammar = grammar!("numkeys key [key ...] owner");
const OWNER: Symbol = MRELEASE.symbol("owner");

pub(super) const ROWS: &[Row<DataHandler>] = &[Row::new("lock.mrelease", -4, release as DataHandler)
    .flags(&[Flags::WRITE, Flags::MOVABLEKEYS])
    .categories(&["lock"])
    .keys(&[KeySpec::counted(1, &[KeyFlags::RW, KeyFlags::DELETE])])
    .about("lock", "7.2.0", "O(N log N), N the keys")
    .summary("Releases one hold of each of several locks, or none if the owner does not hold all.")
    .reply("An array of integers: for each key, the holds that the owner has left.")
    .example(&[
        "LOCK.MACQUIRE 2 room:1 room:2 alice",
        "LOCK.MRELEASE 2 room:1 room:2 alice",
        "LOCK.MRELEASE 2 room:1 room:2 alice",
    ])
    .help(&[
        "LOCK.MRELEASE <numkeys> <key> [<key> ...] <owner>",
        "    Release one hold of each lock, or none if the owner does not hold all. Return the holds left.",
    ])
    .help_after("lock.release")
    .grammar(MRELEASE)
    .errors(&[
        "ERR syntax error: *",
        "ERR numkeys should be greater than 0: *",
        "ERR value is not an integer or out of range: *",
        "ERR invalid owner: *",
        "ERR hash value is not an integer",
        "NOTHELD this owner does not hold the lock",
        "LOCKLOST this owner lost the lock: grant *",
        "LOCKMODE this owner holds the lock in both modes: use LOCK.RELEASE with SHARED or EXCLUSIVE",
    ])];

fn release(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let parsed: ParsedArgs<'_> = MRELEASE.parse(args)?;
    let count = options::keys_before(&parsed, OWNER);
    let (keys, owner) = (&args.from(2)[..count], ownership::check_owner(&args[count + 2])?);
    let writer = [owner, WRITE_SUFFIX].concat();
    if let Err(error) = check_all(tx, keys, owner, &writer) {
        let is_held = |key: &&&[u8]| tx.peek(key).is_some_and(|value| redisson::is_held_by(value, owner));
        let lost: Vec<&[u8]> = keys.iter().filter(|key| !is_held(key)).copied().collect();
        lost.iter().for_each(|key| warnings::lint_release(tx, key, owner, &error));
        return Err(error);
    }
    reply.array(count);
    for key in keys {
        // If a key is named twice, its remaining lease may have ended, and gone with the first release.
        let left = match release::held(tx, key, owner, &writer) {
            Ok(held) => release::give_back_one(tx, key, &held, (held.holds - 1).max(0))?,
            Err(_) => 0,
        };
        reply.integer(left);
    }
    Ok(())
}

/// Requires that the owner holds each lock as often as it is named: an error changes nothing.
fn check_all(tx: &mut Tx<'_>, keys: &[&[u8]], owner: &[u8], writer: &[u8]) -> Result<(), CommandError> {
    let mut times: BTreeMap<&[u8], i64> = BTreeMap::new();
    for key in keys {
        let times = times.entry(key).or_default();
        *times += 1;
        if release::held(tx, key, owner, writer)?.holds.max(1) < *times {
            return Err(NOT_HELD);
        }
    }
    Ok(())
}

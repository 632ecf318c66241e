//! `LOCK.RELEASE`: gives a hold back, or all of them.

use super::layout::{self, Standing, UNLOCK_MESSAGE};
use crate::keyspace::{EndCause, Tx, events};
use crate::table::{Args, CommandError, DataHandler, Flow, KeySpec, Outcome, Row, errors, flags, key_flags};
use crate::values::{Hash, IntText};
use lockwheel_resp::Reply;

const NOT_HELD: CommandError = CommandError::text("NOTHELD this owner does not hold the lock");

/// The rows of this file.
pub(super) const ROWS: &[Row<DataHandler>] = &[Row::new("lock.release", -3, release as DataHandler)
    .flags(flags::WRITE | flags::FAST)
    .categories(&["lock"])
    .keys(&[KeySpec::one(1, key_flags::RW | key_flags::DELETE)])
    .about("lock", "7.2.0", "O(1)")
    .summary("Gives back one hold of a lock, or all; the last wakes the next waiter.")
    .syntax("key owner [ALL]")
    .errors(&[
        "ERR syntax error",
        "ERR invalid owner",
        "NOTHELD this owner does not hold the lock",
        "LOCKMODE the key holds a read-write lock",
    ])];

fn release(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (key, owner) = (&args[1], layout::check_owner(&args[2])?);
    let all = match args.len() {
        3 => false,
        4 if args.is(3, "all") => true,
        _ => return Err(errors::SYNTAX),
    };
    let Standing::Mine(holds) = layout::standing(tx, key, owner)? else {
        return Err(not_held(tx, key, owner));
    };
    let left = if all { 0 } else { (holds - 1).max(0) };
    if left == 0 {
        give_back(tx, key, owner)?;
    } else if let Some(edit) = tx.write::<Hash>(key)? {
        edit.value.set(owner, &IntText::new(left), edit.encodings);
        tx.changed(key, events::HINCRBY);
    }
    reply.integer(left);
    Ok(Flow::Done)
}

/// Takes the owner out of the lock; with nobody else in it, the lock is free and Redisson's waiters are told.
fn give_back(tx: &mut Tx<'_>, key: &[u8], owner: &[u8]) -> Result<(), CommandError> {
    if let Some(edit) = tx.write::<Hash>(key)? {
        edit.value.remove(owner);
    }
    if tx.delete_if_empty(key) {
        let db = tx.db();
        tx.holds().was_release(db, key);
        if tx.has_audience() {
            tx.publish(&layout::channel(key), UNLOCK_MESSAGE);
        }
    } else {
        tx.changed(key, events::HDEL);
    }
    Ok(())
}

/// Why an owner that wants to give a lock back does not hold it.
fn not_held(tx: &mut Tx<'_>, key: &[u8], owner: &[u8]) -> CommandError {
    let db = tx.db();
    let Some(ended) = tx.holds().last_end(db, key) else { return NOT_HELD };
    match (&ended.grant, ended.cause) {
        (Some(grant), EndCause::Expired | EndCause::Deleted) if *grant.owner == *owner => {
            CommandError::new(format!(
                "LOCKLOST this owner's hold with token {} {} at {}",
                grant.token,
                ended.cause.name(),
                ended.wall_ms
            ))
        }
        _ => NOT_HELD,
    }
}

//! `LOCK.RELEASE`: releases a hold, or all of them.

use super::held::OwnerHold;
use super::key_changes;
use super::layouts::{read_write, text};
use super::ledger::Release;
use super::ownership;
use super::records;
use super::redisson::{MODE_FIELD, write_field};
use super::{channels, sessions, warnings};
use crate::spec::{
    Args, CommandError, CommandGrammar, DataHandler, Flags, KeyFlags, KeySpec, Outcome, ParsedArgs, Row,
    errors, grammar, symbols,
};
use lockwheel_resp::{Reply, number};
use lockwheel_store::keyspace::{KeyRequest, Tx, events};
use lockwheel_store::values::{Hash, IntText};

pub(super) const NOT_HELD: CommandError = CommandError::text("NOTHELD this owner does not hold the lock");
const BOTH_MODES: CommandError = CommandError::text(
    "LOCKMODE this owner holds the lock in both modes: use LOCK.RELEASE with SHARED or EXCLUSIVE",
);

const RELEASE: &CommandGrammar = grammar!("key owner [mode: SHARED | EXCLUSIVE] [ALL] [TOKEN token]");

symbols!(RELEASE: SHARED, EXCLUSIVE, ALL, TOKEN);

pub(super) const ROWS: &[Row<DataHandler>] = &[Row::new("lock.release", -3, release as DataHandler)
    .flags(&[Flags::WRITE, Flags::FAST])
    .categories(&["lock"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::DELETE])])
    .about("lock", "7.2.0", "O(1)")
    .summary("Releases one hold of a lock, or all; the release of the last hold wakes the next waiter.")
    .reply("An integer: the holds that the owner has left.")
    .options(&[&[
        ("SHARED", "Releases a hold for reading."),
        ("EXCLUSIVE", "Releases a hold for writing. An owner with both must name the mode."),
        ("ALL", "Releases all holds of the owner."),
        ("TOKEN token", "Releases only a hold with this token."),
    ]])
    .example(&[
        "LOCK.ACQUIRE order:42 alice PX 10000",
        "LOCK.RELEASE order:42 alice TOKEN 1",
        "LOCK.RELEASE order:42 alice",
    ])
    .help(&[
        "LOCK.RELEASE <key> <owner> [SHARED|EXCLUSIVE] [ALL] [TOKEN <token>]",
        "    Release one hold, or all; with TOKEN only holds of that grant. An owner that both reads and",
        "    writes has to name the mode.",
    ])
    .help_after("lock.acquire")
    .grammar(RELEASE)
    .errors(&[
        "ERR syntax error: *",
        "ERR invalid owner: *",
        "ERR value is not an integer or out of range: *",
        "ERR hash value is not an integer",
        "NOTHELD this owner does not hold the lock",
        "LOCKLOST this owner lost the lock: grant *",
        "STALE token *",
        "LOCKMODE the key holds a plain lock",
        "LOCKMODE this owner holds the lock in both modes: use LOCK.RELEASE with SHARED or EXCLUSIVE",
    ])];

fn release(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (key, owner) = (&args[1], ownership::check_owner(&args[2])?);
    let mut options: ParsedArgs<'_> = ParsedArgs::new(args);
    RELEASE.parse_into(&mut options)?;
    let token = options.integer(TOKEN)?;
    let mode = options.one_of(&[(SHARED, HoldMode::Shared), (EXCLUSIVE, HoldMode::Exclusive)]);
    let writer = write_field(owner);
    let held = match held_as(tx, key, owner, &writer, mode) {
        Ok(held) => held,
        Err(error) => {
            warnings::lint_release(tx, key, owner, &error);
            return Err(error);
        }
    };
    if let Some(token) = token {
        ownership::check_token(tx, key, held.field, token)?;
    }
    let left = if options.has(ALL) { 0 } else { (held.holds - 1).max(0) };
    let left = give_back_one(tx, key, &held, left)?;
    reply.integer(left);
    Ok(())
}

/// Gives back holds of an owner by this client, so that the owner keeps `left`. If the client has leased one, that one
/// goes. Returns the number of remaining holds: none for a reader whose other leases have ended.
pub(super) fn give_back_one(
    tx: &mut Tx<'_>,
    key: &[u8],
    held: &OwnerHold<'_>,
    left: i64,
) -> Result<i64, CommandError> {
    if left > 0 && held.is_read() && sessions::lease_some(tx, key, held.field) {
        // The hold may not be the newest.
        read_write::keep_longest(tx, key, held.field, (held.holds, left));
    }
    leave(tx, key, held, left)?;
    if left > 0
        && let Some(grant) = records::grant(tx, key, held.field)
    {
        sessions::add_holds(tx, grant.number, -1);
        sessions::uphold(tx, grant.number);
    }
    let is_over = left > 0 && held.is_read() && !read_write::has(tx, key, held.field);
    Ok(if is_over { 0 } else { left })
}

/// Leaves an owner `left` of its holds.
pub(super) fn leave(
    tx: &mut Tx<'_>,
    key: &[u8],
    held: &OwnerHold<'_>,
    left: i64,
) -> Result<(), CommandError> {
    if held.is_text {
        key_changes::delete(tx, key);
    } else if held.has_mode {
        read_write::release(tx, key, held, left)?;
    } else if left == 0 {
        give_back(tx, key, held.field)?;
    } else if let Some(edit) = tx.write::<Hash>(key)? {
        let count = IntText::new(left);
        edit.value.set(held.field, &count, edit.encodings);
        tx.changed(key, events::HINCRBY);
        tx.propagate_key(key, &[KeyRequest::SetField(held.field, &count)]);
        records::released_partly(tx, key, held.field, left);
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HoldMode {
    Shared,
    Exclusive,
}

/// Returns the hold of an owner of a lock, in any mode; `writer` is the field of its write lock.
pub(super) fn held<'a>(
    tx: &mut Tx<'_>,
    key: &[u8],
    owner: &'a [u8],
    writer: &'a [u8],
) -> Result<OwnerHold<'a>, CommandError> {
    held_as(tx, key, owner, writer, None)
}

/// Returns the hold of an owner in this mode; without one, in the only mode that the owner has.
fn held_as<'a>(
    tx: &mut Tx<'_>,
    key: &[u8],
    owner: &'a [u8],
    writer: &'a [u8],
    mode: Option<HoldMode>,
) -> Result<OwnerHold<'a>, CommandError> {
    if let Some(is_mine) = text::holds(tx, key, owner) {
        let held = OwnerHold { field: owner, holds: 1, has_mode: false, is_text: true };
        return if is_mine { Ok(held) } else { Err(lost(tx, key, owner, writer).unwrap_or(NOT_HELD)) };
    }
    let (found, has_mode) = match tx.read::<Hash>(key) {
        Ok(None) => (None, false),
        Ok(Some(hash)) => {
            let has_mode = hash.contains(MODE_FIELD);
            if mode.is_some() && !has_mode {
                return Err(read_write::PLAIN);
            }
            let reads = hash.get(owner).filter(|_| mode != Some(HoldMode::Exclusive));
            let writes = hash.get(writer).filter(|_| has_mode && mode != Some(HoldMode::Shared));
            let found = match (reads, writes) {
                (Some(_), Some(_)) => return Err(BOTH_MODES),
                (Some(count), None) => Some((owner, count)),
                (None, Some(count)) => Some((writer, count)),
                (None, None) => None,
            };
            let count = |(field, count)| Some((field, number::parse_i64(count)?));
            let found = found.map(|found| count(found).ok_or(errors::HASH_VALUE_NOT_AN_INTEGER));
            (found.transpose()?, has_mode)
        }
        Err(wrong_type) => return Err(lost(tx, key, owner, writer).unwrap_or_else(|| wrong_type.into())),
    };
    match found {
        Some((field, holds)) => Ok(OwnerHold { field, holds, has_mode, is_text: false }),
        None => Err(lost(tx, key, owner, writer).unwrap_or(NOT_HELD)),
    }
}

/// Removes the owner from a plain lock; if no other remains, the lock is free and Redisson's waiters are notified.
fn give_back(tx: &mut Tx<'_>, key: &[u8], owner: &[u8]) -> Result<(), CommandError> {
    let Some(edit) = tx.write::<Hash>(key)? else { return Ok(()) };
    if edit.value.len() == 1 {
        tx.discard(key);
        tx.changed_as_known(key, events::DEL);
        tx.propagate_key(key, &[KeyRequest::Remove]);
        channels::notify_plain(tx, key);
        return Ok(());
    }
    let at = edit.at;
    tx.field_removed(at, key, owner);
    if let Some(edit) = tx.write::<Hash>(key)? {
        edit.value.remove(owner);
    }
    tx.changed(key, events::HDEL);
    tx.propagate_key(key, &[KeyRequest::RemoveField(owner)]);
    Ok(())
}

pub(super) fn lost(tx: &Tx<'_>, key: &[u8], owner: &[u8], writer: &[u8]) -> Option<CommandError> {
    let losses = [owner, writer].into_iter().filter_map(|field| records::last_loss(tx, key, field));
    let Release { cause, wall_ms, grant } = losses.max_by_key(|loss| loss.grant)?;
    let current = ownership::or_none(records::current_grant(tx, key));
    let cause = cause.name();
    Some(CommandError::new(format!(
        "LOCKLOST this owner lost the lock: grant {grant} ended ({cause}) at {wall_ms}, current grant {current}"
    )))
}

//! Redisson's read-write lock: a hash with a mode, its readers and its writer. Each read hold has a further key with
//! the lease of that hold. The lease of the hash is the longest of all.
//!
//! Such a lock can be added to a key that a plain lock holds. Then plain, read and write holds are in one hash.

use super::super::channels;
use super::super::held::OwnerHold;
use super::super::key_changes;
use super::super::ledger::ReleaseCause;
use super::super::records;
use super::super::redisson::{
    DELAY_FIELD, MAX_READ_LEASES, MODE_FIELD, READ, READ_MESSAGE, UNLOCK_MESSAGE, WRITE, WRITE_SUFFIX,
    read_lease_key, write_field,
};
use super::Standing;
use crate::spec::{CommandError, errors};
use lockwheel_resp::number;
use lockwheel_store::keyspace::{EntryId, KeyRequest, Tx, events};
use lockwheel_store::values::{Hash, IntText, Str, Value};

/// The error for a key that holds a lock of the other layout.
pub(in crate::locks) const PLAIN: CommandError = CommandError::text("LOCKMODE the key holds a plain lock");
const CONVERT: CommandError =
    CommandError::text("DEADLOCK this owner holds the lock in shared mode: use LOCK.CONVERT");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::locks) struct Hands {
    pub(in crate::locks) is_written: bool,
    pub(in crate::locks) reads: i64,
    pub(in crate::locks) writes: i64,
    pub(in crate::locks) others: bool,
}

impl Hands {
    /// Returns the number of shared holds that have leases of their own.
    pub(in crate::locks) fn leases(&self) -> i64 {
        self.reads.clamp(0, MAX_READ_LEASES)
    }
}

pub(in crate::locks) fn is_one(tx: &Tx<'_>, key: &[u8]) -> bool {
    has(tx, key, MODE_FIELD)
}

/// Whether a key holds a read-write lock without a writer.
pub(in crate::locks) fn is_read(tx: &Tx<'_>, key: &[u8]) -> bool {
    matches!(tx.peek(key), Some(Value::Hash(hash)) if hash.get(MODE_FIELD) == Some(READ))
}

pub(in crate::locks) fn has(tx: &Tx<'_>, key: &[u8], field: &[u8]) -> bool {
    matches!(tx.peek(key), Some(Value::Hash(hash)) if hash.contains(field))
}

/// Returns the holds of an owner; `None` if the lock is free. Fails for another type, a plain lock, or no number.
pub(in crate::locks) fn hands(
    tx: &mut Tx<'_>,
    key: &[u8],
    owner: &[u8],
) -> Result<Option<Hands>, CommandError> {
    let Some(hash) = tx.read::<Hash>(key)? else { return Ok(None) };
    let Some(mode) = hash.get(MODE_FIELD) else { return Err(PLAIN) };
    let count = |field: &[u8]| match hash.get(field) {
        None => Ok(0),
        Some(count) => number::parse_i64(count).ok_or(errors::HASH_VALUE_NOT_AN_INTEGER),
    };
    let writer = write_field(owner);
    let mine = 1 + usize::from(hash.contains(owner)) + usize::from(hash.contains(&writer));
    Ok(Some(Hands {
        is_written: mode != READ,
        reads: count(owner)?,
        writes: count(&writer)?,
        others: hash.len() > mine,
    }))
}

pub(super) fn standing_of_reader(
    tx: &mut Tx<'_>,
    key: &[u8],
    owner: &[u8],
) -> Result<Standing, CommandError> {
    Ok(match hands(tx, key, owner)? {
        None => Standing::Free,
        Some(hands) if hands.reads > 0 || hands.writes > 0 => Standing::Mine(hands.reads),
        Some(hands) if hands.is_written => Standing::Others,
        Some(_) => Standing::Free,
    })
}

/// Returns the state of the lock for a writer. Fails if the owner is a reader, which would wait for itself.
pub(super) fn standing_of_writer(
    tx: &mut Tx<'_>,
    key: &[u8],
    owner: &[u8],
) -> Result<Standing, CommandError> {
    match hands(tx, key, owner)? {
        None => Ok(Standing::Free),
        Some(hands) if hands.writes > 0 => Ok(Standing::Mine(hands.writes)),
        Some(hands) if hands.reads > 0 => Err(CONVERT),
        Some(_) => Ok(Standing::Others),
    }
}

/// Writes a reader's hold, which makes the number of its holds `holds`, and the lease.
pub(in crate::locks) fn read(
    tx: &mut Tx<'_>,
    key: &[u8],
    owner: &[u8],
    holds: i64,
    lease_ms: i64,
) -> Result<EntryId, CommandError> {
    let deadline = tx.now().wall_ms().saturating_add(lease_ms);
    let is_new = !tx.exists(key);
    let edit = tx.write_or_new::<Hash>(key)?;
    if is_new {
        edit.value.set(MODE_FIELD, READ, edit.encodings);
    }
    let count = IntText::new(holds);
    edit.value.set(owner, &count, edit.encodings);
    let at = edit.at;
    note_hold(tx, key, (READ, is_new), (owner, &count));
    lease(tx, key, owner, holds, deadline);
    lengthen(tx, key, deadline);
    Ok(at)
}

/// Reports and propagates the count of a hold, and the mode if it is new.
fn note_hold(tx: &mut Tx<'_>, key: &[u8], (mode, is_new): (&[u8], bool), (field, count): (&[u8], &[u8])) {
    if is_new {
        tx.changed(key, events::HSET);
        tx.changed(key, events::HSET);
    } else {
        tx.changed(key, events::HINCRBY);
    }
    let fields = [(MODE_FIELD, mode), (field, count)];
    tx.propagate_key(key, &[KeyRequest::SetFields(if is_new { &fields } else { &fields[1..] })]);
}

/// Sets the leases of an owner's shared holds, or only makes them longer. Returns whether any lease was set.
pub(in crate::locks) fn renew(
    tx: &mut Tx<'_>,
    key: &[u8],
    owner: &[u8],
    hands: Hands,
    (deadline, only_longer): (i64, bool),
) -> Result<bool, CommandError> {
    let mut is_set = false;
    for n in (1..=hands.reads).rev().take(MAX_READ_LEASES as usize) {
        let name = read_lease_key(key, owner, n);
        if tx.deadline(&name).is_some_and(|current| !only_longer || current < deadline) {
            key_changes::set_deadline(tx, &name, deadline);
            is_set = true;
        }
    }
    let current = tx.deadline(key);
    if current.is_some_and(|current| current < deadline) || (hands.reads == 0 && !only_longer) {
        key_changes::set_deadline(tx, key, deadline);
        is_set = true;
    } else if !only_longer {
        lease_of_readers(tx, key)?;
        is_set = true;
    }
    Ok(is_set)
}

/// Writes the lease of a native reader's hold.
fn lease(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], n: i64, deadline: i64) {
    let name = read_lease_key(key, owner, n);
    let at = tx.set(&name, Value::Str(Str::new(b"1")), false);
    tx.set_deadline(&name, deadline);
    records::leased(tx, at, key, (owner, n));
    tx.changed(&name, events::SET);
    tx.changed(&name, events::EXPIRE);
    tx.propagate_key(&name, &[KeyRequest::Set(b"1"), KeyRequest::ExpireAt(deadline)]);
}

/// Moves the lease of an owner's hold to another owner's. Without one, the other's old lease is deleted.
pub(in crate::locks) fn move_lease(
    tx: &mut Tx<'_>,
    key: &[u8],
    (from, n): (&[u8], i64),
    (to, m): (&[u8], i64),
) {
    let name = read_lease_key(key, from, n);
    if let Some(deadline) = tx.deadline(&name) {
        key_changes::delete(tx, &name);
        lease(tx, key, to, m, deadline);
    } else {
        key_changes::delete(tx, &read_lease_key(key, to, m));
    }
}

/// Writes a writer's hold, which makes the number of its holds `holds`, and the lease.
pub(in crate::locks) fn write(
    tx: &mut Tx<'_>,
    key: &[u8],
    owner: &[u8],
    holds: i64,
    lease_ms: i64,
) -> Result<EntryId, CommandError> {
    let deadline = tx.now().wall_ms().saturating_add(lease_ms);
    let edit = tx.write_or_new::<Hash>(key)?;
    if holds == 1 {
        edit.value.set(MODE_FIELD, WRITE, edit.encodings);
    }
    let (field, count) = (write_field(owner), IntText::new(holds));
    edit.value.set(&field, &count, edit.encodings);
    let at = edit.at;
    note_hold(tx, key, (WRITE, holds == 1), (&field, &count));
    lengthen(tx, key, deadline);
    Ok(at)
}

/// Makes the lease of the hash at least this long.
fn lengthen(tx: &mut Tx<'_>, key: &[u8], deadline: i64) {
    let longest = tx.deadline(key).map_or(deadline, |current| current.max(deadline));
    key_changes::set_deadline(tx, key, longest);
}

/// Turns a writer into a reader. Its newest hold gets the given lease, if longer, and so do holds without one.
pub(in crate::locks) fn downgrade(
    tx: &mut Tx<'_>,
    key: &[u8],
    owner: &[u8],
    hands: Hands,
    (lease_ms, only_longer): (i64, bool),
) -> Result<(), CommandError> {
    let deadline = tx.now().wall_ms().saturating_add(lease_ms);
    let reads = hands.reads.max(hands.writes);
    let writer = write_field(owner);
    let edit = tx.write_or_new::<Hash>(key)?;
    let at = edit.at;
    edit.value.set(MODE_FIELD, READ, edit.encodings);
    let count = IntText::new(reads);
    edit.value.set(owner, &count, edit.encodings);
    records::converted(tx, at, key, &writer, owner);
    let edit = tx.write_or_new::<Hash>(key)?;
    edit.value.remove(&writer);
    tx.changed(key, events::HSET);
    tx.changed(key, events::HSET);
    tx.changed(key, events::HDEL);
    let fields = [(MODE_FIELD, READ), (owner, &*count)];
    tx.propagate_key(key, &[KeyRequest::SetFields(&fields), KeyRequest::RemoveField(&writer)]);
    (hands.reads + 1..=reads).take(MAX_READ_LEASES as usize).for_each(|n| lease(tx, key, owner, n, deadline));
    let newest = tx.deadline(&read_lease_key(key, owner, reads));
    if hands.reads == reads && (!only_longer || newest.is_some_and(|ends| ends < deadline)) {
        lease(tx, key, owner, reads, deadline);
    }
    lengthen(tx, key, deadline);
    records::record_conversion(tx, key, owner);
    channels::notify_read_write(tx, key, READ_MESSAGE);
    Ok(())
}

/// Leaves an owner `left` of its holds. If a writer has none left and other owners remain, these are readers from now
/// on. If no owner remains, the lock is free. Redisson's waiters are notified.
pub(in crate::locks) fn release(
    tx: &mut Tx<'_>,
    key: &[u8],
    held: &OwnerHold<'_>,
    left: i64,
) -> Result<(), CommandError> {
    let Some(edit) = tx.write::<Hash>(key)? else { return Ok(()) };
    let (at, writes) = (edit.at, held.field.ends_with(WRITE_SUFFIX));
    if left > 0 {
        let count = IntText::new(left);
        edit.value.set(held.field, &count, edit.encodings);
        tx.changed(key, events::HINCRBY);
        tx.propagate_key(key, &[KeyRequest::SetField(held.field, &count)]);
        records::released_partly(tx, key, held.field, left);
    } else {
        tx.field_removed(at, key, held.field);
        if let Some(edit) = tx.write::<Hash>(key)? {
            edit.value.remove(held.field);
        }
        tx.changed(key, events::HDEL);
        tx.propagate_key(key, &[KeyRequest::RemoveField(held.field)]);
    }
    // A plain hold has no lease of its own.
    let is_plain = !writes && !is_leased(tx, key, held.field, held.holds);
    if !writes && !is_plain {
        // The newest hold is first; some leases may have ended.
        for n in (left + 1..=held.holds).rev().take(MAX_READ_LEASES as usize) {
            key_changes::delete(tx, &read_lease_key(key, held.field, n));
        }
    }
    settle(tx, key, (writes, is_plain), left)?;
    if left > 0 && !writes && !is_plain {
        // The leases of the remaining holds may have ended: the last hold with a lease has been given back.
        reap(tx, key, held.field);
    }
    Ok(())
}

/// Whether any of a reader's holds has a lease of its own. O(holds) if none has.
fn is_leased(tx: &Tx<'_>, key: &[u8], owner: &[u8], holds: i64) -> bool {
    let mut leases = (1..=holds).rev().take(MAX_READ_LEASES as usize);
    leases.any(|n| tx.exists(&read_lease_key(key, owner, n)))
}

/// Cleans up after a release. `writes`: a writer has released; `is_plain`: a plain hold.
fn settle(
    tx: &mut Tx<'_>,
    key: &[u8],
    (writes, is_plain): (bool, bool),
    left: i64,
) -> Result<(), CommandError> {
    let message = if writes { READ_MESSAGE } else { UNLOCK_MESSAGE };
    match tx.write::<Hash>(key)? {
        Some(edit) if edit.value.len() == 1 => {
            key_changes::delete(tx, key);
            if is_plain {
                channels::notify_plain(tx, key);
            }
            channels::notify_read_write(tx, key, message);
        }
        Some(edit) if writes && left == 0 => {
            edit.value.set(MODE_FIELD, READ, edit.encodings);
            tx.changed(key, events::HSET);
            tx.propagate_key(key, &[KeyRequest::SetField(MODE_FIELD, READ)]);
            channels::notify_read_write(tx, key, message);
        }
        Some(edit) if edit.value.get(MODE_FIELD) == Some(READ) => lease_of_readers(tx, key)?,
        _ => {}
    }
    Ok(())
}

/// Sets the lease of a read lock to the longest of its readers'. O(log n) amortised, n their holds.
pub(in crate::locks) fn lease_of_readers(tx: &mut Tx<'_>, key: &[u8]) -> Result<(), CommandError> {
    if tx.read::<Hash>(key)?.is_none() {
        return Ok(());
    }
    let known = longest_known(tx, key);
    debug_assert!(known.is_none() || !is_small(tx, key) || known == longest_of_all(tx, key), "{key:?}");
    let longest = known.or_else(|| longest_of_all(tx, key));
    if let Some(deadline) = longest {
        key_changes::set_deadline(tx, key, deadline);
    }
    Ok(())
}

/// Whether a lock has so few fields that a debug build looks at all of them each time.
fn is_small(tx: &Tx<'_>, key: &[u8]) -> bool {
    const FEW: usize = 32;
    matches!(tx.peek(key), Some(Value::Hash(hash)) if hash.len() <= FEW)
}

/// Returns when the longest lease of all readers ends, if the readers that are not native are known.
fn longest_known(tx: &mut Tx<'_>, key: &[u8]) -> Option<i64> {
    let (native, others) = records::last_read_lease(tx, key)?;
    let Some(Value::Hash(hash)) = tx.peek(key) else { return None };
    let holds = others.iter().filter_map(|owner| Some((owner, number::parse_i64(hash.get(owner)?)?)));
    let foreign = holds.filter_map(|(owner, count)| longest_lease(tx, key, owner, count));
    Some(foreign.fold(native, i64::max))
}

/// Returns when the longest lease of all readers ends, whichever clients have taken their holds. O(holds).
fn longest_of_all(tx: &Tx<'_>, key: &[u8]) -> Option<i64> {
    let Some(Value::Hash(hash)) = tx.peek(key) else { return None };
    let holds = hash.iter().filter_map(|(owner, count)| Some((owner, number::parse_i64(count)?)));
    holds.filter_map(|(owner, count)| longest_lease(tx, key, owner, count)).max()
}

/// Returns when the longest lease of a reader's holds ends. O(holds).
pub(in crate::locks) fn longest_lease(tx: &Tx<'_>, key: &[u8], owner: &[u8], holds: i64) -> Option<i64> {
    let leases = (1..=holds).rev().take(MAX_READ_LEASES as usize);
    leases.filter_map(|n| tx.deadline(&read_lease_key(key, owner, n))).max()
}

/// Gives the `left` remaining holds the longest of the owner's leases: a client cannot tell which it gave back.
pub(in crate::locks) fn keep_longest(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], (holds, left): (i64, i64)) {
    if holds > MAX_READ_LEASES {
        return;
    }
    let leases = (1..=holds).filter_map(|n| tx.deadline(&read_lease_key(key, owner, n)));
    let mut longest: Vec<i64> = leases.collect();
    longest.sort_unstable_by_key(|deadline| std::cmp::Reverse(*deadline));
    for (n, deadline) in (1..=left).zip(longest) {
        let name = read_lease_key(key, owner, n);
        match tx.deadline(&name) {
            Some(current) if current == deadline => {}
            Some(_) => {
                key_changes::set_deadline(tx, &name, deadline);
            }
            // The lease of an older hold has ended.
            None => lease(tx, key, owner, n, deadline),
        }
    }
}

/// Handles the end of a native reader's lease. After its last one the owner no longer holds the lock, as with a lock of
/// its own. Owners made by Redisson are left to it: its unlock would fail otherwise.
pub(in crate::locks) fn reap(tx: &mut Tx<'_>, key: &[u8], owner: &[u8]) {
    let is_native = owner == DELAY_FIELD || records::grant(tx, key, owner).is_some_and(|grant| grant.native);
    let Ok(Some(Hands { reads, .. })) = hands(tx, key, owner) else { return };
    // The whole lock ends at this instant, too.
    let ends = tx.deadline(key).is_some_and(|deadline| deadline <= tx.now().wall_ms());
    let is_leased = || reads > MAX_READ_LEASES || is_leased(tx, key, owner, reads);
    if !is_native || reads == 0 || ends || is_leased() {
        return;
    }
    let held = OwnerHold { field: owner, holds: reads, has_mode: true, is_text: false };
    let released = records::ending_as(tx, ReleaseCause::Expired, |tx| release(tx, key, &held, 0));
    debug_assert!(released.is_ok(), "the key holds a hash");
}

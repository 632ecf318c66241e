//! Redisson's RLock: a hash that maps its owner to the number of its holds, with the lease as its deadline.

use super::super::redisson::MODE_FIELD;
use super::Standing;
use crate::spec::{CommandError, errors};
use lockwheel_resp::number;
use lockwheel_store::keyspace::{EntryId, KeyRequest, Tx, events};
use lockwheel_store::values::{Hash, IntText};

/// The error for a key that holds a lock of the other layout.
pub(in crate::locks) const READ_WRITE: CommandError =
    CommandError::text("LOCKMODE the key holds a read-write lock");

/// Returns the state of the lock for an owner. Fails if the key holds another type, a read-write lock, or no number.
pub(in crate::locks) fn standing(
    tx: &mut Tx<'_>,
    key: &[u8],
    owner: &[u8],
) -> Result<Standing, CommandError> {
    let Some(hash) = tx.read::<Hash>(key)? else { return Ok(Standing::Free) };
    if hash.contains(MODE_FIELD) {
        return Err(READ_WRITE);
    }
    match hash.get(owner) {
        None => Ok(Standing::Others),
        Some(count) => number::parse_i64(count).map(Standing::Mine).ok_or(errors::HASH_VALUE_NOT_AN_INTEGER),
    }
}

pub(super) fn take(
    tx: &mut Tx<'_>,
    key: &[u8],
    owner: &[u8],
    holds: i64,
    lease_ms: i64,
) -> Result<EntryId, CommandError> {
    let deadline = tx.now().wall_ms().saturating_add(lease_ms);
    let edit = tx.write_or_new::<Hash>(key)?;
    let count = IntText::new(holds);
    edit.value.set(owner, &count, edit.encodings);
    let at = edit.at;
    tx.set_deadline(key, deadline);
    // The ledger is notified of the hold itself.
    tx.changed_as_known(key, events::HINCRBY);
    tx.changed_as_known(key, events::EXPIRE);
    tx.propagate_key(key, &[KeyRequest::SetField(owner, &count), KeyRequest::ExpireAt(deadline)]);
    Ok(at)
}

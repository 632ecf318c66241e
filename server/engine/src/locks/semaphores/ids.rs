//! Permits with ids and leases: a sorted set beside the semaphore, as `RPermitExpirableSemaphore` keeps it.

use super::super::key_changes;
use super::super::redisson::{NEVER_MS, permit_leases_key};
use super::holds::Id;
use crate::spec::CommandError;
use lockwheel_store::keyspace::{KeyRequest, Tx, events};
use lockwheel_store::values::ZSet;
use smallvec::SmallVec;
use std::ops::Bound;

/// Parses an id of 32 hexadecimal digits, as Redisson's clients and our replies spell it.
pub(super) fn parse(text: &[u8]) -> Option<Id> {
    let mut id = [0; 16];
    if text.len() != 32 {
        return None;
    }
    for (byte, digits) in id.iter_mut().zip(text.chunks(2)) {
        let digit = |digit: u8| char::from(digit).to_digit(16);
        *byte = (digit(digits[0])? * 16 + digit(digits[1])?) as u8;
    }
    Some(id)
}

/// Returns the hexadecimal digits of an id.
pub(super) fn text(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a new id, from the engine's seed.
pub(super) fn new(tx: &mut Tx<'_>) -> Id {
    let [high, low] = [(); 2].map(|()| tx.rng().next_u64().to_be_bytes());
    let mut id = [0; 16];
    id[..8].copy_from_slice(&high);
    id[8..].copy_from_slice(&low);
    id
}

/// Returns the number of permits with ids that are out. Fails if the key of the leases holds another type.
pub(super) fn count(tx: &mut Tx<'_>, key: &[u8]) -> Result<i64, CommandError> {
    Ok(tx.read::<ZSet>(&permit_leases_key(key))?.map_or(0, |leases| leases.len() as i64))
}

/// Returns when the lease of a permit ends, in wall milliseconds; `None` if the permit is not out.
pub(super) fn deadline_ms(tx: &mut Tx<'_>, key: &[u8], id: &Id) -> Result<Option<i64>, CommandError> {
    let leases = tx.read::<ZSet>(&permit_leases_key(key))?;
    Ok(leases.and_then(|leases| leases.score(id)).map(|score| score as i64))
}

/// Returns the permits that are out, with the ends of their leases. The first to end comes first.
pub(super) fn all(tx: &mut Tx<'_>, key: &[u8]) -> Result<Vec<(Vec<u8>, i64)>, CommandError> {
    let leases = tx.read::<ZSet>(&permit_leases_key(key))?;
    let all = leases.into_iter().flat_map(ZSet::iter);
    Ok(all.map(|(id, score)| (id.to_vec(), score as i64)).collect())
}

/// Returns when the first lease ends, in wall milliseconds. As in Redisson, an end before the epoch means none.
pub(super) fn first_deadline_ms(tx: &Tx<'_>, key: &[u8]) -> Option<i64> {
    let leases: &ZSet = lockwheel_store::keyspace::Typed::of(tx.peek(&permit_leases_key(key))?)?;
    let first = leases.ranks_by_score(Bound::Included(0.0), Bound::Included(f64::INFINITY)).start;
    let first = leases.nth(first).map(|(_, score)| score as i64);
    first.filter(|deadline| *deadline != NEVER_MS)
}

/// Removes at most `most` permits whose leases have ended. Returns their number.
pub(super) fn take_over(tx: &mut Tx<'_>, key: &[u8], most: usize) -> Result<i64, CommandError> {
    let until_ms = tx.over_until_ms() as f64;
    let leases_key = permit_leases_key(key);
    let Some(edit) = tx.write::<ZSet>(&leases_key)? else { return Ok(0) };
    let over = edit.value.ranks_by_score(Bound::Included(0.0), Bound::Included(until_ms));
    let end = over.end.min(over.start.saturating_add(most));
    let count = edit.value.remove_range(over.start..end);
    if count > 0 {
        tx.changed(&leases_key, events::ZREM);
        tx.delete_if_empty(&leases_key);
        tx.propagate_key(&leases_key, &[KeyRequest::RemoveRanks(over.start, over.start + count - 1)]);
    }
    Ok(count as i64)
}

/// Gives out permits with these ids, until an instant in wall milliseconds or the semaphore's end.
pub(super) fn give_out(
    tx: &mut Tx<'_>,
    key: &[u8],
    ids: &[Id],
    deadline_ms: i64,
) -> Result<(), CommandError> {
    let leases_key = permit_leases_key(key);
    for id in ids {
        let edit = tx.write_or_new::<ZSet>(&leases_key)?;
        edit.value.insert(id, deadline_ms as f64, edit.encodings);
        tx.changed(&leases_key, events::ZADD);
    }
    propagate_leases(tx, &leases_key, ids, deadline_ms);
    if let Some(end) = tx.deadline(key) {
        key_changes::set_deadline(tx, &leases_key, end);
    }
    Ok(())
}

/// Moves the end of the lease of a permit that is out.
pub(super) fn renew(tx: &mut Tx<'_>, key: &[u8], id: &Id, deadline_ms: i64) -> Result<(), CommandError> {
    let leases_key = permit_leases_key(key);
    if let Some(edit) = tx.write::<ZSet>(&leases_key)? {
        edit.value.insert(id, deadline_ms as f64, edit.encodings);
        tx.changed(&leases_key, events::ZADD);
        propagate_leases(tx, &leases_key, &[*id], deadline_ms);
    }
    Ok(())
}

/// Propagates the end of the leases of these permits.
fn propagate_leases(tx: &mut Tx<'_>, leases_key: &[u8], ids: &[Id], deadline_ms: i64) {
    if tx.is_propagated() {
        let leases: Vec<(&[u8], f64)> = ids.iter().map(|id| (&id[..], deadline_ms as f64)).collect();
        tx.propagate_key(leases_key, &[KeyRequest::SetScores(&leases)]);
    }
}

/// Makes the leases of these permits last at least until an instant in wall milliseconds. Returns whether any is out:
/// one whose lease has ended is nobody's, though not taken back yet. O(log n) each.
pub(super) fn prolong(
    tx: &mut Tx<'_>,
    key: &[u8],
    ids: &[Id],
    deadline_ms: i64,
) -> Result<bool, CommandError> {
    if ids.is_empty() {
        return Ok(false);
    }
    let (leases_key, over_ms) = (permit_leases_key(key), tx.over_until_ms());
    let Some(edit) = tx.write::<ZSet>(&leases_key)? else { return Ok(false) };
    let (mut are_out, mut longer) = (false, Vec::new());
    for id in ids {
        let end_ms = edit.value.score(id).map(|score| score as i64);
        let Some(end_ms) = end_ms.filter(|end_ms| *end_ms > over_ms) else { continue };
        are_out = true;
        if end_ms < deadline_ms {
            edit.value.insert(id, deadline_ms as f64, edit.encodings);
            longer.push(*id);
        }
    }
    if !longer.is_empty() {
        tx.changed(&leases_key, events::ZADD);
        propagate_leases(tx, &leases_key, &longer, deadline_ms);
    }
    Ok(are_out)
}

pub(super) fn take_back(tx: &mut Tx<'_>, key: &[u8], ids: &[Id]) -> Result<(), CommandError> {
    let leases_key = permit_leases_key(key);
    let Some(edit) = tx.write::<ZSet>(&leases_key)? else { return Ok(()) };
    let removed = ids.iter().map(|id| &id[..]).filter(|id| edit.value.remove(id).is_some());
    let removed: SmallVec<[&[u8]; 8]> = removed.collect();
    if !removed.is_empty() {
        tx.changed(&leases_key, events::ZREM);
        tx.delete_if_empty(&leases_key);
        tx.propagate_key(&leases_key, &[KeyRequest::RemoveMembers(&removed)]);
    }
    Ok(())
}

/// Takes all permits back, whatever the key of the leases holds, because the semaphore restarts.
pub(super) fn forget(tx: &mut Tx<'_>, key: &[u8]) {
    key_changes::delete(tx, &permit_leases_key(key));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_shown_as_hexadecimal_digits() {
        let id = [0, 1, 0xab, 0xff, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
        assert_eq!(text(&id), "0001abff0405060708090a0b0c0d0e0f");
        assert_eq!(parse(text(&id).to_uppercase().as_bytes()), Some(id));
        for other in ["", "00", "0001abff0405060708090a0b0c0d0e0", "0001abff0405060708090a0b0c0d0e0g"] {
            assert_eq!(parse(other.as_bytes()), None);
        }
    }
}

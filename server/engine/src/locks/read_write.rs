//! Redisson's layout of a read-write lock, as far as releasing a hold needs it.
//!
//! Such a lock can enter a key that a plain lock holds: then plain, read and write holds stand in one hash.

use super::channels;
use super::held::Held;
use super::redisson::{MODE_FIELD, READ, READ_MESSAGE, UNLOCK_MESSAGE, WRITE_SUFFIX, read_lease_key};
use crate::keyspace::{Tx, events};
use crate::spec::CommandError;
use crate::values::{Hash, IntText};
use lockwheel_resp::number;

/// Leaves an owner `left` of its holds. When a writer has none left and others remain, these are readers from now on;
/// when no owner remains, the lock is free. Redisson's waiters are notified.
pub(super) fn release(tx: &mut Tx<'_>, key: &[u8], held: &Held<'_>, left: i64) -> Result<(), CommandError> {
    let Some(edit) = tx.write::<Hash>(key)? else { return Ok(()) };
    let (at, writes) = (edit.at, held.field.ends_with(WRITE_SUFFIX));
    if left > 0 {
        edit.value.set(held.field, &IntText::new(left), edit.encodings);
        tx.changed(key, events::HINCRBY);
    } else {
        tx.field_removed(at, key, held.field);
        if let Some(edit) = tx.write::<Hash>(key)? {
            edit.value.remove(held.field);
        }
        tx.changed(key, events::HDEL);
    }
    if !writes {
        // The newest first, until one is missing; a plain hold has none.
        let timeouts = (left + 1..=held.holds).rev();
        timeouts
            .map(|n| read_lease_key(key, held.field, n))
            .take_while(|name| tx.delete(name))
            .for_each(drop);
    }
    let message = if writes { READ_MESSAGE } else { UNLOCK_MESSAGE };
    match tx.write::<Hash>(key)? {
        Some(edit) if edit.value.len() == 1 => {
            tx.delete(key);
            channels::notify_plain(tx, key);
            channels::notify_read_write(tx, key, message);
        }
        Some(edit) if writes && left == 0 => {
            edit.value.set(MODE_FIELD, READ, edit.encodings);
            tx.changed(key, events::HSET);
            channels::notify_read_write(tx, key, message);
        }
        Some(edit) if edit.value.get(MODE_FIELD) == Some(READ) => lease_of_readers(tx, key)?,
        _ => {}
    }
    Ok(())
}

/// The lease of a read lock is the longest of its readers'. O(holds).
fn lease_of_readers(tx: &mut Tx<'_>, key: &[u8]) -> Result<(), CommandError> {
    let Some(hash) = tx.read::<Hash>(key)? else { return Ok(()) };
    let holds = hash.iter().filter_map(|(owner, count)| Some((Box::from(owner), number::parse_i64(count)?)));
    let holds: Vec<(Box<[u8]>, i64)> = holds.collect();
    let mut longest = None;
    for (owner, count) in holds {
        let leases = (1..=count).rev().map_while(|n| tx.deadline(&read_lease_key(key, &owner, n)));
        longest = longest.max(leases.max());
    }
    if let Some(deadline) = longest {
        tx.set_deadline(key, deadline);
        tx.changed(key, events::EXPIRE);
    }
    Ok(())
}

//! `DELAY`: after a hold was lost, because its lease ran out or its connection ended, the lock is not granted for a
//! while. The former owner may still be using the resource that the lock protects.
//!
//! During the delay a placeholder stands in the lock: a reserved field, or a reserved string as the owner. Native
//! requests and Redisson's scripts therefore find the lock held, and see for how long. After a shared hold the
//! placeholder is a reader, so that others can read. The end of a delay wakes the waiters, as the end of a lease does.

use super::held::OwnerHold;
use super::key_changes;
use super::layouts::read_write;
use super::ledger::Delay;
use super::records;
use super::redisson::{DELAY_FIELD, MODE_FIELD, WRITE, read_lease_key, write_field};
use super::release;
use super::snapshot::{LockLayout, LockMode};
use lockwheel_store::keyspace::{KeyRequest, Tx, events};
use lockwheel_store::values::{Hash, Str, Value};

/// Does the ledger's follow-up work. With a field, the last lease of that reader has run out, or else a delay begins.
pub(crate) fn follow_up(tx: &mut Tx<'_>, key: &[u8], field: &[u8]) {
    if !field.is_empty() {
        return read_write::reap(tx, key, field);
    }
    if let Some((db, key, delay)) = records::next_delay(tx) {
        tx.select(db);
        begin(tx, &key, delay);
    }
}

/// Begins a delay, during which a lock is not granted. Present holds of other owners stay.
fn begin(tx: &mut Tx<'_>, key: &[u8], delay: Delay) {
    let ends_ms = tx.now().wall_ms().saturating_add(delay.ms);
    match tx.peek(key) {
        None => stand_in(tx, key, delay, ends_ms),
        Some(Value::Hash(hash)) if hash.contains(&write_field(DELAY_FIELD)) => lengthen(tx, key, ends_ms),
        // A shared hold of this owner has also ended in this step. Others must not see what the owner wrote.
        Some(Value::Hash(hash)) if is_only_reader(hash) && delay.mode == LockMode::Exclusive => {
            stand_in(tx, key, delay, ends_ms);
        }
        Some(Value::Hash(hash)) if hash.contains(MODE_FIELD) => read(tx, key, delay.ms, ends_ms),
        Some(Value::Hash(hash)) if hash.contains(DELAY_FIELD) => lengthen(tx, key, ends_ms),
        // The lock was granted again in the same step.
        Some(_) => {}
    }
}

fn is_only_reader(hash: &Hash) -> bool {
    hash.len() == 2 && hash.contains(MODE_FIELD) && hash.contains(DELAY_FIELD)
}

fn stand_in(tx: &mut Tx<'_>, key: &[u8], delay: Delay, ends_ms: i64) {
    let is_shared = delay.mode == LockMode::Shared;
    match delay.layout {
        LockLayout::String => {
            tx.set(key, Value::Str(Str::new(DELAY_FIELD)), false);
            tx.changed(key, events::SET);
            tx.propagate_key(key, &[KeyRequest::Set(DELAY_FIELD)]);
        }
        LockLayout::ReadWrite if is_shared => return read(tx, key, delay.ms, ends_ms),
        LockLayout::ReadWrite => put(tx, key, &[(MODE_FIELD, WRITE), (&write_field(DELAY_FIELD), b"1")]),
        _ => put(tx, key, &[(DELAY_FIELD, b"1")]),
    }
    lengthen(tx, key, ends_ms);
}

fn put(tx: &mut Tx<'_>, key: &[u8], fields: &[(&[u8], &[u8])]) {
    let Ok(edit) = tx.write_or_new::<Hash>(key) else { return };
    for (field, value) in fields {
        edit.value.set(field, value, edit.encodings);
    }
    tx.changed(key, events::HSET);
    tx.propagate_key(key, &[KeyRequest::SetFields(fields)]);
}

/// Adds or extends a placeholder reader, until `ends_ms` at least.
fn read(tx: &mut Tx<'_>, key: &[u8], ms: i64, ends_ms: i64) {
    if tx.deadline(&read_lease_key(key, DELAY_FIELD, 1)).is_none_or(|ends| ends < ends_ms) {
        // The key is free or holds a hash, so there is no error.
        let _ = read_write::read(tx, key, DELAY_FIELD, 1, ms);
    }
}

fn lengthen(tx: &mut Tx<'_>, key: &[u8], ends_ms: i64) {
    if tx.deadline(key).is_none_or(|ends| ends < ends_ms) {
        key_changes::set_deadline(tx, key, ends_ms);
    }
}

/// Returns the rest of a delay in milliseconds, if the lock is delayed. -1: until a command ends the delay.
pub(super) fn left_ms(tx: &Tx<'_>, key: &[u8]) -> Option<i64> {
    let is_read = match tx.peek(key)? {
        Value::Hash(hash) if hash.contains(DELAY_FIELD) => hash.contains(MODE_FIELD),
        Value::Hash(hash) if hash.contains(&write_field(DELAY_FIELD)) => false,
        Value::Str(text) if *text.text() == *DELAY_FIELD => false,
        _ => return None,
    };
    let ends_ms = if is_read { tx.deadline(&read_lease_key(key, DELAY_FIELD, 1)) } else { tx.deadline(key) };
    Some(ends_ms.map_or(-1, |ends_ms| ends_ms - tx.now().wall_ms()))
}

pub(super) fn end(tx: &mut Tx<'_>, key: &[u8]) {
    let writer = write_field(DELAY_FIELD);
    let (field, has_mode, is_text) = match tx.peek(key) {
        Some(Value::Hash(hash)) if hash.contains(DELAY_FIELD) => {
            (DELAY_FIELD, hash.contains(MODE_FIELD), false)
        }
        Some(Value::Hash(hash)) if hash.contains(&writer) => (&*writer, true, false),
        Some(Value::Str(text)) if *text.text() == *DELAY_FIELD => (DELAY_FIELD, false, true),
        _ => return,
    };
    // The placeholder exists, as releasing requires.
    let _ = release::leave(tx, key, &OwnerHold { field, holds: 1, has_mode, is_text }, 0);
}

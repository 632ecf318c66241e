//! `DELAY`: after a hold was lost, because its lease ran out or its connection ended, nobody gets the lock for a while.
//! Its owner may still be at work on what the lock protects.
//!
//! Meanwhile a field that is nobody's stands in the lock, or the text that is nobody's owner: whoever asks, natively or
//! by Redisson's scripts, finds the lock held, and for how long. After a shared hold it is a reader's, so that others
//! can read. The end of a delay wakes those who wait, as the end of a lease does.

use super::held::Held;
use super::layouts::read_write;
use super::ledger::Delay;
use super::records;
use super::redisson::{DELAY_FIELD, MODE_FIELD, WRITE, read_lease_key, write_field};
use super::release;
use super::snapshot::{LockLayout, LockMode};
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::{Hash, Str, Value};

/// Does what the ledger has asked for about a key: a reader's last lease has run out, whose field it is; or without a
/// field, a delay begins.
pub(crate) fn follow_up(tx: &mut Tx<'_>, key: &[u8], field: &[u8]) {
    if !field.is_empty() {
        return read_write::reap(tx, key, field);
    }
    if let Some((db, key, delay)) = records::next_delay(tx) {
        tx.select(db);
        begin(tx, &key, delay);
    }
}

/// Nobody gets a lock from now on, for so long. What others hold stays theirs.
fn begin(tx: &mut Tx<'_>, key: &[u8], delay: Delay) {
    let ends_ms = tx.now().wall_ms().saturating_add(delay.ms);
    match tx.peek(key) {
        None => stand_in(tx, key, delay, ends_ms),
        Some(Value::Hash(hash)) if hash.contains(&write_field(DELAY_FIELD)) => lengthen(tx, key, ends_ms),
        // The same owner's shared hold has ended in this step, too: what it wrote is what others must not see.
        Some(Value::Hash(hash)) if is_only_reader(hash) && delay.mode == LockMode::Exclusive => {
            stand_in(tx, key, delay, ends_ms);
        }
        Some(Value::Hash(hash)) if hash.contains(MODE_FIELD) => read(tx, key, delay.ms, ends_ms),
        Some(Value::Hash(hash)) if hash.contains(DELAY_FIELD) => lengthen(tx, key, ends_ms),
        // Somebody was given it in the same step.
        Some(_) => {}
    }
}

/// Whether nobody reads but the reader that is nobody's.
fn is_only_reader(hash: &Hash) -> bool {
    hash.len() == 2 && hash.contains(MODE_FIELD) && hash.contains(DELAY_FIELD)
}

fn stand_in(tx: &mut Tx<'_>, key: &[u8], delay: Delay, ends_ms: i64) {
    let is_shared = delay.mode == LockMode::Shared;
    match delay.layout {
        LockLayout::String => {
            tx.set(key, Value::Str(Str::new(DELAY_FIELD)), false);
            tx.changed(key, events::SET);
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
}

/// A reader that is nobody's, until then at least.
fn read(tx: &mut Tx<'_>, key: &[u8], ms: i64, ends_ms: i64) {
    if tx.deadline(&read_lease_key(key, DELAY_FIELD, 1)).is_none_or(|ends| ends < ends_ms) {
        // The key is free, or holds a hash.
        let _ = read_write::read(tx, key, DELAY_FIELD, 1, ms);
    }
}

fn lengthen(tx: &mut Tx<'_>, key: &[u8], ends_ms: i64) {
    if tx.deadline(key).is_none_or(|ends| ends < ends_ms) {
        tx.set_deadline(key, ends_ms);
        tx.changed(key, events::EXPIRE);
    }
}

/// For how many milliseconds yet nobody gets a lock, if it is delayed; -1: until somebody ends that.
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

/// Ends a delay, if there is one.
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
    // It is there, as releasing requires.
    let _ = release::leave(tx, key, &Held { field, holds: 1, has_mode, is_text }, 0);
}

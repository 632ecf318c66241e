//! The timers of hashes whose fields have deadlines. Each timer is set to the earliest deadline of the hash's fields.

use super::Database;
use crate::keyspace::entry::Entry;
use crate::keyspace::order::Order;
use crate::memory::vec_heap_bytes;
use crate::pages::Store;
use crate::time::{IndexedWheel, TimerId};
use crate::values::{Hash, Value};

/// The number of entries that may be changed before their timers are set again.
const MAX_EDITED: usize = 64;

#[derive(Debug, Default)]
pub(super) struct FieldTimers {
    wheel: IndexedWheel<Order>,
    /// The timed entries whose values may have changed since their timers were set.
    edited: Vec<u32>,
}

impl FieldTimers {
    /// Bytes of heap that they take. O(timers / 256).
    pub(super) fn heap_bytes(&self) -> usize {
        self.wheel.heap_bytes() + vec_heap_bytes(&self.edited)
    }
}

/// The value as a hash, if its fields have deadlines.
fn timed(value: &Value) -> Option<&Hash> {
    match value {
        Value::Hash(hash) if hash.is_timed() => Some(hash),
        _ => None,
    }
}

impl Database {
    /// The number of hashes whose fields have deadlines. O(1).
    pub(in crate::keyspace) fn with_timed_fields(&self) -> usize {
        let ended = |id: &&u32| timed(&self.entries.get(**id).value).is_none();
        self.fields.wheel.len() - self.fields.edited.iter().filter(ended).count()
    }

    /// Notes that the value of an entry with a timer is about to be changed.
    #[cold]
    pub(super) fn fields_edited(&mut self, id: u32) {
        if self.fields.edited.contains(&id) {
            return;
        }
        if self.fields.edited.len() >= MAX_EDITED {
            self.set_field_timers();
        }
        self.fields.edited.push(id);
    }

    /// Sets the timers of the changed entries. O(changed).
    #[inline]
    fn set_field_timers(&mut self) {
        if !self.fields.edited.is_empty() {
            self.set_edited_timers();
        }
    }

    #[cold]
    fn set_edited_timers(&mut self) {
        let mut edited = std::mem::take(&mut self.fields.edited);
        edited.drain(..).for_each(|id| self.set_field_timer(id));
        // The memory of the list serves the next changes.
        self.fields.edited = edited;
    }

    /// Sets the timer of an entry to the earliest deadline of its fields.
    #[cold]
    pub(in crate::keyspace) fn set_field_timer(&mut self, id: u32) {
        let entry = self.entries.get_mut(id);
        let first = timed(&entry.value).and_then(Hash::first_deadline);
        let (timer, wheel) = (TimerId::at(id), &mut self.fields.wheel);
        match first {
            Some((at_ms, made)) if entry.has_timed_fields() => {
                if wheel.deadline(timer) != at_ms {
                    wheel.move_to(timer, at_ms);
                }
                wheel.set_payload(timer, Order::of(made));
            }
            Some((at_ms, made)) => {
                entry.set_has_timed_fields(true);
                wheel.insert_at(id, at_ms, Order::of(made));
            }
            None if entry.has_timed_fields() => self.forget_fields(id),
            None => {}
        }
    }

    /// Removes the timer of an entry, because no field has a deadline or its value goes.
    #[cold]
    pub(super) fn forget_fields(&mut self, id: u32) {
        self.entries.get_mut(id).set_has_timed_fields(false);
        self.fields.wheel.cancel(TimerId::at(id));
        self.fields.edited.retain(|&edited| edited != id);
    }

    /// The earliest deadline of a field, in wall milliseconds, and the order in which it was made.
    #[inline]
    pub(in crate::keyspace) fn next_field_expiry(&mut self) -> Option<(i64, Order)> {
        self.set_field_timers();
        self.fields.wheel.peek()
    }

    /// Takes the entry with the earliest deadline of a field, if due at `until_ms`, without its timer.
    pub(in crate::keyspace) fn first_with_due_field(&mut self, until_ms: i64) -> Option<u32> {
        self.set_field_timers();
        let fired = self.fields.wheel.pop_due(until_ms)?;
        let id = fired.id.index();
        self.entries.get_mut(id).set_has_timed_fields(false);
        Some(id)
    }

    /// The number of the entry of a key, if one of its fields is due at `until_ms`.
    pub(in crate::keyspace) fn find_with_due_field(
        &self,
        hash: u64,
        key: &[u8],
        until_ms: i64,
    ) -> Option<u32> {
        let id = self.id(hash, key)?;
        timed(&self.entries.get(id).value)?.first_over(until_ms).map(|_| id)
    }

    /// Whether a hash is over at `until_ms`: all its fields have deadlines that have passed.
    pub(super) fn is_over(entry: &Entry, until_ms: i64) -> bool {
        timed(&entry.value).is_some_and(|hash| hash.is_over(until_ms))
    }

    /// The number of hashes that are over at `until` while their keys are not due. O(keys); O(1) without timed fields.
    pub(in crate::keyspace) fn count_over(&self, until: Option<i64>) -> usize {
        let Some(until_ms) = until else { return 0 };
        if self.fields.wheel.is_empty() {
            return 0;
        }
        let ids = self.tables.iter().flatten();
        ids.filter(|&&id| {
            Self::is_over(self.entries.get(id), until_ms)
                && self.deadline_of(id).is_none_or(|deadline| deadline > until_ms)
        })
        .count()
    }
}

//! The deadlines beside entries.

use super::Database;
use crate::keyspace::entry::Entry;
use crate::keyspace::order::Order;
use crate::pages::Store;
use crate::time::TimerId;

impl Database {
    /// The deadline of a key, in wall milliseconds.
    pub(in crate::keyspace) fn deadline(&self, hash: u64, key: &[u8]) -> Option<i64> {
        let id = self.id(hash, key).filter(|&id| self.entries.get(id).has_deadline())?;
        Some(self.deadlines.deadline(TimerId::at(id)))
    }

    pub(in crate::keyspace) fn deadline_of(&self, id: u32) -> Option<i64> {
        self.entries.get(id).has_deadline().then(|| self.deadlines.deadline(TimerId::at(id)))
    }

    /// Sets the deadline of a key, made at `order`; returns its entry, if there is such a key.
    pub(in crate::keyspace) fn set_deadline(
        &mut self,
        hash: u64,
        key: &[u8],
        deadline_ms: i64,
        order: Order,
    ) -> Option<&Entry> {
        let id = self.id(hash, key)?;
        let entry = self.entries.get_mut(id);
        if entry.has_deadline() {
            self.deadlines.move_to(TimerId::at(id), deadline_ms);
            self.deadlines.set_payload(TimerId::at(id), order);
        } else {
            entry.set_has_deadline(true);
            self.deadlines.insert_at(id, deadline_ms, order);
        }
        Some(self.entries.get(id))
    }

    /// Removes the deadline of a key; returns whether it had one.
    pub(in crate::keyspace) fn clear_deadline(&mut self, hash: u64, key: &[u8]) -> bool {
        let Some(id) = self.id(hash, key) else { return false };
        let entry = self.entries.get_mut(id);
        let had = entry.has_deadline();
        if had {
            entry.set_has_deadline(false);
            self.deadlines.cancel(TimerId::at(id));
        }
        had
    }

    /// The earliest deadline, in wall milliseconds, and the order in which it was made.
    #[inline]
    pub(in crate::keyspace) fn next_expiry(&mut self) -> Option<(i64, Order)> {
        self.deadlines.peek()
    }

    pub(in crate::keyspace) fn first_due(&mut self) -> Option<u32> {
        self.deadlines.first_id().map(TimerId::index)
    }

    /// The mean of all deadlines, in wall milliseconds. O(1).
    pub(in crate::keyspace) fn mean_deadline(&self) -> Option<i64> {
        self.deadlines.mean_deadline()
    }

    /// The number of keys that are due at `until`. O(keys with a deadline).
    pub(in crate::keyspace) fn count_due(&self, until: Option<i64>) -> usize {
        until.map_or(0, |until| self.deadlines.count_due(until))
    }
}

//! Timers of keys besides their deadlines, on the wall clock: for due events other than the key's end.

use super::order::Order;
use crate::memory::{block, tree_heap_bytes};
use std::collections::BTreeMap;

/// The event that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyTimer {
    /// The lease of a part of the key's content runs out.
    Lease,
    /// The key's deadline is near.
    Jeopardy,
    /// The key's waiters check it again. Ends with the last waiter.
    Retry,
}

/// A key of a database, and the kind of its timer.
pub(super) type Name = (usize, Box<[u8]>, KeyTimer);

/// The timers of all keys: at most one of each kind a key.
#[derive(Debug, Default)]
pub(super) struct KeyTimers {
    /// The instant of each timer, in wall milliseconds, and its place among the timers of that instant.
    places: BTreeMap<Name, (i64, u64)>,
    due: BTreeMap<(i64, u64), (Order, Name)>,
    made: u64,
    name_bytes: usize,
}

impl KeyTimers {
    /// Sets the timer of a key, replacing the one of this kind that it has. O(log n).
    pub(super) fn set(&mut self, name: Name, at_ms: i64, order: Order) {
        self.cancel(&name);
        self.made += 1;
        self.name_bytes += 2 * block(name.1.len());
        self.places.insert(name.clone(), (at_ms, self.made));
        self.due.insert((at_ms, self.made), (order, name));
    }

    /// Cancels a timer, if there is one. O(log n).
    pub(super) fn cancel(&mut self, name: &Name) {
        if let Some(place) = self.places.remove(name) {
            self.due.remove(&place);
            self.name_bytes -= 2 * block(name.1.len());
        }
    }

    /// The first due timer: its instant, in wall milliseconds, and the order in which it was made. A retry has no
    /// order: it comes before any wait ends at that instant, so that the waiter finds the key ready. O(log n).
    pub(super) fn first(&self) -> Option<(i64, Option<Order>)> {
        let (&(at_ms, _), (order, (.., timer))) = self.due.first_key_value()?;
        Some((at_ms, (*timer == KeyTimer::Lease).then_some(*order)))
    }

    /// Removes the first timer, if it is due at `until_ms` or earlier. O(log n).
    pub(super) fn pop_due(&mut self, until_ms: i64) -> Option<Name> {
        let first = self.due.first_entry().filter(|first| first.key().0 <= until_ms)?;
        let (_, name) = first.remove();
        self.places.remove(&name);
        self.name_bytes -= 2 * block(name.1.len());
        Some(name)
    }

    /// The instant of a key's timer, in wall milliseconds. O(log n).
    pub(super) fn at_ms(&self, name: &Name) -> Option<i64> {
        self.places.get(name).map(|(at_ms, _)| *at_ms)
    }

    /// Exchanges the leases of two databases, whose keys have been exchanged. O(n log n).
    pub(super) fn swap_leases(&mut self, one: usize, other: usize) {
        if self.places.is_empty() {
            return;
        }
        let moved = |db| {
            if db == one {
                other
            } else if db == other {
                one
            } else {
                db
            }
        };
        let due = std::mem::take(&mut self.due).into_iter().map(|(place, (order, (db, key, timer)))| {
            let db = if timer == KeyTimer::Retry { db } else { moved(db) };
            (place, (order, (db, key, timer)))
        });
        self.due = due.collect();
        self.places = self.due.iter().map(|(place, (_, name))| (name.clone(), *place)).collect();
    }

    /// Cancels the retry of a key that has no waiters any more. O(log n).
    pub(super) fn cancel_retry(&mut self, db: usize, key: &[u8]) {
        if !self.places.is_empty() {
            self.cancel(&(db, key.into(), KeyTimer::Retry));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes of memory of all timers. O(1).
    pub(super) fn memory(&self) -> usize {
        let trees = usize::from(!self.places.is_empty());
        tree_heap_bytes(trees, self.places.len(), size_of::<(Name, (i64, u64))>())
            + tree_heap_bytes(trees, self.due.len(), size_of::<((i64, u64), (Order, Name))>())
            + self.name_bytes
    }
}

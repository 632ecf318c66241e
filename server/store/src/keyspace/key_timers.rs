//! Timers of keys besides their deadlines, on the wall clock: something about a key is due, which is not its end.

use super::order::Order;
use crate::memory::{block, of_trees};
use std::collections::BTreeMap;

/// What is due about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyTimer {
    /// A part of what it holds runs out.
    Lease,
    /// Its deadline is near.
    Jeopardy,
    /// Those who wait for it look at it again; ends with the last of them.
    Retry,
}

/// A key of a database, and what is due about it.
pub(super) type Name = (usize, Box<[u8]>, KeyTimer);

/// The timers of all keys, at most one of each kind for a key.
#[derive(Debug, Default)]
pub(super) struct KeyTimers {
    /// When each is due, in wall milliseconds, and its place among those that are due then.
    places: BTreeMap<Name, (i64, u64)>,
    due: BTreeMap<(i64, u64), (Order, Name)>,
    made: u64,
    /// Bytes of memory of the names of keys.
    name_bytes: usize,
}

impl KeyTimers {
    /// Sets the timer of a key, instead of the one of this kind that it has. O(log n).
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

    /// The first timer that is due: when, in wall milliseconds, and when it was made, nothing for a retry: what is
    /// waited for is there before any wait ends at that instant. O(log n).
    pub(super) fn first(&self) -> Option<(i64, Option<Order>)> {
        let (&(at_ms, _), (order, (.., timer))) = self.due.first_key_value()?;
        Some((at_ms, (*timer == KeyTimer::Lease).then_some(*order)))
    }

    /// Removes the first timer, if it is due no later than at `until_ms`. O(log n).
    pub(super) fn pop_due(&mut self, until_ms: i64) -> Option<Name> {
        let first = self.due.first_entry().filter(|first| first.key().0 <= until_ms)?;
        let (_, name) = first.remove();
        self.places.remove(&name);
        self.name_bytes -= 2 * block(name.1.len());
        Some(name)
    }

    /// When the timer of a key is due, in wall milliseconds. O(log n).
    pub(super) fn at_ms(&self, name: &Name) -> Option<i64> {
        self.places.get(name).map(|(at_ms, _)| *at_ms)
    }

    /// The leases of two databases go with their keys, which have been exchanged. O(n log n).
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

    /// Cancels the retry of a key that nobody waits for any more. O(log n).
    pub(super) fn cancel_retry(&mut self, db: usize, key: &[u8]) {
        if !self.places.is_empty() {
            self.cancel(&(db, key.into(), KeyTimer::Retry));
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes of memory of all of it. O(1).
    pub(super) fn memory(&self) -> usize {
        let trees = usize::from(!self.places.is_empty());
        of_trees(trees, self.places.len(), size_of::<(Name, (i64, u64))>())
            + of_trees(trees, self.due.len(), size_of::<((i64, u64), (Order, Name))>())
            + self.name_bytes
    }
}

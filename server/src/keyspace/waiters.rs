//! Who waits for which keys, in order of arrival, and which of those keys have been signalled.

use super::place::{At, Place};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;

/// A client that waits, as the engine numbers it.
pub type WaiterId = u64;

/// A key that has changed while somebody waited for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyKey {
    /// Its database.
    pub db: usize,
    /// Its name.
    pub key: Box<[u8]>,
}

/// One waiter in the queue of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// The client.
    pub id: WaiterId,
    /// What kind of readiness it waits for; the engine's classes in their order.
    pub class: u8,
    /// A name for people: the owner that a native lock waits for.
    pub label: Box<[u8]>,
}

/// The queues of all waited-for keys.
#[derive(Debug, Default)]
pub struct Waiters {
    /// By key, then by a number that grows with each arrival.
    queues: HashMap<Place, BTreeMap<u64, Waiter>, foldhash::fast::FixedState>,
    arrivals: u64,
    ready: Vec<ReadyKey>,
    /// What `ready` holds, so that a key signalled often is asked once.
    ready_set: HashSet<Place, foldhash::fast::FixedState>,
}

impl Waiters {
    /// How many keys are waited for.
    pub fn keys(&self) -> usize {
        self.queues.len()
    }

    /// A number for a client that begins to wait; it keeps it on all its keys. O(1).
    pub fn arrive(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }

    /// Puts a waiter at its place in the queue of a key. O(log n).
    pub fn add(&mut self, db: usize, key: &[u8], arrival: u64, waiter: Waiter) {
        self.queues.entry((db, key.into())).or_default().insert(arrival, waiter);
    }

    /// Takes it out again. O(log n).
    pub fn remove(&mut self, db: usize, key: &[u8], arrival: u64) {
        if let Some(queue) = self.queues.get_mut(&At(db, key)) {
            queue.remove(&arrival);
            if queue.is_empty() {
                self.queues.remove(&At(db, key));
            }
        }
    }

    /// Whether anybody waits for the key.
    pub(super) fn waits_for(&self, db: usize, key: &[u8]) -> bool {
        !self.queues.is_empty() && self.queues.contains_key(&At(db, key))
    }

    /// The queue of a key, in order of arrival.
    pub fn queue(&self, db: usize, key: &[u8]) -> impl Iterator<Item = (u64, &Waiter)> {
        let queue = if self.queues.is_empty() { None } else { self.queues.get(&At(db, key)) };
        queue.into_iter().flatten().map(|(&arrival, waiter)| (arrival, waiter))
    }

    /// The first waiter of a key after `arrival`, if any.
    pub fn next_after(&self, ready: &ReadyKey, arrival: u64) -> Option<(u64, &Waiter)> {
        let queue = self.queues.get(&At(ready.db, &ready.key))?;
        queue.range(arrival + 1..).next().map(|(&arrival, waiter)| (arrival, waiter))
    }

    /// The key has changed.
    pub(super) fn signal(&mut self, db: usize, key: &[u8]) {
        if self.queues.is_empty() {
            return;
        }
        if self.queues.contains_key(&At(db, key)) && self.ready_set.insert((db, key.into())) {
            self.ready.push(ReadyKey { db, key: key.into() });
        }
    }

    /// The waited-for keys of a database, in the order of who came first, so that it is always the same.
    pub(super) fn keys_of(&self, db: usize) -> Vec<Box<[u8]>> {
        let mut keys: Vec<(u64, Box<[u8]>)> = self
            .queues
            .iter()
            .filter(|((of, _), _)| *of == db)
            .filter_map(|((_, key), queue)| Some((*queue.keys().next()?, key.clone())))
            .collect();
        keys.sort_unstable();
        keys.into_iter().map(|(_, key)| key).collect()
    }

    /// Whether a waited-for key has been signalled.
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The signalled keys, in order, each once.
    pub fn take_ready(&mut self) -> Vec<ReadyKey> {
        self.ready_set.clear();
        std::mem::take(&mut self.ready)
    }
}

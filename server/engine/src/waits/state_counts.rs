//! The states of the server that requests wait for, by kind, and their numbers.

use crate::locks::ListenerCount;
use lockwheel_store::keyspace::DbKey;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The subject of a state of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateOf {
    /// Clients that wait.
    Waits,
    /// Clients that wait, or listen to channels of locks.
    Listeners,
    /// Clients that listen to channels.
    Subscribers,
    /// The clients, and their names.
    Clients,
    /// The history of locks.
    History,
    /// The numbers of calls: see [`CountWaits`](super::count_waits::CountWaits).
    Calls,
    /// The rules of faults, and what they have done: likewise.
    Rules,
    /// Acknowledgements of replicas.
    Replicas,
    /// Silence, which time brings about and requests only put off.
    Silence,
}

impl StateOf {
    pub(crate) const ALL: [Self; 9] = [
        StateOf::Waits,
        StateOf::Listeners,
        StateOf::Subscribers,
        StateOf::Clients,
        StateOf::History,
        StateOf::Calls,
        StateOf::Rules,
        StateOf::Replicas,
        StateOf::Silence,
    ];
}

/// Numbers that several waits are about, while these are retried: each is counted once.
#[derive(Debug, Default)]
pub(crate) struct StateCounts {
    known: RefCell<Option<BTreeMap<Vec<u8>, u64>>>,
    listeners: RefCell<Listeners>,
}

/// Counts of those who wait for locks by subscriptions, by lock, and those that the waits of this round are about: a
/// count that none is about any more is dropped.
#[derive(Debug, Default)]
struct Listeners {
    kept: BTreeMap<DbKey, ListenerCount>,
    used: BTreeMap<DbKey, ListenerCount>,
}

impl StateCounts {
    /// Waits are retried from now on.
    pub(crate) fn begin(&mut self) {
        self.known = RefCell::new(Some(BTreeMap::new()));
    }

    /// All waits for a kind of state have been retried.
    pub(crate) fn end(&mut self, of: StateOf) {
        self.known = RefCell::default();
        if of == StateOf::Listeners {
            let listeners = self.listeners.get_mut();
            listeners.kept = std::mem::take(&mut listeners.used);
        }
    }

    /// Forgets the counts: nobody waits for listeners any more.
    pub(crate) fn forget_listeners(&mut self) {
        self.listeners = RefCell::default();
    }

    /// The number of this name, which `count` counts.
    pub(crate) fn get(&self, name: impl FnOnce() -> Vec<u8>, count: impl FnOnce() -> u64) -> u64 {
        // Counted while nothing is borrowed: a count may ask for others.
        let name = match &*self.known.borrow() {
            Some(known) => {
                let name = name();
                if let Some(&number) = known.get(&name) {
                    return number;
                }
                name
            }
            None => return count(),
        };
        let number = count();
        if let Some(known) = &mut *self.known.borrow_mut() {
            known.insert(name, number);
        }
        number
    }

    /// What `count` counts of those who wait for a lock by subscriptions, with the count of the last round if waits are
    /// retried.
    pub(crate) fn of_listeners(
        &self,
        (db, key): (usize, &[u8]),
        count: impl FnOnce(&mut ListenerCount) -> usize,
    ) -> usize {
        if self.known.borrow().is_none() {
            return count(&mut ListenerCount::default());
        }
        let lock: DbKey = (db, key.into());
        let mut listeners = self.listeners.borrow_mut();
        let kept = listeners.kept.remove(&lock);
        count(listeners.used.entry(lock).or_insert_with(|| kept.unwrap_or_default()))
    }
}

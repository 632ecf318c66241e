//! The states of the server that requests wait for, by kind, and their numbers.

use std::cell::RefCell;
use std::collections::BTreeMap;

/// The subject of a state of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateOf {
    /// Anything: it is looked at after each request.
    Anything,
    /// Clients that wait.
    Waits,
    /// Clients that wait, or listen to channels.
    Listeners,
    /// The clients, and their names.
    Clients,
    /// The history of locks.
    History,
}

impl StateOf {
    pub(super) const ALL: [Self; 5] =
        [StateOf::Anything, StateOf::Waits, StateOf::Listeners, StateOf::Clients, StateOf::History];
}

/// Numbers that several waits are about, while these are retried: each is counted once.
#[derive(Debug, Default)]
pub(crate) struct StateCounts {
    known: RefCell<Option<BTreeMap<Vec<u8>, u64>>>,
}

impl StateCounts {
    /// Counts that are kept from now on.
    pub(super) fn kept() -> Self {
        StateCounts { known: RefCell::new(Some(BTreeMap::new())) }
    }

    /// The number of this name, which `count` counts.
    pub(crate) fn get(&self, name: impl FnOnce() -> Vec<u8>, count: impl FnOnce() -> u64) -> u64 {
        match &mut *self.known.borrow_mut() {
            Some(known) => *known.entry(name()).or_insert_with(count),
            None => count(),
        }
    }
}

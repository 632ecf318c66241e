//! The kinds of server states that requests wait for, and their counts.

use crate::locks::ListenerCount;
use lockwheel_store::keyspace::DbKey;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The kind of a server state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateOf {
    /// Waiting clients.
    Waits,
    /// Clients that wait, or that listen to channels of locks.
    Listeners,
    /// Clients that listen to channels.
    Subscribers,
    /// The clients, and their names.
    Clients,
    /// The history of locks.
    History,
    /// The numbers of calls; see [`CountWaits`](super::count_waits::CountWaits).
    Calls,
    /// The rules of faults and the numbers of their acts; see [`CountWaits`](super::count_waits::CountWaits).
    Rules,
    /// Acknowledgements of replicas.
    Replicas,
    /// Silence of clients. Time brings it about, and requests only delay it.
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

/// Counts that several waits share. While waits are retried, each is computed once.
#[derive(Debug, Default)]
pub(crate) struct StateCounts {
    known: RefCell<Option<BTreeMap<Vec<u8>, u64>>>,
    listeners: RefCell<Listeners>,
}

/// The counts of clients that wait for locks by subscriptions, by lock. `used` holds those that the waits of this round
/// need. A count that no wait needs any more is dropped.
#[derive(Debug, Default)]
struct Listeners {
    kept: BTreeMap<DbKey, ListenerCount>,
    used: BTreeMap<DbKey, ListenerCount>,
}

impl StateCounts {
    /// Begins the retries of waits.
    pub(crate) fn begin(&mut self) {
        self.known = RefCell::new(Some(BTreeMap::new()));
    }

    pub(crate) fn end(&mut self, of: StateOf) {
        self.known = RefCell::default();
        if of == StateOf::Listeners {
            let listeners = self.listeners.get_mut();
            listeners.kept = std::mem::take(&mut listeners.used);
        }
    }

    /// Forgets the counts of listeners, because no client waits for them any more.
    pub(crate) fn forget_listeners(&mut self) {
        self.listeners = RefCell::default();
    }

    /// Returns the number with this name, computed by `count` if it is not known yet.
    pub(crate) fn get(&self, name: impl FnOnce() -> Vec<u8>, count: impl FnOnce() -> u64) -> u64 {
        // Nothing is borrowed during the computation, because `count` may ask for other counts.
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

    /// Returns what `count` computes of a lock's waiting subscribers, in a round of retries from the last count on.
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

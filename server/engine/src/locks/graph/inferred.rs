//! Whom those wait for that only listen to a lock's channel: Redisson's clients, of whose threads one subscription does
//! not tell.
//!
//! The history tells: a script that names its owner is refused, then its client subscribes, as others of the same
//! instance do no more. So the owners that wait by a subscription are those of its instance whose last script for that
//! lock was refused.

use super::super::history::{Entry, Event, Mode, Name, Ring};
use super::super::redisson;
use std::collections::BTreeMap;

/// What is known of a lock.
#[derive(Debug, Default)]
pub(in crate::locks) struct Asked {
    /// The owners whose last script was refused, with their clients.
    refused: BTreeMap<Name, u64>,
    /// Who was refused last.
    last: Option<Name>,
    /// Who listens, and who was refused last before that.
    listeners: BTreeMap<u64, Name>,
}

impl Asked {
    /// Takes an entry of the lock in.
    pub(in crate::locks) fn follow(&mut self, entry: &Entry) {
        let is_listener =
            entry.native() == Some(false) && entry.mode != Mode::Fair && entry.owner == Name::NONE;
        match entry.event {
            Event::Refused if entry.native().is_none() => {
                self.refused.insert(entry.owner, entry.client);
                self.last = Some(entry.owner);
            }
            Event::Acquired | Event::Reentered => drop(self.refused.remove(&entry.owner)),
            Event::Queued if is_listener => {
                if let Some(last) = self.last {
                    self.listeners.insert(entry.client, last);
                }
            }
            Event::LeftQueue if is_listener => drop(self.listeners.remove(&entry.client)),
            _ => {}
        }
    }

    /// Whether an owner was refused, and its instance listens. O(listeners).
    pub(in crate::locks) fn is_waiting(&self, ring: &Ring, owner: Name) -> bool {
        let mut listeners = self.listeners.values();
        self.refused.contains_key(&owner) && listeners.any(|first| is_one_instance(ring, owner, *first))
    }

    /// Who was refused last before a client began to listen. O(log n).
    pub(in crate::locks) fn first_of(&self, client: u64) -> Option<Name> {
        self.listeners.get(&client).copied()
    }

    /// A client is gone.
    pub(in crate::locks) fn is_gone(&mut self, client: u64) {
        self.listeners.remove(&client);
        self.refused.retain(|_, by| *by != client);
    }
}

/// Whether two owners are threads of one instance of Redisson.
pub(in crate::locks) fn is_one_instance(ring: &Ring, one: Name, other: Name) -> bool {
    let instance = |name| redisson::instance_of(ring.text(name));
    one == other || instance(one).is_some_and(|uuid| Some(uuid) == instance(other))
}

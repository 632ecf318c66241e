//! The subscriptions to the owners' own channels. A Redisson thread in a fair queue waits on such a channel, even if
//! the pooled connection that asked for the lock is closed.

use super::super::history::{Entry, Event, Mode, Name};
use lockwheel_store::memory::{map_heap_bytes, set_heap_bytes};
use std::collections::{BTreeMap, BTreeSet};

/// Listeners to the channels of owners, and the clients that are gone.
#[derive(Debug, Default)]
pub(super) struct OwnChannels {
    /// Subscriptions by client, lock and owner.
    subscriptions: BTreeSet<(u64, Name, Name)>,
    /// The number of clients that listen to the channel of a lock and owner.
    listeners: BTreeMap<(Name, Name), usize>,
    gone: BTreeSet<u64>,
}

impl OwnChannels {
    /// Returns the memory in bytes. O(1).
    pub(super) fn memory(&self) -> usize {
        set_heap_bytes(&self.subscriptions) + map_heap_bytes(&self.listeners) + set_heap_bytes(&self.gone)
    }

    /// Updates the subscriptions by an entry. `owner` is the name that represents its owner here. O(log n), plus the
    /// subscriptions of a client that disconnects.
    pub(super) fn take_in(&mut self, entry: &Entry, owner: Name) {
        if entry.event == Event::Disconnect {
            return self.is_gone(entry.client);
        }
        if !is_of_channel(entry) {
            return;
        }
        let subscription = (entry.client, entry.key, owner);
        match entry.event {
            Event::Queued if self.subscriptions.insert(subscription) => {
                *self.listeners.entry((entry.key, owner)).or_default() += 1;
            }
            Event::LeftQueue if self.subscriptions.remove(&subscription) => self.left(subscription),
            _ => {}
        }
    }

    fn is_gone(&mut self, client: u64) {
        self.gone.insert(client);
        while let Some(&of) = self.subscriptions.range((client, Name::NONE, Name::NONE)..).next()
            && of.0 == client
        {
            self.subscriptions.remove(&of);
            self.left(of);
        }
    }

    fn left(&mut self, (_, key, owner): (u64, Name, Name)) {
        if let Some(count) = self.listeners.get_mut(&(key, owner)) {
            *count -= 1;
            if *count == 0 {
                self.listeners.remove(&(key, owner));
            }
        }
    }

    /// Whether a client is gone. O(log n).
    pub(super) fn has_lost(&self, client: u64) -> bool {
        self.gone.contains(&client)
    }

    /// Whether a place in a fair queue is abandoned: its client is gone, and none listens for the owner. O(log n).
    pub(super) fn is_left(&self, key: Name, owner: Name, client: u64) -> bool {
        self.has_lost(client) && !self.listeners.contains_key(&(key, owner))
    }
}

/// Whether an entry begins or ends a client's subscription to the channel of an owner.
pub(super) fn is_of_channel(entry: &Entry) -> bool {
    let is_subscription = matches!(entry.event, Event::Queued | Event::LeftQueue)
        && entry.native() == Some(false)
        && entry.mode != Mode::Fair;
    is_subscription && entry.owner != Name::NONE
}

//! A repeated count of the clients that wait for a lock by subscriptions. Each entry of the history is read once.

use super::super::channel_waiters::{ChannelWaiter, channel_waiters};
use super::super::history::{Entry, Event, Name, Names, Ring, shown};
use super::super::records::LockRecords;
use super::super::redisson::{instance_of, owner_of};
use super::listeners::ListenerState;
use crate::pubsub::PubSub;
use lockwheel_store::keyspace::Keyspace;

/// A count of the clients that wait for one lock by subscriptions. It continues where it last stopped reading.
///
/// The first entry that matters is a refusal for the lock: losing earlier entries does not change the count. Once that
/// refusal no longer counts for waits, all entries that count are read again, as all other readers do.
#[derive(Debug, Default)]
pub(crate) struct ListenerCount {
    known: Option<Known>,
    /// The number of entries that have been read.
    looks: u64,
}

/// The part of a history that has been read.
#[derive(Debug)]
struct Known {
    reader: ListenerState,
    /// A copy of the names, since the history reuses the numbers of names whose entries it has dropped.
    names: Names,
    lock: Name,
    /// The number of this history among all that have begun.
    history: u64,
    /// The first entry that mattered. `None`: no entry has mattered yet.
    first: Option<u64>,
    /// The entry at which reading began, and the entry after the last one read.
    began: u64,
    next: u64,
}

impl Known {
    fn new(ring: &Ring, history: u64, (db, key): (usize, &[u8])) -> Self {
        let mut names = ring.names().none_of_these();
        let lock = names.intern(db, &shown(key));
        let began = ring.first_of_waits();
        Known { reader: ListenerState::default(), names, lock, history, first: None, began, next: began }
    }

    /// Whether reading can continue with the present entries of the history.
    fn can_go_on(&self, ring: &Ring, history: u64) -> bool {
        let from = ring.first_of_waits();
        let has_all = self.began <= from && from <= self.next && self.next <= ring.next();
        self.history == history && has_all && self.first.is_none_or(|first| from <= first)
    }

    /// Reads the entries since the last call. Returns their number.
    fn go_on(&mut self, ring: &Ring) -> u64 {
        let before = self.next;
        for (seq, entry) in ring.after(before.saturating_sub(1)) {
            self.take_in(ring, seq, entry);
            self.next = seq + 1;
        }
        self.next - before
    }

    fn take_in(&mut self, ring: &Ring, seq: u64, entry: &Entry) {
        let matters = matches!(
            entry.event,
            Event::Refused
                | Event::Acquired
                | Event::Reentered
                | Event::Released
                | Event::Queued
                | Event::LeftQueue
        );
        if !matters {
            return;
        }
        let mut own = |name: Name| match name {
            Name::NONE => name,
            name => self.names.intern(ring.db(name).unwrap_or(0), ring.text(name)),
        };
        let mut entry = *entry;
        (entry.key, entry.owner) = (own(entry.key), own(entry.owner));
        let is_wanted = entry.key == self.lock;
        // Before the first refusal, no entry changes the state of the reader.
        if is_wanted && entry.event == Event::Refused {
            self.first.get_or_insert(seq);
        }
        self.reader.take_in(&self.names, &entry, is_wanted);
    }

    /// Whether a client that listens to the lock's channel waits. O(log n), plus the threads of its instance.
    fn waits(&self, waiter: &ChannelWaiter) -> bool {
        let is_refused = |owner: &[u8]| {
            self.reader.refused.get(owner_of(owner)).is_some_and(|refusals| refusals.key == self.lock)
        };
        if let Some(owner) = &waiter.owner {
            let owner = &*shown(owner);
            return instance_of(owner).is_none() || is_refused(owner);
        }
        let first = self.reader.listeners.get(&(self.lock, waiter.client));
        let Some(instance) = first.and_then(|first| instance_of(self.names.text_of(*first))) else {
            return true;
        };
        let of_instance = self.reader.refused.range(Box::from(instance)..);
        let mut of_instance = of_instance.take_while(|(owner, _)| owner.starts_with(instance));
        of_instance.any(|(_, refusals)| refusals.key == self.lock && refusals.count > 1)
    }
}

impl ListenerCount {
    /// Counts the clients that wait for a lock by subscriptions. The lock must be the same in all calls. O(n), n the
    /// patterns, the listeners, and the entries of the history since the last count.
    pub(crate) fn count(&mut self, keyspace: &Keyspace, pubsub: &PubSub, lock: (usize, &[u8])) -> usize {
        let waiters = channel_waiters(pubsub, lock.1);
        if waiters.is_empty() {
            return 0;
        }
        let records = LockRecords::in_keyspace(keyspace);
        let Some((records, history)) = records.and_then(|records| Some((records, records.history()?))) else {
            self.known = None;
            return waiters.len();
        };
        let ring = history.ring();
        let known = self.known.take().filter(|known| known.can_go_on(ring, records.histories));
        let known = self.known.insert(known.unwrap_or_else(|| Known::new(ring, records.histories, lock)));
        self.looks += known.go_on(ring);
        waiters.iter().filter(|waiter| known.waits(waiter)).count()
    }

    #[cfg(test)]
    pub(crate) fn looks(&self) -> u64 {
        self.looks
    }
}

//! `thundering-herd`: the release of a lock does not wake many more waiters than can have the lock.
//!
//! Redisson's clients listen to a channel of the lock. On its release all of them are notified and ask again, and all
//! but one are refused. A native waiter asks only once.

use super::super::history::{Entry, Event, Name};
use super::finding::{Finding, Severity, words};
use super::findings::Findings;
use super::invariant::Invariant;
use super::locks::View;
use lockwheel_store::memory::{map_heap_bytes, set_heap_bytes, tree_heap_bytes};
use lockwheel_store::time::Now;
use std::collections::{BTreeMap, BTreeSet};

/// The cost of a hand-off.
#[derive(Clone, Copy, Debug, Default)]
struct HandOff {
    /// The entry at which the lock became free. 0: the lock has not become free yet.
    freed: u64,
    /// The number of requests refused since then, from owners that had been refused before it, and the last such entry.
    in_vain: u64,
    last: u64,
}

/// A lock whose channel clients listen to.
#[derive(Debug, Default)]
struct Herd {
    /// The number of clients that listen.
    listeners: usize,
    /// The refused owners, each with the hand-off after which it was refused first.
    refused: BTreeMap<Name, u64>,
    now: HandOff,
    worst: HandOff,
    hand_offs: u64,
    /// The cost of all hand-offs.
    in_vain: u64,
}

#[derive(Debug)]
pub(super) struct Herds {
    limit: u64,
    by_key: BTreeMap<Name, Herd>,
    /// The clients with the locks whose channels they listen to.
    listening: BTreeSet<(u64, Name)>,
    /// The number of refused owners of all locks.
    refused: usize,
}

impl Herds {
    /// Creates the check. A hand-off with more than `limit` refused requests is reported.
    pub(super) fn new(limit: u64) -> Self {
        Herds { limit, by_key: BTreeMap::new(), listening: BTreeSet::new(), refused: 0 }
    }

    fn listens(&mut self, client: u64, key: Name) {
        if self.listening.insert((client, key)) {
            self.by_key.entry(key).or_default().listeners += 1;
        }
    }

    fn left(&mut self, client: u64, key: Name) {
        if self.listening.remove(&(client, key))
            && let Some(herd) = self.by_key.get_mut(&key)
        {
            self.refused -= herd.refused.len();
            herd.left();
            self.refused += herd.refused.len();
        }
    }

    fn is_gone(&mut self, client: u64) {
        let of_client = self.listening.range((client, Name::NONE)..(client + 1, Name::NONE));
        for (client, key) in of_client.copied().collect::<Vec<_>>() {
            self.left(client, key);
        }
    }
}

impl Herd {
    fn freed(&mut self, seq: u64) {
        if self.listeners > 0 {
            self.now = HandOff { freed: seq, ..HandOff::default() };
            self.hand_offs += 1;
        }
    }

    fn refused(&mut self, seq: u64, owner: Name) {
        if *self.refused.entry(owner).or_insert(self.now.freed) == self.now.freed {
            return;
        }
        self.in_vain += 1;
        self.now.in_vain += 1;
        self.now.last = seq;
        if self.now.in_vain > self.worst.in_vain {
            self.worst = self.now;
        }
    }

    fn left(&mut self) {
        self.listeners -= 1;
        if self.listeners == 0 {
            self.refused.clear();
            self.now = HandOff::default();
        }
    }
}

impl Invariant for Herds {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, _: &mut Findings) {
        let listens = entry.native() == Some(false) && entry.owner == Name::NONE;
        match entry.event {
            Event::Queued if listens => self.listens(entry.client, entry.key),
            Event::LeftQueue if listens => self.left(entry.client, entry.key),
            Event::Disconnect => self.is_gone(entry.client),
            _ => {}
        }
        let Some(herd) = self.by_key.get_mut(&entry.key) else { return };
        self.refused -= herd.refused.len();
        match entry.event {
            Event::Released if entry.holds > 0 => {}
            Event::Released | Event::Lost => {
                let holds = view.lock(entry.key).map(|lock| &lock.holds);
                if holds.is_some_and(|holds| holds.len() == usize::from(holds.contains(entry.owner))) {
                    herd.freed(seq);
                }
            }
            Event::Acquired => drop(herd.refused.remove(&entry.owner)),
            Event::Refused if entry.native().is_none() => herd.refused(seq, entry.owner),
            _ => {}
        }
        self.refused += herd.refused.len();
    }

    fn end(&mut self, view: View<'_>, _: Now, findings: &mut Findings) {
        for (&key, herd) in self.by_key.iter().filter(|(_, herd)| herd.worst.in_vain > self.limit) {
            let Herd { worst, hand_offs, in_vain, .. } = herd;
            let (lock, most) = (words(view.ring, key), worst.in_vain);
            findings.push(view.ring, Finding {
                level: Severity::Lint,
                invariant: "thundering-herd",
                key,
                seqs: vec![worst.freed, worst.last],
                owners: Vec::new(),
                text: format!(
                    "a hand-off of {lock} woke {most} clients in vain; clients woken in vain by all hand-offs \
                     ({hand_offs}): {in_vain}"
                ),
            });
        }
    }

    fn memory(&self) -> usize {
        let refused = tree_heap_bytes(0, self.refused, size_of::<(Name, u64)>());
        map_heap_bytes(&self.by_key) + set_heap_bytes(&self.listening) + refused
    }
}

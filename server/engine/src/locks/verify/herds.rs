//! `thundering-herd`: a lock that is given back does not wake many more of those who wait than can have it.
//!
//! Redisson's clients listen to a channel of the lock; all of them are told that it is free, all ask again, and all but
//! one are refused. Who waits natively asks once.

use super::super::history::{Entry, Event, Name};
use super::finding::{Finding, Level, words};
use super::findings::Findings;
use super::invariant::Invariant;
use super::locks::View;
use lockwheel_store::memory::{of_map, of_set, of_trees};
use lockwheel_store::time::Now;
use std::collections::{BTreeMap, BTreeSet};

/// What a hand-off has cost.
#[derive(Clone, Copy, Debug, Default)]
struct HandOff {
    /// The entry with which the lock became free; 0: it has not been yet.
    freed: u64,
    /// Requests that were refused since, of those who had been refused before; and the last of them.
    in_vain: u64,
    last: u64,
}

/// A lock that some wait for by its channel.
#[derive(Debug, Default)]
struct Herd {
    /// How many clients do.
    listeners: usize,
    /// Who waits: after which hand-off it was refused first.
    refused: BTreeMap<Name, u64>,
    now: HandOff,
    /// The one that has cost most.
    worst: HandOff,
    hand_offs: u64,
    /// What all of them have cost.
    in_vain: u64,
}

#[derive(Debug)]
pub(super) struct Herds {
    limit: u64,
    by_key: BTreeMap<Name, Herd>,
    /// Which locks' channels clients listen to.
    listening: BTreeSet<(u64, Name)>,
    /// The number of those who have been refused, of all locks.
    refused: usize,
}

impl Herds {
    /// More requests in vain than this are too many for one hand-off.
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
                level: Level::Lint,
                invariant: "thundering-herd",
                key,
                seqs: vec![worst.freed, worst.last],
                owners: Vec::new(),
                text: format!(
                    "a hand-off of {lock} woke {most} who asked in vain; all hand-offs: {hand_offs}, with {in_vain} \
                     such requests"
                ),
            });
        }
    }

    fn memory(&self) -> usize {
        let refused = of_trees(0, self.refused, size_of::<(Name, u64)>());
        of_map(&self.by_key) + of_set(&self.listening) + refused
    }
}

//! The waits for a lock, indexed in the orders that searches need.

use super::super::history::Name;
use lockwheel_store::memory::{map_heap_bytes, set_heap_bytes};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// The entry at which the wait began.
    pub(super) seq: u64,
    pub(super) owner: Name,
    pub(super) client: u64,
    /// Whether the wait is a place in a fair lock's queue.
    pub(super) is_fair: bool,
    pub(super) is_native: bool,
    /// Whether the request wants several locks. It is served once all of them are free.
    pub(super) wants_several: bool,
    /// Whether the request wants to share several locks. It does not wait for holders that share this lock.
    pub(super) shares_several: bool,
    pub(super) since_ms: i64,
}

/// The key by which a wait is removed: whether it is fair, whether it is native, its owner, its client (0 in a fair
/// queue, where only the owner counts), whether it wants several locks, and its entry.
type ByOwner = (bool, bool, Name, u64, bool, u64);

/// The waits for a lock in the order of their entries.
#[derive(Debug, Default)]
pub(super) struct Line {
    by_seq: BTreeMap<u64, Waiting>,
    by_owner: BTreeSet<ByOwner>,
    fair: BTreeSet<u64>,
    native: BTreeSet<u64>,
    /// Native waits except those that share several locks.
    alone: BTreeSet<u64>,
    /// Waits that are neither fair nor native: subscriptions to the lock's channel.
    listening: BTreeSet<u64>,
    /// The number of waits for several locks.
    several: usize,
}

fn by_owner(one: &Waiting) -> ByOwner {
    let client = if one.is_fair { 0 } else { one.client };
    (one.is_fair, one.is_native, one.owner, client, one.wants_several, one.seq)
}

impl Line {
    /// Returns the memory in bytes. O(1).
    pub(super) fn memory(&self) -> usize {
        let kinds = [&self.fair, &self.native, &self.alone, &self.listening];
        map_heap_bytes(&self.by_seq)
            + set_heap_bytes(&self.by_owner)
            + kinds.into_iter().map(set_heap_bytes).sum::<usize>()
    }

    /// Returns the number of waits. O(1).
    pub(super) fn len(&self) -> usize {
        self.by_seq.len()
    }

    /// Whether a waiter wants several locks. O(1).
    pub(super) fn has_several(&self) -> bool {
        self.several > 0
    }

    /// Whether a native waiter is outside the fair queue. O(log n).
    pub(super) fn has_plain_native(&self) -> bool {
        let first = self.by_owner.range((false, true, Name::NONE, 0, false, 0)..).next();
        first.is_some_and(|one| (one.0, one.1) == (false, true))
    }

    /// Returns the head of a fair lock's queue. O(log n).
    pub(super) fn first_fair(&self) -> Option<&Waiting> {
        self.by_seq.get(self.fair.first()?)
    }

    /// Returns the first native wait. O(log n).
    pub(super) fn first_native(&self) -> Option<&Waiting> {
        self.by_seq.get(self.native.first()?)
    }

    /// Whether a native wait began before this entry, apart from waits that share several locks. O(log n).
    pub(super) fn has_alone_before(&self, seq: u64) -> bool {
        self.alone.first().is_some_and(|first| *first < seq)
    }

    /// Returns the places in a fair lock's queue.
    pub(super) fn fair(&self) -> impl Iterator<Item = &Waiting> {
        self.fair.iter().filter_map(|seq| self.by_seq.get(seq))
    }

    /// Returns the subscriptions of a lock's channel.
    pub(super) fn listening(&self) -> impl Iterator<Item = &Waiting> {
        self.listening.iter().filter_map(|seq| self.by_seq.get(seq))
    }

    /// Adds a wait. O(log n).
    pub(super) fn push(&mut self, one: Waiting) {
        self.by_owner.insert(by_owner(&one));
        if one.is_fair {
            self.fair.insert(one.seq);
        }
        if one.is_native {
            self.native.insert(one.seq);
        }
        if one.is_native && !one.shares_several {
            self.alone.insert(one.seq);
        }
        if !one.is_fair && !one.is_native {
            self.listening.insert(one.seq);
        }
        self.several += usize::from(one.wants_several);
        self.by_seq.insert(one.seq, one);
    }

    fn remove(&mut self, seq: u64) -> Option<Waiting> {
        let one = self.by_seq.remove(&seq)?;
        self.by_owner.remove(&by_owner(&one));
        for set in [&mut self.fair, &mut self.native, &mut self.alone, &mut self.listening] {
            set.remove(&seq);
        }
        self.several -= usize::from(one.wants_several);
        Some(one)
    }

    /// Returns the first wait of this kind of an owner. If it is not fair, it must be of the client. O(log n).
    fn first(
        &self,
        (is_fair, is_native): (bool, bool),
        (owner, client): (Name, u64),
        wants_several: bool,
    ) -> Option<u64> {
        let client = if is_fair { 0 } else { client };
        let of = (is_fair, is_native, owner, client, wants_several);
        let first = self.by_owner.range((of.0, of.1, of.2, of.3, of.4, 0)..).next();
        first.filter(|one| (one.0, one.1, one.2, one.3, one.4) == of).map(|one| one.5)
    }

    /// Removes an owner's first wait, of this client unless fair. A wait for this lock alone goes first. O(log n).
    pub(super) fn remove_first(&mut self, is_fair: bool, owner: Name, client: u64) -> Option<Waiting> {
        let place = |wants_several| {
            let of = |is_native| self.first((is_fair, is_native), (owner, client), wants_several);
            [of(false), of(true)].into_iter().flatten().min()
        };
        let first = place(false).or_else(|| place(true))?;
        self.remove(first)
    }

    /// Removes an owner's waits by a client that are not fair, and native as `is_native` says. O(log n) each.
    pub(super) fn remove_all(&mut self, is_native: bool, owner: Name, client: u64, wants_several: bool) {
        while let Some(first) = self.first((false, is_native), (owner, client), wants_several) {
            self.remove(first);
        }
    }
}

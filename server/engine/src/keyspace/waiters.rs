//! The waiters on keys, in order of arrival, and the keys that have been signalled.

use super::db_key::{DbKey, DbKeyRef, give_back};
use crate::memory::{block, of_trees, of_vec};
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A client that waits, as the engine numbers it.
pub type WaiterId = u64;

/// A key that has changed while it had waiters.
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
    /// The name of the kind of readiness that it waits for.
    pub class: &'static str,
    /// The label it waits under, where waiters are looked up by label; else empty.
    pub label: Box<[u8]>,
}

/// The queues of all waited-for keys.
#[derive(Debug)]
pub struct Waiters {
    queues: HashMap<DbKey, Queue, FixedState>,
    /// Bytes of memory of the queues and of the names of their keys.
    queue_bytes: usize,
    /// Who waits for what no key stands for, and is asked after whatever happens.
    unkeyed: Vec<WaiterId>,
    arrivals: u64,
    ready: VecDeque<ReadyKey>,
    /// What `ready` holds, so that a key signalled often is asked once.
    ready_set: HashSet<DbKey, FixedState>,
}

/// The waiters on one key: a queue for each class, so that a class that cannot be served is skipped at once, however
/// long its queue is. Each queue is ordered by a number that grows with each arrival.
#[derive(Debug, Default)]
struct Queue {
    lines: Vec<(&'static str, BTreeMap<u64, Waiter>)>,
    /// The arrivals of labelled waiters, by label.
    labelled: BTreeMap<Box<[u8]>, BTreeSet<u64>>,
    /// Bytes of memory of the labels of all who wait.
    label_bytes: usize,
}

impl Queue {
    fn insert(&mut self, arrival: u64, waiter: Waiter) {
        if !waiter.label.is_empty() {
            self.label_bytes += block(waiter.label.len());
            self.labelled.entry(waiter.label.clone()).or_default().insert(arrival);
        }
        match self.lines.iter_mut().find(|(class, _)| *class == waiter.class) {
            Some((_, line)) => drop(line.insert(arrival, waiter)),
            None => self.lines.push((waiter.class, BTreeMap::from([(arrival, waiter)]))),
        }
    }

    fn remove(&mut self, arrival: u64) {
        let removed = self.lines.iter_mut().filter_map(|(_, line)| line.remove(&arrival));
        for waiter in removed {
            self.label_bytes -= block(waiter.label.len());
            if let Some(arrivals) = self.labelled.get_mut(&waiter.label) {
                arrivals.remove(&arrival);
                if arrivals.is_empty() {
                    self.labelled.remove(&waiter.label);
                }
            }
        }
        self.lines.retain(|(_, line)| !line.is_empty());
    }

    /// Bytes of memory of all of it: of the nodes of its trees about, as if each waiter with a label had the only one
    /// like it. O(classes).
    fn memory(&self) -> usize {
        let line =
            |(_, line): &(_, BTreeMap<u64, Waiter>)| of_trees(1, line.len(), size_of::<(u64, Waiter)>());
        let labels = self.labelled.len();
        let entry_bytes = size_of::<(Box<[u8]>, BTreeSet<u64>)>();
        let labelled = of_trees(usize::from(labels > 0), labels, entry_bytes)
            + of_trees(labels, labels, size_of::<u64>());
        of_vec(&self.lines) + self.lines.iter().map(line).sum::<usize>() + labelled + 2 * self.label_bytes
    }

    /// The first after `arrival` in the lines of classes that are asked for.
    fn next_after(&self, arrival: u64, asked: impl Fn(&str) -> bool) -> Option<(u64, &Waiter)> {
        let lines = self.lines.iter().filter(|(class, _)| asked(class));
        let heads = lines.filter_map(|(_, line)| line.range(arrival + 1..).next());
        heads.map(|(&arrival, waiter)| (arrival, waiter)).min_by_key(|(arrival, _)| *arrival)
    }

    /// All, in order of arrival.
    fn iter(&self) -> impl Iterator<Item = (u64, &Waiter)> {
        let mut last = 0;
        std::iter::from_fn(move || {
            let next = self.next_after(last, |_| true)?;
            last = next.0;
            Some(next)
        })
    }
}

impl Waiters {
    /// No waiters. The seed decides the hash of keys: clients choose their names.
    pub(super) fn new(seed: u64) -> Self {
        let hasher = FixedState::with_seed(seed);
        Waiters {
            queues: HashMap::with_hasher(hasher.clone()),
            queue_bytes: 0,
            unkeyed: Vec::new(),
            arrivals: 0,
            ready: VecDeque::new(),
            ready_set: HashSet::with_hasher(hasher),
        }
    }

    /// A client begins to wait on server state.
    pub fn add_unkeyed(&mut self, id: WaiterId) {
        self.unkeyed.push(id);
    }

    /// Stops that.
    pub fn remove_unkeyed(&mut self, id: WaiterId) {
        self.unkeyed.retain(|&waiter| waiter != id);
    }

    /// The waiters on server state, in order of arrival.
    pub fn unkeyed(&self) -> &[WaiterId] {
        &self.unkeyed
    }

    /// Whether there are any.
    #[inline]
    pub fn has_unkeyed(&self) -> bool {
        !self.unkeyed.is_empty()
    }

    /// Bytes of memory of all queues. O(1).
    pub(super) fn memory(&self) -> usize {
        self.queue_bytes + block(self.queues.allocation_size()) + of_vec(&self.unkeyed)
    }

    /// How many keys are waited for.
    pub fn keys(&self) -> usize {
        self.queues.len()
    }

    /// A number for a client that begins to wait; it keeps it on all its keys. O(1).
    pub fn next_ticket(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }

    /// Puts a waiter at its place in the queue of a key. O(log n).
    pub(super) fn add(&mut self, db: usize, key: &[u8], arrival: u64, waiter: Waiter) {
        let queue = self.queues.entry((db, key.into())).or_default();
        let before = if queue.lines.is_empty() { 0 } else { block(key.len()) + queue.memory() };
        queue.insert(arrival, waiter);
        self.queue_bytes = self.queue_bytes - before + block(key.len()) + queue.memory();
    }

    /// Removes it from that queue. O(log n).
    pub(super) fn remove(&mut self, db: usize, key: &[u8], arrival: u64) {
        if let Some(queue) = self.queues.get_mut(&DbKeyRef(db, key)) {
            self.queue_bytes -= queue.memory();
            queue.remove(arrival);
            if queue.lines.is_empty() {
                self.queue_bytes -= block(key.len());
                self.queues.remove(&DbKeyRef(db, key));
                give_back(&mut self.queues);
            } else {
                self.queue_bytes += queue.memory();
            }
        }
    }

    /// Whether the key has waiters.
    pub(super) fn waits_for(&self, db: usize, key: &[u8]) -> bool {
        !self.queues.is_empty() && self.queues.contains_key(&DbKeyRef(db, key))
    }

    /// The queue of a key, in order of arrival.
    pub fn queue(&self, db: usize, key: &[u8]) -> impl Iterator<Item = (u64, &Waiter)> {
        let queue = if self.queues.is_empty() { None } else { self.queues.get(&DbKeyRef(db, key)) };
        queue.into_iter().flat_map(Queue::iter)
    }

    /// The first waiter on a key after `arrival`, if any, of the classes asked for. O(log n).
    pub fn next_after(
        &self,
        ready: &ReadyKey,
        arrival: u64,
        asked: impl Fn(&str) -> bool,
    ) -> Option<(u64, &Waiter)> {
        self.queues.get(&DbKeyRef(ready.db, &ready.key))?.next_after(arrival, asked)
    }

    /// The labels that a key is waited for under, in no particular order, and how many there are.
    pub(super) fn labels(&self, db: usize, key: &[u8]) -> impl ExactSizeIterator<Item = &[u8]> {
        self.queues
            .get(&DbKeyRef(db, key))
            .map(|queue| queue.labelled.keys())
            .unwrap_or_default()
            .map(|label| &**label)
    }

    /// The waiters on a key under this label, each with its arrival, in that order. O(log n) each.
    pub(super) fn labelled(
        &self,
        db: usize,
        key: &[u8],
        label: &[u8],
    ) -> impl Iterator<Item = (u64, WaiterId)> {
        let queue = self.queues.get(&DbKeyRef(db, key));
        let arrivals = queue.and_then(|queue| queue.labelled.get(label)).into_iter().flatten();
        let waiter = move |&arrival: &u64| {
            let found = queue?.lines.iter().find_map(|(_, line)| line.get(&arrival));
            Some((arrival, found?.id))
        };
        arrivals.filter_map(waiter)
    }

    /// The key has changed, or one of its waiters has left.
    #[inline]
    pub fn signal(&mut self, db: usize, key: &[u8]) {
        if !self.queues.is_empty() {
            self.signal_waiters(db, key);
        }
    }

    #[inline(never)]
    fn signal_waiters(&mut self, db: usize, key: &[u8]) {
        if self.queues.contains_key(&DbKeyRef(db, key)) && self.ready_set.insert((db, key.into())) {
            self.ready.push_back(ReadyKey { db, key: key.into() });
        }
    }

    /// The waited-for keys of a database, in the order of their first waiters' arrival, so that it is always the same.
    pub(super) fn keys_of(&self, db: usize) -> Vec<Box<[u8]>> {
        let mut keys: Vec<(u64, Box<[u8]>)> = self
            .queues
            .iter()
            .filter(|((of, _), _)| *of == db)
            .filter_map(|((_, key), queue)| Some((queue.next_after(0, |_| true)?.0, key.clone())))
            .collect();
        keys.sort_unstable();
        keys.into_iter().map(|(_, key)| key).collect()
    }

    /// Whether a waited-for key has been signalled.
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The key that was signalled first, each once until it is taken.
    pub fn next_ready(&mut self) -> Option<ReadyKey> {
        let ready = self.ready.pop_front()?;
        self.ready_set.remove(&DbKeyRef(ready.db, &ready.key));
        Some(ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::BuildHasher;

    #[test]
    fn a_class_that_is_not_asked_for_is_passed_over_and_order_is_that_of_arrival() {
        let mut waiters = Waiters::new(7);
        let classes = ["lock", "lock", "list", "lock", "state", "list"];
        for (at, class) in (1..).zip(classes) {
            let arrival = waiters.next_ticket();
            assert_eq!(arrival, at);
            let label = if at % 2 == 0 { &b"even"[..] } else { b"odd" };
            waiters.add(0, b"key", arrival, Waiter { id: 100 + at, class, label: label.into() });
        }
        let ready = ReadyKey { db: 0, key: (*b"key").into() };
        let next = |waiters: &Waiters, after, not: &[&str]| {
            waiters.next_after(&ready, after, |class| !not.contains(&class)).map(|(_, waiter)| waiter.id)
        };
        assert_eq!(next(&waiters, 0, &[]), Some(101));
        assert_eq!(next(&waiters, 0, &["lock"]), Some(103));
        assert_eq!(next(&waiters, 3, &["lock"]), Some(105));
        assert_eq!(next(&waiters, 5, &["list"]), None);
        assert_eq!(next(&waiters, 0, &["list", "lock", "state"]), None);
        let ids =
            |waiters: &Waiters| waiters.queue(0, b"key").map(|(_, waiter)| waiter.id).collect::<Vec<_>>();
        assert_eq!(ids(&waiters), [101, 102, 103, 104, 105, 106]);
        waiters.remove(0, b"key", 3);
        waiters.remove(0, b"key", 1);
        assert_eq!(ids(&waiters), [102, 104, 105, 106]);
        let labelled = |label: &[u8]| waiters.labelled(0, b"key", label).collect::<Vec<_>>();
        assert_eq!(labelled(b"odd"), [(5, 105)]);
        assert_eq!(labelled(b"even"), [(2, 102), (4, 104), (6, 106)]);
        assert_eq!((labelled(b""), waiters.labels(0, b"key").len()), (Vec::new(), 2));
        for arrival in 1..=6 {
            waiters.remove(0, b"key", arrival);
        }
        assert_eq!((ids(&waiters), waiters.keys(), waiters.queue_bytes), (Vec::new(), 0, 0));
    }

    #[test]
    fn the_seed_decides_the_hash_of_keys() {
        let hashes = [1, 1, 2].map(|seed| {
            let waiters = Waiters::new(seed);
            let place: DbKey = (0, (*b"key").into());
            (waiters.queues.hasher().hash_one(&place), waiters.ready_set.hasher().hash_one(&place))
        });
        assert_eq!(hashes[0], hashes[1]);
        assert!(hashes[1].0 != hashes[2].0 && hashes[1].1 != hashes[2].1);
    }
}

//! The waiters on keys, in order of arrival, and the keys that have been signalled.

use super::db_key::{DbKey, DbKeyRef, give_back};
use super::held_back::HeldBack;
use super::tickets::Tickets;
use super::unchecked_labels::UncheckedLabels;
use super::waits::WaitsByLabel;
use crate::memory::{block, tree_heap_bytes, vec_heap_bytes};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound::{self, Excluded, Unbounded};

/// A client that waits, as the engine numbers it.
pub type WaiterId = u64;

/// A key that has changed while it had waiters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyKey {
    /// The key's database.
    pub db: usize,
    /// The key's name.
    pub key: Box<[u8]>,
    /// The kind of signal.
    pub what: Signal,
}

/// The kind of change of a waited-for key, as far as it matters to waiters that are retried out of turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The key's content has shrunk, or the key is gone, or a waiter has left: no name has been added to the key.
    Less,
    /// The key may have changed in another way, too.
    Changed,
}

/// A place in the queue of a key. Places are ordered by rank, then by arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The rank: lower ranks are further ahead.
    pub rank: i64,
    /// The number of the arrival, which grows with each waiter.
    pub arrival: u64,
}

impl Place {
    /// The place before all waiters: no waiter has arrived so early.
    pub const FRONT: Self = Place { rank: i64::MIN, arrival: 0 };

    /// The place of the next newcomer, behind all waiters of its rank.
    pub fn of_newcomer(rank: i64) -> Self {
        Place { rank, arrival: u64::MAX - 1 }
    }

    /// The place right behind this one, which belongs to no waiter.
    pub fn next(self) -> Self {
        Place { arrival: self.arrival.saturating_add(1), ..self }
    }
}

/// One waiter in the queue of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// The client.
    pub id: WaiterId,
    /// The name of the class: the kind of readiness that it waits for.
    pub class: &'static str,
    /// The label that the waiter can be looked up by; otherwise empty.
    pub label: Box<[u8]>,
    /// Whether the waiter can be served while the key is absent.
    pub of_absent: bool,
}

/// The queues of all waited-for keys.
#[derive(Debug)]
pub struct Waiters {
    queues: HashMap<DbKey, Queue, FixedState>,
    /// Bytes of memory of the queues and of the names of their keys.
    queue_bytes: usize,
    by_label: WaitsByLabel,
    /// The waits that clients have left behind.
    pub tickets: Tickets,
    /// The ready keys whose waiters are not served yet.
    pub held_back: HeldBack,
    /// Waits for server states that belong to no key, by the kind of state.
    unkeyed: BTreeMap<usize, Unkeyed>,
    /// The number of times that a wait for a key has begun or ended.
    changes: u64,
    arrivals: u64,
    ready: VecDeque<DbKey>,
    /// The keys of `ready` with their signals, so that a key signalled often is checked once.
    ready_keys: HashMap<DbKey, Signal, FixedState>,
    unchecked: UncheckedLabels,
}

#[derive(Debug, Default)]
struct Unkeyed {
    ids: BTreeSet<WaiterId>,
    /// The version of the state that the waiters have seen.
    seen: Option<u64>,
}

/// The waiters on one key, in one queue for each class. The first waiter of a class is found at once. A class that
/// cannot be served is skipped at once, however long its queue is. Classes of one line are skipped together.
#[derive(Debug, Default)]
struct Queue {
    classes: Vec<Class>,
    /// The places of labelled waiters, by label.
    labelled: BTreeMap<Box<[u8]>, BTreeSet<Place>>,
    label_bytes: usize,
}

#[derive(Debug)]
struct Class {
    name: &'static str,
    line: &'static str,
    waiters: BTreeMap<Place, Waiter>,
}

impl Queue {
    fn insert(&mut self, line: &'static str, place: Place, waiter: Waiter) {
        if !waiter.label.is_empty() {
            self.label_bytes += block(waiter.label.len());
            self.labelled.entry(waiter.label.clone()).or_default().insert(place);
        }
        let name = waiter.class;
        match self.classes.iter_mut().find(|class| class.name == name) {
            Some(class) => drop(class.waiters.insert(place, waiter)),
            None => self.classes.push(Class { name, line, waiters: BTreeMap::from([(place, waiter)]) }),
        }
    }

    /// Removes the waiter at a place; returns its label, if it has one.
    fn remove(&mut self, place: Place) -> Option<Box<[u8]>> {
        let removed = self.classes.iter_mut().find_map(|class| class.waiters.remove(&place));
        if let Some(waiter) = &removed {
            self.label_bytes -= block(waiter.label.len());
            if let Some(places) = self.labelled.get_mut(&waiter.label) {
                places.remove(&place);
                if places.is_empty() {
                    self.labelled.remove(&waiter.label);
                }
            }
        }
        self.classes.retain(|class| !class.waiters.is_empty());
        removed.map(|waiter| waiter.label).filter(|label| !label.is_empty())
    }

    /// Bytes of the queue; tree nodes are estimated as if labelled waiters shared no label. O(classes).
    fn memory(&self) -> usize {
        let class = |class: &Class| tree_heap_bytes(1, class.waiters.len(), size_of::<(Place, Waiter)>());
        let labels = self.labelled.len();
        let entry_bytes = size_of::<(Box<[u8]>, BTreeSet<Place>)>();
        let labelled = tree_heap_bytes(usize::from(labels > 0), labels, entry_bytes)
            + tree_heap_bytes(labels, labels, size_of::<Place>());
        vec_heap_bytes(&self.classes)
            + self.classes.iter().map(class).sum::<usize>()
            + labelled
            + 2 * self.label_bytes
    }

    /// The first waiter after a place in one of the lines that `asked` accepts.
    fn next_after(&self, place: Place, asked: impl Fn(&str) -> bool) -> Option<(Place, &Waiter)> {
        let classes = self.classes.iter().filter(|class| asked(class.line));
        let heads = classes.filter_map(|class| class.waiters.range((Excluded(place), Unbounded)).next());
        heads.map(|(&place, waiter)| (place, waiter)).min_by_key(|(place, _)| *place)
    }

    fn iter(&self) -> impl Iterator<Item = (Place, &Waiter)> {
        let mut last = Place::FRONT;
        std::iter::from_fn(move || {
            let next = self.next_after(last, |_| true)?;
            last = next.0;
            Some(next)
        })
    }
}

impl Waiters {
    /// Makes queues without waiters. The seed decides the hash of keys, since clients choose their names.
    pub(super) fn new(seed: u64) -> Self {
        let hasher = FixedState::with_seed(seed);
        Waiters {
            queues: HashMap::with_hasher(hasher.clone()),
            queue_bytes: 0,
            by_label: WaitsByLabel::default(),
            tickets: Tickets::default(),
            held_back: HeldBack::default(),
            unkeyed: BTreeMap::new(),
            changes: 0,
            arrivals: 0,
            ready: VecDeque::new(),
            ready_keys: HashMap::with_hasher(hasher),
            unchecked: UncheckedLabels::default(),
        }
    }

    /// Begins a client's wait on a kind of server state. O(log n).
    pub fn add_unkeyed(&mut self, kind: usize, id: WaiterId) {
        self.unkeyed.entry(kind).or_default().ids.insert(id);
    }

    /// Ends that wait. O(log n).
    pub fn remove_unkeyed(&mut self, kind: usize, id: WaiterId) {
        if let Some(unkeyed) = self.unkeyed.get_mut(&kind) {
            unkeyed.ids.remove(&id);
            if unkeyed.ids.is_empty() {
                self.unkeyed.remove(&kind);
            }
        }
    }

    /// The kinds of server state that have waiters.
    pub fn unkeyed_kinds(&self) -> SmallVec<[usize; 8]> {
        self.unkeyed.keys().copied().collect()
    }

    /// The waiters on a kind of server state, if its version has changed since the last call.
    pub fn unkeyed_since(&mut self, kind: usize, version: u64) -> Vec<WaiterId> {
        let Some(unkeyed) = self.unkeyed.get_mut(&kind) else { return Vec::new() };
        let seen = unkeyed.seen.replace(version);
        if seen == Some(version) { Vec::new() } else { unkeyed.ids.iter().copied().collect() }
    }

    /// The number of waiters on server state of a kind. O(1).
    pub fn unkeyed_count(&self, kind: usize) -> usize {
        self.unkeyed.get(&kind).map_or(0, |unkeyed| unkeyed.ids.len())
    }

    /// The number of times that a wait for a key has begun or ended.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether there are waiters on server states.
    #[inline]
    pub fn has_unkeyed(&self) -> bool {
        !self.unkeyed.is_empty()
    }

    /// Bytes of memory of all queues. O(1).
    pub(super) fn memory(&self) -> usize {
        self.queue_bytes
            + block(self.queues.allocation_size())
            + tree_heap_bytes(
                self.unkeyed.len(),
                self.unkeyed.values().map(|one| one.ids.len()).sum(),
                size_of::<WaiterId>(),
            )
            + self.by_label.memory()
            + self.tickets.memory()
            + self.held_back.memory()
    }

    /// The number of keys that have waiters.
    pub fn keys(&self) -> usize {
        self.queues.len()
    }

    /// The arrival number of a client that begins to wait, the same on all its keys. O(1).
    pub fn next_ticket(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }

    /// Puts a waiter at its place in the queue of a key. `line` is the line of its class. O(log n).
    pub(super) fn add(&mut self, db: usize, key: &[u8], line: &'static str, place: Place, waiter: Waiter) {
        if !waiter.label.is_empty() {
            self.by_label.add(&waiter.label, db, key);
        }
        let queue = self.queues.entry((db, key.into())).or_default();
        let before = if queue.classes.is_empty() { 0 } else { block(key.len()) + queue.memory() };
        queue.insert(line, place, waiter);
        self.changes += 1;
        self.queue_bytes = self.queue_bytes - before + block(key.len()) + queue.memory();
    }

    /// Removes the waiter at a place from the queue of a key. O(log n).
    pub(super) fn remove(&mut self, db: usize, key: &[u8], place: Place) {
        self.changes += 1;
        if let Some(queue) = self.queues.get_mut(&DbKeyRef(db, key)) {
            self.queue_bytes -= queue.memory();
            if let Some(label) = queue.remove(place) {
                self.by_label.remove(&label, db, key);
            }
            if queue.classes.is_empty() {
                self.queue_bytes -= block(key.len());
                self.queues.remove(&DbKeyRef(db, key));
                give_back(&mut self.queues);
            } else {
                self.queue_bytes += queue.memory();
            }
        }
    }

    /// Whether any waiter on the key can be served while the key is absent. O(classes).
    pub(super) fn waits_for_absent(&self, db: usize, key: &[u8]) -> bool {
        let classes = self.queues.get(&DbKeyRef(db, key)).map(|queue| &queue.classes);
        // All waiters of a class are alike.
        let mut first = classes.into_iter().flatten().filter_map(|class| class.waiters.values().next());
        first.any(|waiter| waiter.of_absent)
    }

    pub(super) fn waits_for(&self, db: usize, key: &[u8]) -> bool {
        !self.queues.is_empty() && self.queues.contains_key(&DbKeyRef(db, key))
    }

    /// The queue of a key, in order.
    pub fn queue(&self, db: usize, key: &[u8]) -> impl Iterator<Item = (Place, &Waiter)> {
        let queue = if self.queues.is_empty() { None } else { self.queues.get(&DbKeyRef(db, key)) };
        queue.into_iter().flat_map(Queue::iter)
    }

    /// The first waiter on a key after a place, if any, in one of the lines that `asked` accepts. O(log n).
    pub fn next_after(
        &self,
        ready: &ReadyKey,
        place: Place,
        asked: impl Fn(&str) -> bool,
    ) -> Option<(Place, &Waiter)> {
        self.queues.get(&DbKeyRef(ready.db, &ready.key))?.next_after(place, asked)
    }

    /// The first waiter on a key in a line, with its place. O(log n).
    pub(super) fn first_in_line(&self, db: usize, key: &[u8], line: &str) -> Option<(Place, &Waiter)> {
        if self.queues.is_empty() {
            return None;
        }
        self.queues.get(&DbKeyRef(db, key))?.next_after(Place::FRONT, |other| other == line)
    }

    /// The waiters of a class on a key, with their places, in order.
    pub(super) fn of_class(
        &self,
        db: usize,
        key: &[u8],
        class: &str,
    ) -> impl Iterator<Item = (Place, &Waiter)> {
        self.between(db, key, class, (Unbounded, Unbounded))
    }

    /// The waiters of a class on a key within these bounds, of which the first must not be behind the second. O(log n).
    pub(super) fn between(
        &self,
        db: usize,
        key: &[u8],
        class: &str,
        places: (Bound<Place>, Bound<Place>),
    ) -> impl DoubleEndedIterator<Item = (Place, &Waiter)> {
        let classes = self.queues.get(&DbKeyRef(db, key)).map(|queue| &queue.classes);
        let class = classes.into_iter().flatten().find(|one| one.name == class);
        class
            .into_iter()
            .flat_map(move |class| class.waiters.range(places))
            .map(|(place, waiter)| (*place, waiter))
    }

    pub(super) fn by_label(&self) -> &WaitsByLabel {
        &self.by_label
    }

    /// The place of the first waiter of a class on a key. O(log n).
    pub(super) fn first_of(&self, db: usize, key: &[u8], class: &str) -> Option<Place> {
        let classes = &self.queues.get(&DbKeyRef(db, key))?.classes;
        classes.iter().find(|one| one.name == class)?.waiters.keys().next().copied()
    }

    /// The place of the last waiter on a key. O(log n).
    pub(super) fn last_of(&self, db: usize, key: &[u8]) -> Option<Place> {
        let classes = &self.queues.get(&DbKeyRef(db, key))?.classes;
        classes.iter().filter_map(|class| class.waiters.keys().next_back()).max().copied()
    }

    /// The labels of a key's waiters, in no particular order. Their number is known.
    pub(super) fn labels(&self, db: usize, key: &[u8]) -> impl ExactSizeIterator<Item = &[u8]> {
        self.queues
            .get(&DbKeyRef(db, key))
            .map(|queue| queue.labelled.keys())
            .unwrap_or_default()
            .map(|label| &**label)
    }

    /// The waiters on a key with this label, each with its place, in order. O(log n) each.
    pub(super) fn labelled(
        &self,
        db: usize,
        key: &[u8],
        label: &[u8],
    ) -> impl Iterator<Item = (Place, WaiterId)> {
        let queue = self.queues.get(&DbKeyRef(db, key));
        let places = queue.and_then(|queue| queue.labelled.get(label)).into_iter().flatten();
        let waiter = move |&place: &Place| {
            let found = queue?.classes.iter().find_map(|class| class.waiters.get(&place));
            Some((place, found?.id))
        };
        places.filter_map(waiter)
    }

    /// The first place of a waiter with this label, of a class that `asked` accepts, and the name of the class. O(log
    /// n), but for waits of other classes with the same label.
    pub(super) fn first_wait_as(
        &self,
        db: usize,
        key: &[u8],
        label: &[u8],
        asked: impl Fn(&str) -> bool,
    ) -> Option<(Place, &'static str)> {
        let queue = self.queues.get(&DbKeyRef(db, key))?;
        let class_at = |place| queue.classes.iter().find(|class| class.waiters.contains_key(place));
        let mut waits = queue.labelled.get(label)?.iter();
        waits.find_map(|place| Some((*place, class_at(place)?.name)).filter(|(_, class)| asked(class)))
    }

    /// Signals that the key has changed, or that one of its waiters has left.
    #[inline]
    pub fn signal(&mut self, db: usize, key: &[u8], what: Signal) {
        if !self.queues.is_empty() {
            self.signal_waiters(db, key, what);
        }
    }

    #[inline(never)]
    fn signal_waiters(&mut self, db: usize, key: &[u8], what: Signal) {
        if !self.queues.contains_key(&DbKeyRef(db, key)) {
            return;
        }
        if let Some(known) = self.ready_keys.get_mut(&DbKeyRef(db, key)) {
            if what == Signal::Changed {
                *known = what;
            }
            return;
        }
        self.ready_keys.insert((db, key.into()), what);
        self.ready.push_back((db, key.into()));
    }

    /// The waited-for keys of a database, in the order of their first waiters' places, which is deterministic.
    pub(super) fn keys_of(&self, db: usize) -> Vec<Box<[u8]>> {
        let mut keys: Vec<(Place, Box<[u8]>)> = self
            .queues
            .iter()
            .filter(|((of, _), _)| *of == db)
            .filter_map(|((_, key), queue)| Some((queue.next_after(Place::FRONT, |_| true)?.0, key.clone())))
            .collect();
        keys.sort_unstable();
        keys.into_iter().map(|(_, key)| key).collect()
    }

    /// The keys of a database that have waiters, in no particular order.
    pub(super) fn all_keys_of(&self, db: usize) -> impl Iterator<Item = &[u8]> {
        self.queues.keys().filter(move |(of, _)| *of == db).map(|(_, key)| &**key)
    }

    /// Notes that a client with this label has come to hold a key, or no longer holds it. If the key has waiters, the
    /// waits of the label are checked when signalled keys are served. O(log n).
    pub fn hold_changed(&mut self, db: usize, key: &[u8], label: Box<[u8]>) {
        if self.waits_for(db, key) && self.by_label.of(db, &label).next().is_some() {
            self.signal(db, key, Signal::Less);
            self.unchecked.add(db, label);
        }
    }

    /// Takes the database and label to be checked next: the one that was added last. Each is returned once.
    pub fn next_unchecked(&mut self) -> Option<(usize, Box<[u8]>)> {
        self.unchecked.take()
    }

    /// Whether a waited-for key has been signalled.
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Takes the key that was signalled first. Each key is returned once.
    pub fn next_ready(&mut self) -> Option<ReadyKey> {
        let (db, key) = self.ready.pop_front()?;
        let what = self.ready_keys.remove(&DbKeyRef(db, &key)).unwrap_or(Signal::Changed);
        Some(ReadyKey { db, key, what })
    }
}

#[cfg(test)]
mod tests;

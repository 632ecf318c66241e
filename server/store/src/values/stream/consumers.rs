//! The consumers of a group.

use super::id::StreamId;
use crate::memory::{block, tree_heap_bytes, vec_heap_bytes};
use std::collections::{BTreeMap, BTreeSet};

/// The number of a consumer within its group. It is valid as long as the consumer exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConsumerId(u32);

/// A consumer of a group.
#[derive(Clone, Debug)]
pub struct Consumer {
    name: Box<[u8]>,
    /// The time of its last attempt to read or to claim, in milliseconds since the Unix epoch.
    pub seen_ms: i64,
    /// The time at which it last got an entry, in milliseconds since the Unix epoch. `None` if it never got one.
    pub active_ms: Option<i64>,
    pending: BTreeSet<StreamId>,
}

impl Consumer {
    /// The consumer's name.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// The entries that it has not acknowledged, in the order of ids.
    #[must_use]
    pub fn pending(&self) -> impl ExactSizeIterator<Item = StreamId> + Clone + '_ {
        self.pending.iter().copied()
    }

    /// The entries from an id on that it has not acknowledged, in the order of ids.
    pub fn pending_from(&self, start: StreamId) -> impl Iterator<Item = StreamId> + '_ {
        self.pending.range(start..).copied()
    }
}

/// Consumers by number and by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Consumers {
    /// The consumers by number. `None` if a number is free.
    slots: Vec<Option<Consumer>>,
    free: Vec<u32>,
    names: BTreeMap<Box<[u8]>, ConsumerId>,
    /// Bytes of heap of the names. Each name is held twice.
    name_bytes: usize,
}

impl Consumers {
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (ConsumerId, &Consumer)> {
        let consumer = |id: ConsumerId| self.slots[id.0 as usize].as_ref().expect("names are of consumers");
        self.names.values().map(move |&id| (id, consumer(id)))
    }

    pub(super) fn get(&self, id: ConsumerId) -> Option<&Consumer> {
        self.slots.get(id.0 as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: ConsumerId) -> Option<&mut Consumer> {
        self.slots.get_mut(id.0 as usize)?.as_mut()
    }

    pub(super) fn find(&self, name: &[u8]) -> Option<ConsumerId> {
        self.names.get(name).copied()
    }

    /// Adds a consumer. The name must be new.
    pub(super) fn add(&mut self, name: &[u8], now_ms: i64) -> ConsumerId {
        let consumer =
            Consumer { name: name.into(), seen_ms: now_ms, active_ms: None, pending: BTreeSet::new() };
        let id = match self.free.pop() {
            Some(id) => id,
            None => {
                self.slots.push(None);
                (self.slots.len() - 1) as u32
            }
        };
        self.slots[id as usize] = Some(consumer);
        self.names.insert(name.into(), ConsumerId(id));
        self.name_bytes += 2 * block(name.len());
        ConsumerId(id)
    }

    pub(super) fn remove(&mut self, name: &[u8]) -> Option<Consumer> {
        let id = self.names.remove(name)?;
        self.name_bytes -= 2 * block(name.len());
        self.free.push(id.0);
        let removed = self.slots[id.0 as usize].take();
        if self.names.is_empty() {
            *self = Self::default();
        }
        removed
    }

    /// Notes that a consumer has got an entry.
    pub(super) fn entrust(&mut self, id: ConsumerId, entry: StreamId) {
        if let Some(consumer) = self.get_mut(id) {
            consumer.pending.insert(entry);
        }
    }

    /// Notes that a consumer no longer has an entry.
    pub(super) fn withdraw(&mut self, id: ConsumerId, entry: StreamId) {
        if let Some(consumer) = self.get_mut(id) {
            consumer.pending.remove(&entry);
        }
    }

    /// Bytes of heap of all consumers with `pending` entries in all. O(1).
    pub(super) fn heap_bytes(&self, pending: usize) -> usize {
        let count = self.names.len();
        let names = tree_heap_bytes(usize::from(count > 0), count, size_of::<(Box<[u8]>, ConsumerId)>());
        let entries = tree_heap_bytes(count.min(pending), pending, size_of::<StreamId>());
        vec_heap_bytes(&self.slots) + vec_heap_bytes(&self.free) + self.name_bytes + names + entries
    }
}

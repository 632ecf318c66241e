//! A consumer group: its read position, its consumers, and the entries that they have not acknowledged.

use super::consumers::{Consumer, ConsumerId, Consumers};
use super::id::StreamId;
use crate::memory::{block, tree_heap_bytes};
use std::collections::BTreeMap;

/// An entry that was delivered and is not yet acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The consumer that got it last.
    pub consumer: ConsumerId,
    /// The time of the last delivery, in milliseconds since the Unix epoch.
    pub delivered_ms: i64,
    /// The number of deliveries.
    pub deliveries: u64,
}

/// A consumer group.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// The last entry that was delivered.
    pub last_id: StreamId,
    /// The number of entries that the group has passed, out of all ever added. `None` if it is unknown.
    pub entries_read: Option<u64>,
    consumers: Consumers,
    pending: BTreeMap<StreamId, Pending>,
}

impl Group {
    /// A group that will be delivered the entries after `last_id`.
    #[must_use]
    pub fn new(last_id: StreamId, entries_read: Option<u64>) -> Self {
        Self { last_id, entries_read, ..Self::default() }
    }

    /// The consumers, in the order of their names.
    pub fn consumers(&self) -> impl ExactSizeIterator<Item = (ConsumerId, &Consumer)> {
        self.consumers.iter()
    }

    /// The consumer with this number, if it still exists.
    #[must_use]
    pub fn consumer(&self, id: ConsumerId) -> Option<&Consumer> {
        self.consumers.get(id)
    }

    /// The consumer with this name. O(log n).
    #[must_use]
    pub fn find(&self, name: &[u8]) -> Option<ConsumerId> {
        self.consumers.find(name)
    }

    /// The consumer with this name, added if there is none; returns whether it was added. O(log n).
    pub fn find_or_add(&mut self, name: &[u8], now_ms: i64) -> (ConsumerId, bool) {
        match self.consumers.find(name) {
            Some(id) => (id, false),
            None => (self.consumers.add(name, now_ms), true),
        }
    }

    /// Notes that a consumer has tried to read or to claim.
    pub fn seen(&mut self, id: ConsumerId, now_ms: i64) {
        if let Some(consumer) = self.consumers.get_mut(id) {
            consumer.seen_ms = now_ms;
        }
    }

    /// Notes that a consumer has got entries.
    pub fn active(&mut self, id: ConsumerId, now_ms: i64) {
        if let Some(consumer) = self.consumers.get_mut(id) {
            consumer.active_ms = Some(now_ms);
        }
    }

    /// Sets the recorded times of a consumer.
    pub fn set_times(&mut self, id: ConsumerId, seen_ms: i64, active_ms: Option<i64>) {
        if let Some(consumer) = self.consumers.get_mut(id) {
            (consumer.seen_ms, consumer.active_ms) = (seen_ms, active_ms);
        }
    }

    /// Removes a consumer with all entries that it has not acknowledged; returns their number. O(n log n) of them.
    pub fn remove_consumer(&mut self, name: &[u8]) -> Option<usize> {
        let removed = self.consumers.remove(name)?;
        let pending = removed.pending();
        let count = pending.len();
        for id in pending {
            self.pending.remove(&id);
        }
        Some(count)
    }

    /// The entries that are not acknowledged, in the order of ids.
    #[must_use]
    pub fn pending(&self) -> &BTreeMap<StreamId, Pending> {
        &self.pending
    }

    /// Makes an entry pending for a consumer, and takes it from any other one.
    pub fn assign(&mut self, id: StreamId, pending: Pending) {
        if let Some(before) = self.pending.insert(id, pending) {
            if before.consumer == pending.consumer {
                return;
            }
            self.consumers.withdraw(before.consumer, id);
        }
        self.consumers.entrust(pending.consumer, id);
    }

    /// Removes an entry that is acknowledged or gone; returns whether it was pending. O(log n).
    pub fn acknowledge(&mut self, id: StreamId) -> bool {
        let Some(removed) = self.pending.remove(&id) else { return false };
        self.consumers.withdraw(removed.consumer, id);
        true
    }

    /// Notes that a pending entry is delivered to its consumer again. O(log n).
    pub fn deliver_again(&mut self, id: StreamId, now_ms: i64) {
        if let Some(pending) = self.pending.get_mut(&id) {
            pending.delivered_ms = now_ms;
            pending.deliveries = pending.deliveries.wrapping_add(1);
        }
    }

    /// Bytes of heap that it holds. O(1).
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let count = self.pending.len();
        let pending = tree_heap_bytes(usize::from(count > 0), count, size_of::<(StreamId, Pending)>());
        pending + self.consumers.heap_bytes(count)
    }
}

/// The groups of a stream, by their names.
#[derive(Debug, Default)]
pub struct Groups {
    /// Boxed, because a node of the tree has room for eleven groups, and most streams have few.
    groups: BTreeMap<Box<[u8]>, Box<Group>>,
    bytes: usize,
}

impl Clone for Groups {
    fn clone(&self) -> Self {
        let groups = self.groups.clone();
        // Copies have no spare room.
        let bytes = groups.iter().map(|(name, group)| bytes_of(name, group)).sum();
        Self { groups, bytes }
    }
}

fn bytes_of(name: &[u8], group: &Group) -> usize {
    block(name.len()) + block(size_of::<Group>()) + group.heap_bytes()
}

impl Groups {
    /// The number of groups.
    #[must_use]
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether there are no groups.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// All groups, in the order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &Group)> {
        self.groups.iter().map(|(name, group)| (&**name, &**group))
    }

    /// The group with this name. O(log n).
    #[must_use]
    pub fn get(&self, name: &[u8]) -> Option<&Group> {
        self.groups.get(name).map(|group| &**group)
    }

    /// The group with this name, to be changed.
    pub fn edit(&mut self, name: &[u8]) -> Option<EditGroup<'_>> {
        let group = self.groups.get_mut(name)?;
        Some(EditGroup { before: group.heap_bytes(), group, bytes: &mut self.bytes })
    }

    /// Adds a group, unless there is one with this name; returns whether it was added. O(log n).
    pub fn add(&mut self, name: &[u8], group: Group) -> bool {
        if self.groups.contains_key(name) {
            return false;
        }
        self.bytes += bytes_of(name, &group);
        self.groups.insert(name.into(), Box::new(group));
        true
    }

    /// Removes a group, and returns it. O(log n).
    pub fn remove(&mut self, name: &[u8]) -> Option<Group> {
        let group = self.groups.remove(name)?;
        self.bytes -= bytes_of(name, &group);
        Some(*group)
    }

    /// Bytes of heap of all groups. O(1).
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let trees = usize::from(!self.groups.is_empty());
        self.bytes + tree_heap_bytes(trees, self.groups.len(), size_of::<(Box<[u8]>, Box<Group>)>())
    }

    /// A lower bound of the number of memory blocks of the groups. O(groups).
    pub(super) fn parts(&self) -> usize {
        self.groups.values().map(|group| 1 + group.consumers.len() + group.pending.len()).sum()
    }
}

/// A group that is being changed. Its memory is counted when the guard is dropped.
#[derive(Debug)]
pub struct EditGroup<'a> {
    group: &'a mut Group,
    bytes: &'a mut usize,
    before: usize,
}

impl std::ops::Deref for EditGroup<'_> {
    type Target = Group;

    fn deref(&self) -> &Group {
        self.group
    }
}

impl std::ops::DerefMut for EditGroup<'_> {
    fn deref_mut(&mut self) -> &mut Group {
        self.group
    }
}

impl Drop for EditGroup<'_> {
    fn drop(&mut self) {
        *self.bytes = *self.bytes - self.before + self.group.heap_bytes();
    }
}

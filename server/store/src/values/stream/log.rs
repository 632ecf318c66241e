//! The entries of a stream, in nodes in the order of their ids, and counters of all entries ever added.

use super::entry::Entry;
use super::id::StreamId;
use super::node::StreamNode;
use super::nodes::Nodes;
use super::range::{Backward, Forward};
use std::cmp::Ordering;

/// The size at which a node is full, as CONFIG sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeLimits {
    /// The most bytes (`stream-node-max-bytes`). 0: a gigabyte.
    pub bytes: usize,
    /// The most entries, including deleted ones (`stream-node-max-entries`). 0: no limit.
    pub entries: usize,
}

impl NodeLimits {
    /// The most bytes of a node, and of the texts of one entry, as in Redis.
    pub const LARGEST: usize = 1 << 30;

    /// Whether a node has no room for texts of `bytes` bytes in all.
    fn is_full(self, node: &StreamNode, bytes: usize) -> bool {
        let most = if self.bytes == 0 { Self::LARGEST } else { self.bytes.min(Self::LARGEST) };
        node.listpack_bytes().saturating_add(bytes) >= most
            || (self.entries > 0 && node.live() + node.deleted() >= self.entries)
    }
}

/// The error of an entry that is too large to append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

/// Entries in order, and counters.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub(super) nodes: Nodes,
    len: usize,
    /// The id of the first entry that is not deleted, or the id that a file recorded as such. 0-0 if there is none.
    first_id: StreamId,
    last_id: StreamId,
    max_deleted_id: StreamId,
    entries_added: u64,
}

impl Log {
    /// The number of entries. O(1).
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The id of the first entry, or the id that a file recorded as such. 0-0 if there is none. O(1).
    #[must_use]
    pub fn first_id(&self) -> StreamId {
        self.first_id
    }

    /// The greatest id of all entries ever added.
    #[must_use]
    pub fn last_id(&self) -> StreamId {
        self.last_id
    }

    /// The greatest id that was deleted individually. 0-0 if there is none.
    #[must_use]
    pub fn max_deleted_id(&self) -> StreamId {
        self.max_deleted_id
    }

    /// The number of entries ever added.
    #[must_use]
    pub fn entries_added(&self) -> u64 {
        self.entries_added
    }

    /// Sets the counters of all entries ever added.
    pub fn set_counters(&mut self, last_id: StreamId, entries_added: u64, max_deleted_id: StreamId) {
        (self.last_id, self.entries_added, self.max_deleted_id) = (last_id, entries_added, max_deleted_id);
    }

    /// The id of an entry that is added at `now_ms`, in milliseconds since the epoch. Ids grow even if the clock has
    /// gone back. Returns `None` if there is no greater id.
    #[must_use]
    pub fn next_id(&self, now_ms: u64) -> Option<StreamId> {
        if now_ms > self.last_id.ms { Some(StreamId::new(now_ms, 0)) } else { self.last_id.next() }
    }

    /// Appends an entry, whose id must be above all others. `texts` are fields, each before its value. O(their bytes).
    ///
    /// # Errors
    /// Returns [`TooLarge`] if the texts take more than a gigabyte.
    pub fn append(&mut self, id: StreamId, texts: &[&[u8]], limits: NodeLimits) -> Result<(), TooLarge> {
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        if bytes > NodeLimits::LARGEST {
            return Err(TooLarge);
        }
        if self.nodes.last().is_some_and(|node| limits.is_full(node, bytes)) {
            self.nodes.close();
        }
        let fields = texts.iter().step_by(2).copied();
        self.nodes.append(
            || (id, StreamNode::new(fields.clone())),
            |first, node| match node.shares(fields.clone()) {
                true => node.push(first, id, false, texts.iter().skip(1).step_by(2).copied()),
                false => node.push(first, id, true, texts.iter().copied()),
            },
        );
        self.len += 1;
        self.entries_added = self.entries_added.wrapping_add(1);
        self.last_id = id;
        if self.len == 1 {
            self.first_id = id;
        }
        Ok(())
    }

    /// Deletes the entry with this id; returns whether it existed. O(log n + entries of a node).
    pub fn delete(&mut self, id: StreamId) -> bool {
        let Some((first, node)) = self.nodes.find_mut(id) else { return false };
        if !node.delete(first, id) {
            return false;
        }
        if node.live() == 0 {
            self.nodes.remove(first);
        }
        self.len -= 1;
        self.max_deleted_id = self.max_deleted_id.max(id);
        if id == self.first_id {
            self.find_first();
        }
        true
    }

    /// Subtracts entries that are gone. [`Log::find_first`] must follow.
    pub(super) fn forget(&mut self, entries: usize) {
        self.len -= entries;
    }

    /// Finds the first entry again.
    pub(super) fn find_first(&mut self) {
        self.first_id = self.range(StreamId::MIN, StreamId::MAX).next().map_or(StreamId::MIN, |one| one.id());
    }

    /// Sets the id that a file has recorded as that of the first entry, even if it is wrong.
    pub(super) fn record_first(&mut self, id: StreamId) {
        self.first_id = id;
    }

    /// The id of the last entry that is not deleted. 0-0 if there is none.
    #[must_use]
    pub fn last_entry_id(&self) -> StreamId {
        self.range_back(StreamId::MIN, StreamId::MAX).next().map_or(StreamId::MIN, |one| one.id())
    }

    /// Whether an entry has a greater id than this one.
    #[must_use]
    pub fn has_above(&self, id: StreamId) -> bool {
        // The last entry is rarely a deleted one.
        self.len > 0 && self.last_id > id && self.last_entry_id() > id
    }

    /// The entries with ids from `start` to `end`, both inclusive. O(log n + entries of a node), then O(1) each.
    #[must_use]
    pub fn range(&self, start: StreamId, end: StreamId) -> Forward<'_> {
        Forward::new(&self.nodes, start, end)
    }

    /// The entries with ids from `start` to `end`, both inclusive, last one first.
    #[must_use]
    pub fn range_back(&self, start: StreamId, end: StreamId) -> Backward<'_> {
        Backward::new(&self.nodes, start, end)
    }

    /// The entry with this id. O(log n + entries of a node).
    #[must_use]
    pub fn get(&self, id: StreamId) -> Option<Entry<'_>> {
        self.range(id, id).next()
    }

    /// The number of nodes. O(1).
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The number of nodes of the radix tree in which Redis would keep the stream's nodes. O(1).
    #[must_use]
    pub fn radix_nodes(&self) -> usize {
        self.nodes.radix_nodes()
    }

    /// Bytes of heap that it holds. O(1).
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.nodes.heap_bytes()
    }

    /// Counts entries and memory again. O(nodes).
    pub(super) fn recount(&mut self) {
        self.nodes.recount();
        self.len = self.nodes.iter().map(|(_, node)| node.live()).sum();
        self.find_first();
    }

    /// Whether an entry from `start` on may have been deleted by itself: those after it cannot be counted then.
    #[must_use]
    pub fn has_gap_from(&self, start: StreamId) -> bool {
        let has_gap = self.len > 0 && self.max_deleted_id >= self.first_id;
        has_gap && self.max_deleted_id > StreamId::MIN && start <= self.max_deleted_id
    }

    /// The number of entries that had been added when the entry with this id was. Returns `None` if that is unknown.
    #[must_use]
    pub fn count_up_to(&self, id: StreamId) -> Option<u64> {
        if self.entries_added == 0 {
            return Some(0);
        }
        if id == self.last_id || (self.len == 0 && id < self.last_id) {
            return Some(self.entries_added);
        }
        let has_no_gap = self.max_deleted_id == StreamId::MIN || self.max_deleted_id < self.first_id;
        if id > self.last_id || !has_no_gap {
            return None;
        }
        let gone = self.entries_added.wrapping_sub(self.len as u64);
        match id.cmp(&self.first_id) {
            Ordering::Less => Some(gone),
            Ordering::Equal => Some(gone.wrapping_add(1)),
            Ordering::Greater => None,
        }
    }
}

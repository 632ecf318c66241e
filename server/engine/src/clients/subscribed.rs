//! The names that a client has subscribed to.

use lockwheel_store::memory::{block, tree_heap_bytes};
use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(crate) struct Subscribed {
    names: BTreeSet<Box<[u8]>>,
    /// Bytes of memory of the names.
    bytes: usize,
}

impl Subscribed {
    /// Adds a name. Returns whether it is new. O(log n).
    pub(crate) fn insert(&mut self, name: &[u8]) -> bool {
        let is_new = self.names.insert(name.into());
        self.bytes += if is_new { block(name.len()) } else { 0 };
        is_new
    }

    /// Removes a name. Returns whether it was there. O(log n).
    pub(crate) fn remove(&mut self, name: &[u8]) -> bool {
        let was_there = self.names.remove(name);
        self.bytes -= if was_there { block(name.len()) } else { 0 };
        was_there
    }

    /// The number of names.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// All names, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Box<[u8]>> {
        self.names.iter()
    }

    /// Bytes of memory. The figure for the nodes of the tree is approximate. O(1).
    pub(super) fn memory(&self) -> usize {
        let trees = usize::from(!self.names.is_empty());
        self.bytes + tree_heap_bytes(trees, self.names.len(), size_of::<Box<[u8]>>())
    }
}

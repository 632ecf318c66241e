//! The open sections of a key that clients have declared.

use super::super::history::Name;
use lockwheel_store::memory::{block, map_heap_bytes};
use std::collections::BTreeMap;

/// The size in bytes of a vector with one entry.
const FIRST_BYTES: usize = 4 * size_of::<u64>();

#[derive(Debug, Default)]
pub(super) struct OpenSections {
    by_owner: BTreeMap<Name, Vec<u64>>,
    open: usize,
}

impl OpenSections {
    /// Returns the approximate memory in bytes. O(1).
    pub(super) fn memory(&self) -> usize {
        map_heap_bytes(&self.by_owner)
            + self.by_owner.len() * block(FIRST_BYTES)
            + self.open * size_of::<u64>()
    }

    /// Records that an owner enters the section. O(log n).
    pub(super) fn enter(&mut self, owner: Name, seq: u64) {
        self.by_owner.entry(owner).or_default().push(seq);
        self.open += 1;
    }

    /// Removes the section that an owner entered last, if the owner is in one. O(log n).
    pub(super) fn leave(&mut self, owner: Name) {
        let Some(open) = self.by_owner.get_mut(&owner) else { return };
        self.open -= usize::from(open.pop().is_some());
        if open.is_empty() {
            self.by_owner.remove(&owner);
        }
    }

    /// Returns the open sections of all owners but one, each with its entry. O(log n) for the first.
    pub(super) fn of_others(&self, owner: Name) -> impl Iterator<Item = (Name, u64)> {
        let others = self.by_owner.iter().filter(move |(other, _)| **other != owner);
        others.flat_map(|(other, open)| open.iter().map(|seq| (*other, *seq)))
    }

    /// Returns the number of open sections of all owners but one. O(log n).
    pub(super) fn count_of_others(&self, owner: Name) -> usize {
        self.open - self.by_owner.get(&owner).map_or(0, Vec::len)
    }
}

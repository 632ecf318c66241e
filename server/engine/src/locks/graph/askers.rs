//! The owners that were refused a lock lately, among which the owner of a new subscription is searched.

use super::super::history::Name;
use lockwheel_store::memory::vec_heap_bytes;

/// The maximum number of owners among which the owner of a new subscription is searched.
const MAX_CANDIDATES: usize = 64;

/// The owners that were refused a lock last, in order.
#[derive(Debug, Default)]
pub(super) struct Askers {
    owners: Vec<Name>,
}

impl Askers {
    /// Adds an owner that was refused the lock. O(1), amortized.
    pub(super) fn push(&mut self, owner: Name) {
        if self.owners.last() == Some(&owner) {
            return;
        }
        if self.owners.len() == 2 * MAX_CANDIDATES {
            self.owners.drain(..MAX_CANDIDATES);
        }
        self.owners.push(owner);
    }

    /// Returns the owner whose instance is assumed to have made a new subscription. It is the last refused owner whose
    /// instance does not listen yet, among the last 64, or else the last refused one. If two instances ask at once,
    /// their subscriptions may be swapped, which does not matter. O(1) calls of `listens`.
    pub(super) fn subscriber(&self, listens: impl Fn(Name) -> bool) -> Option<Name> {
        let mut last = self.owners.iter().rev().take(MAX_CANDIDATES).copied();
        last.find(|owner| !listens(*owner)).or_else(|| self.owners.last().copied())
    }

    /// Returns the owned memory in bytes. O(1).
    pub(super) fn memory(&self) -> usize {
        vec_heap_bytes(&self.owners)
    }
}

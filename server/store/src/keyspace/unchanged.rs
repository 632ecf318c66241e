//! Keys that have not changed since a waiter checked them, so that its findings still hold.

use super::db_key::{DbKey, DbKeyRef, give_back};
use crate::memory::block;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// The unchanged keys, by database and name. Filled only while a key has waiters, since changes are reported then.
#[derive(Debug)]
pub(super) struct Unchanged {
    keys: HashMap<DbKey, (), FixedState>,
    /// Bytes of memory of the keys' names.
    names: usize,
}

impl Unchanged {
    /// Makes an empty set. The seed decides the hash of keys, since clients choose their names.
    pub(super) fn new(seed: u64) -> Self {
        Unchanged { keys: HashMap::with_hasher(FixedState::with_seed(seed)), names: 0 }
    }

    /// Notes that a key has been checked. O(1).
    pub(super) fn note(&mut self, db: usize, key: &[u8]) {
        if self.keys.insert((db, key.into()), ()).is_none() {
            self.names += block(key.len());
        }
    }

    /// Whether a key has not changed since it was noted. O(1).
    pub(super) fn has(&self, db: usize, key: &[u8]) -> bool {
        !self.keys.is_empty() && self.keys.contains_key(&DbKeyRef(db, key))
    }

    /// Notes that a key has changed. O(1).
    #[inline]
    pub(super) fn changed(&mut self, db: usize, key: &[u8]) {
        if !self.keys.is_empty() {
            self.forget(db, key);
        }
    }

    #[inline(never)]
    fn forget(&mut self, db: usize, key: &[u8]) {
        if self.keys.remove(&DbKeyRef(db, key)).is_some() {
            self.names -= block(key.len());
            give_back(&mut self.keys);
        }
    }

    /// Forgets all keys, since any may have changed.
    pub(super) fn clear(&mut self) {
        if !self.keys.is_empty() {
            self.keys.clear();
            self.keys.shrink_to_fit();
            self.names = 0;
        }
    }

    /// Bytes of memory of the set. O(1).
    pub(super) fn memory(&self) -> usize {
        block(self.keys.allocation_size()) + self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_unchanged_until_it_changes() {
        let mut unchanged = Unchanged::new(7);
        unchanged.note(0, b"a");
        unchanged.note(0, b"a");
        unchanged.note(1, b"b");
        unchanged.changed(1, b"a");
        assert!(unchanged.has(0, b"a") && unchanged.has(1, b"b") && !unchanged.has(0, b"b"));
        unchanged.changed(0, b"a");
        assert!(!unchanged.has(0, b"a") && unchanged.names == block(1));
        unchanged.clear();
        assert!(!unchanged.has(1, b"b") && unchanged.memory() == 0);
    }
}

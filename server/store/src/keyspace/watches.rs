//! The watchers of keys: the basis of optimistic transactions (WATCH).

use super::db_key::{DbKey, DbKeyRef, give_back};
use crate::memory::{block, tree_heap_bytes, vec_heap_bytes};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// Watched keys by database and name, and the watchers whose keys have changed.
#[derive(Debug)]
pub struct Watches {
    by_key: HashMap<DbKey, BTreeSet<u64>, FixedState>,
    broken: Vec<u64>,
    /// Bytes of memory of the keys' names.
    names: usize,
    /// The number of watchers of all keys together.
    watchers: usize,
}

impl Watches {
    /// Makes an empty table. The seed decides the hash of keys, since clients choose their names.
    pub(super) fn new(seed: u64) -> Self {
        let by_key = HashMap::with_hasher(FixedState::with_seed(seed));
        Watches { by_key, broken: Vec::new(), names: 0, watchers: 0 }
    }

    /// Lets `watcher` watch `key` of database `db`. O(log watchers).
    pub(super) fn add(&mut self, db: usize, key: &[u8], watcher: u64) {
        let watchers = self.by_key.entry((db, key.into())).or_default();
        let (is_first, is_new) = (watchers.is_empty(), watchers.insert(watcher));
        self.names += if is_first { block(key.len()) } else { 0 };
        self.watchers += usize::from(is_new);
    }

    pub(super) fn remove(&mut self, db: usize, key: &[u8], watcher: u64) {
        if let Some(watchers) = self.by_key.get_mut(&DbKeyRef(db, key)) {
            self.watchers -= usize::from(watchers.remove(&watcher));
            if watchers.is_empty() {
                self.names -= block(key.len());
                self.by_key.remove(&DbKeyRef(db, key));
                give_back(&mut self.by_key);
            }
        }
    }

    /// Notes that a key has changed: marks its watchers as broken.
    #[inline]
    pub(super) fn changed(&mut self, db: usize, key: &[u8]) {
        if !self.by_key.is_empty() {
            self.break_watchers(db, key);
        }
    }

    #[inline(never)]
    fn break_watchers(&mut self, db: usize, key: &[u8]) {
        if let Some(watchers) = self.by_key.get(&DbKeyRef(db, key)) {
            self.broken.extend(watchers);
        }
    }

    pub(super) fn keys(&self, db: usize) -> Vec<Box<[u8]>> {
        self.by_key.keys().filter(|(of, _)| *of == db).map(|(_, key)| key.clone()).collect()
    }

    /// Bytes of memory, with the nodes of the trees estimated. O(1).
    pub(super) fn memory(&self) -> usize {
        let sets = tree_heap_bytes(self.by_key.len(), self.watchers, size_of::<u64>());
        block(self.by_key.allocation_size()) + self.names + sets + vec_heap_bytes(&self.broken)
    }

    /// The number of watched keys.
    pub fn keys_watched(&self) -> usize {
        self.by_key.len()
    }

    /// Whether there are watchers whose keys have changed.
    pub fn has_broken(&self) -> bool {
        !self.broken.is_empty()
    }

    /// Takes a watcher whose keys have changed.
    pub fn next_broken(&mut self) -> Option<u64> {
        self.broken.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::BuildHasher;

    #[test]
    fn the_seed_decides_the_hash_of_keys() {
        let place: DbKey = (0, (*b"key").into());
        let [first, same, other] = [1, 1, 2].map(|seed| Watches::new(seed).by_key.hasher().hash_one(&place));
        assert_eq!(first, same);
        assert_ne!(first, other);
    }
}

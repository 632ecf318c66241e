//! The watchers of keys: the base of optimistic transactions.

use super::db_key::{DbKey, DbKeyRef};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// Watched keys by database and name, and the watchers whose keys have changed.
#[derive(Debug)]
pub struct Watches {
    by_key: HashMap<DbKey, BTreeSet<u64>, FixedState>,
    broken: Vec<u64>,
}

impl Watches {
    /// No watchers. The seed decides the hash of keys: clients choose their names.
    pub(super) fn new(seed: u64) -> Self {
        Watches { by_key: HashMap::with_hasher(FixedState::with_seed(seed)), broken: Vec::new() }
    }

    /// `watcher` watches `key` of database `db`. O(log watchers).
    pub(super) fn add(&mut self, db: usize, key: &[u8], watcher: u64) {
        self.by_key.entry((db, key.into())).or_default().insert(watcher);
    }

    /// Stops that.
    pub(super) fn remove(&mut self, db: usize, key: &[u8], watcher: u64) {
        if let Some(watchers) = self.by_key.get_mut(&DbKeyRef(db, key)) {
            watchers.remove(&watcher);
            if watchers.is_empty() {
                self.by_key.remove(&DbKeyRef(db, key));
            }
        }
    }

    /// The key has changed: marks its watchers.
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

    /// The watched keys of a database.
    pub(super) fn keys(&self, db: usize) -> Vec<Box<[u8]>> {
        self.by_key.keys().filter(|(of, _)| *of == db).map(|(_, key)| key.clone()).collect()
    }

    /// How many keys are watched.
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

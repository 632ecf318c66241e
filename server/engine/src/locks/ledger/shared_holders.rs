//! The owners of locks that have had several owners at once, each with its grant.

use super::grant::Grant;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use lockwheel_store::keyspace::{DbKey, DbKeyRef};
use std::collections::BTreeMap;

/// The owners of a lock, each with the grant by which it holds the lock.
pub(super) type LockOwners = BTreeMap<Box<[u8]>, Grant>;

/// The owners of all locks that have had several, by lock.
#[derive(Debug)]
pub(super) struct SharedHolders {
    by_lock: HashMap<DbKey, LockOwners, FixedState>,
    names: usize,
    /// The number of owners of all locks together.
    owners: usize,
}

impl SharedHolders {
    /// Creates an empty table. The seed decides the hash of keys, because clients choose their names.
    pub(super) fn new(seed: u64) -> Self {
        SharedHolders { by_lock: HashMap::with_hasher(FixedState::with_seed(seed)), names: 0, owners: 0 }
    }

    /// Returns the owners of a lock. O(1).
    pub(super) fn get(&self, db: usize, key: &[u8]) -> Option<&LockOwners> {
        self.by_lock.get(&DbKeyRef(db, key))
    }

    /// Adds an owner of a lock, with its grant. O(log n), n the owners of the lock.
    pub(super) fn insert(&mut self, db: usize, key: &[u8], owner: &[u8], grant: Grant) {
        let owners = self.by_lock.entry((db, key.into())).or_default();
        self.names += if owners.is_empty() { key.len() } else { 0 };
        if owners.insert(owner.into(), grant).is_none() {
            self.names += owner.len();
            self.owners += 1;
        }
    }

    /// Removes an owner of a lock. Returns whether others still hold the lock. O(log n), n the owners of the lock.
    #[inline]
    pub(super) fn remove(&mut self, db: usize, key: &[u8], owner: &[u8]) -> bool {
        if self.by_lock.is_empty() {
            return false;
        }
        let Some(owners) = self.by_lock.get_mut(&DbKeyRef(db, key)) else { return false };
        if owners.remove(owner).is_some() {
            self.names -= owner.len();
            self.owners -= 1;
        }
        let is_held = !owners.is_empty();
        if !is_held {
            self.take(db, key);
        }
        is_held
    }

    /// Removes and returns all owners of a lock. O(n), n the owners of the lock.
    pub(super) fn take(&mut self, db: usize, key: &[u8]) -> Option<LockOwners> {
        let owners = self.by_lock.remove(&DbKeyRef(db, key))?;
        self.names -= key.len() + names_of(&owners);
        self.owners -= owners.len();
        Some(owners)
    }

    /// Removes all locks of a database. O(n), n all owners.
    pub(super) fn flushed(&mut self, db: usize) {
        let gone = self.by_lock.extract_if(|(of, _), _| *of == db);
        for ((_, key), owners) in gone {
            self.names -= key.len() + names_of(&owners);
            self.owners -= owners.len();
        }
    }

    /// Exchanges the locks of two databases. O(n), n all locks.
    pub(super) fn swap(&mut self, one: usize, other: usize) {
        let moved: Vec<(DbKey, LockOwners)> =
            self.by_lock.extract_if(|(db, _), _| *db == one || *db == other).collect();
        for ((db, key), owners) in moved {
            self.by_lock.insert((if db == one { other } else { one }, key), owners);
        }
    }

    /// Returns the bytes of the table, before an allocator rounds them up; tree nodes are approximate. O(1).
    pub(super) fn memory(&self) -> usize {
        /// Slots in a node of a tree. A lock with fewer owners has one node.
        const NODE: usize = 11;
        let places = self.owners.max(self.by_lock.len() * NODE);
        self.by_lock.allocation_size() + self.names + places * size_of::<(Box<[u8]>, Grant)>()
    }
}

fn names_of(owners: &LockOwners) -> usize {
    owners.keys().map(|owner| owner.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_shared_holders_is_released_with_them() {
        let mut all = SharedHolders::new(7);
        let grant = |number| Grant { number, native: true };
        for (number, (db, owner)) in
            [(0, b"a"), (0, b"b"), (0, b"a"), (1, b"a"), (2, b"a")].into_iter().enumerate()
        {
            all.insert(db, b"lock", owner, grant(number as u64));
        }
        assert_eq!((all.names, all.owners), (3 * 4 + 4, 4));
        assert_eq!(all.get(0, b"lock").map(BTreeMap::len), Some(2));
        assert!(
            all.remove(0, b"lock", b"a") && !all.remove(0, b"lock", b"b") && !all.remove(0, b"lock", b"b")
        );
        assert_eq!(all.take(1, b"lock").map(|owners| owners.len()), Some(1));
        all.flushed(2);
        assert_eq!((all.names, all.owners, all.by_lock.len()), (0, 0, 0));
    }
}

//! Native holds by database and key, in small tables as the keys are, for the same reasons.

use super::holds::Grant;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher;

/// Small tables in a database with a native hold.
const TABLES: usize = 256;

/// A key and its hold.
pub(super) type Held = (Box<[u8]>, Grant);

/// The native holds in all databases.
#[derive(Debug)]
pub(super) struct Grants {
    hasher: FixedState,
    /// By database, as far as they have had holds.
    databases: Vec<HeldIn>,
    len: usize,
}

/// The native holds in one database.
#[derive(Debug, Default)]
pub(super) struct HeldIn {
    /// None until the first hold.
    tables: Vec<HashTable<Held>>,
    len: usize,
}

/// Bits that the table itself looks at last.
fn table_of(hash: u64) -> usize {
    (hash >> 40) as usize % TABLES
}

impl Grants {
    /// No holds. The seed decides the hash of keys: clients choose their names.
    pub(super) fn new(seed: u64) -> Self {
        Grants { hasher: FixedState::with_seed(seed), databases: Vec::new(), len: 0 }
    }

    fn hash_of(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn insert(&mut self, db: usize, key: &[u8], grant: Grant) {
        if db >= self.databases.len() {
            self.databases.resize_with(db + 1, HeldIn::default);
        }
        let hash = self.hash_of(key);
        let (hasher, held) = (&self.hasher, &mut self.databases[db]);
        if held.tables.is_empty() {
            held.tables.resize_with(TABLES, HashTable::new);
        }
        let table = &mut held.tables[table_of(hash)];
        match table.entry(hash, |(name, _)| **name == *key, |(name, _)| hasher.hash_one(&**name)) {
            Entry::Occupied(mut slot) => slot.get_mut().1 = grant,
            Entry::Vacant(slot) => {
                slot.insert((key.into(), grant));
                held.len += 1;
                self.len += 1;
            }
        }
    }

    pub(super) fn get(&self, db: usize, key: &[u8]) -> Option<&Grant> {
        if self.len == 0 {
            return None;
        }
        let hash = self.hash_of(key);
        let table = self.databases.get(db)?.tables.get(table_of(hash))?;
        table.find(hash, |(name, _)| **name == *key).map(|(_, grant)| grant)
    }

    pub(super) fn remove(&mut self, db: usize, key: &[u8]) -> Option<Held> {
        if self.len == 0 {
            return None;
        }
        let hash = self.hash_of(key);
        let held = self.databases.get_mut(db)?;
        let slot = held.tables.get_mut(table_of(hash))?.find_entry(hash, |(name, _)| **name == *key).ok()?;
        let (removed, _) = slot.remove();
        held.len -= 1;
        self.len -= 1;
        Some(removed)
    }

    /// Takes all of a database out. O(1).
    pub(super) fn take(&mut self, db: usize) -> HeldIn {
        let held = self.databases.get_mut(db).map(std::mem::take).unwrap_or_default();
        self.len -= held.len;
        held
    }
}

impl HeldIn {
    /// All of them, in an order that depends on what was granted and the seed alone.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Held> {
        self.tables.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_decides_the_hash_of_keys() {
        let order = |seed| {
            let mut grants = Grants::new(seed);
            for n in 0..100_u64 {
                let name = format!("key{n}").into_bytes();
                grants.insert(0, &name, Grant { owner: Box::default(), token: n });
                assert_eq!(grants.get(0, &name).map(|grant| grant.token), Some(n));
            }
            grants.take(0).iter().map(|(_, grant)| grant.token).collect::<Vec<_>>()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }
}

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
#[derive(Debug, Default)]
pub(super) struct Grants {
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

fn hash_of(key: &[u8]) -> u64 {
    FixedState::default().hash_one(key)
}

/// Bits that the table itself looks at last.
fn table_of(hash: u64) -> usize {
    (hash >> 40) as usize % TABLES
}

impl Grants {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn insert(&mut self, db: usize, key: &[u8], grant: Grant) {
        if db >= self.databases.len() {
            self.databases.resize_with(db + 1, HeldIn::default);
        }
        let held = &mut self.databases[db];
        if held.tables.is_empty() {
            held.tables.resize_with(TABLES, HashTable::new);
        }
        let hash = hash_of(key);
        let table = &mut held.tables[table_of(hash)];
        match table.entry(hash, |(name, _)| **name == *key, |(name, _)| hash_of(name)) {
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
        let hash = hash_of(key);
        let table = self.databases.get(db)?.tables.get(table_of(hash))?;
        table.find(hash, |(name, _)| **name == *key).map(|(_, grant)| grant)
    }

    pub(super) fn remove(&mut self, db: usize, key: &[u8]) -> Option<Held> {
        if self.len == 0 {
            return None;
        }
        let hash = hash_of(key);
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
    /// All of them, in an order that depends on what was granted alone.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Held> {
        self.tables.iter().flatten()
    }
}

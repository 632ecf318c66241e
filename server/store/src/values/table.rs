//! The table of large hashes, sets and sorted sets: a dense vector of entries and a hash index into it.

use crate::memory::{block, shrink_table, vec_heap_bytes};
use foldhash::quality::FixedState;
use hashbrown::HashTable;
use lockwheel_resp::allocation::{self, OutOfMemory};
use std::hash::BuildHasher;

/// The number of entries below which memory is not freed, since it would be needed again at once.
const SMALLEST: usize = 32;

/// The number of entries from which on some memory must be left over when an index grows.
const SCARCE_MIN: usize = 8 * 1024;

/// The most entries for which room is reserved in advance. A command may name one member a million times.
const MAX_RESERVED_ENTRIES: usize = 1024;

/// An entry that can be found by its key.
pub(super) trait Keyed {
    /// The key, unique in its table.
    fn key(&self) -> &[u8];
    /// Bytes of heap that it holds. O(1).
    fn heap_bytes(&self) -> usize;
}

impl Keyed for Box<[u8]> {
    fn key(&self) -> &[u8] {
        self
    }

    fn heap_bytes(&self) -> usize {
        block(self.len())
    }
}

impl Keyed for &[u8] {
    fn key(&self) -> &[u8] {
        self
    }

    fn heap_bytes(&self) -> usize {
        0
    }
}

/// Whether all keys are different. O(keys).
pub(super) fn are_distinct<'a>(mut keys: impl Iterator<Item = &'a [u8]>, seed: u64) -> bool {
    let mut table = Table::with_capacity(keys.size_hint().0, seed);
    keys.all(|key| table.insert_with(key, || key).is_ok())
}

/// Entries by key. Find, insert, remove and access by position are O(1). Positions are dense: a removed entry's is
/// taken by the last one, and no other ever moves. The order depends on the operations alone, not on the seed.
#[derive(Clone, Debug)]
pub(super) struct Table<E> {
    entries: Vec<E>,
    index: HashTable<IndexEntry>,
    seed: u64,
    /// Bytes of heap that the entries hold.
    held: usize,
}

/// The position of an entry, with enough of its hash to grow the index without reading the entries.
#[derive(Clone, Copy, Debug)]
struct IndexEntry {
    hash: u32,
    position: u32,
}

impl IndexEntry {
    /// The hash in the form that the index needs: with good bits at both ends.
    fn wide(hash: u32) -> u64 {
        u64::from(hash) << 32 | u64::from(hash)
    }

    fn rehash(&self) -> u64 {
        Self::wide(self.hash)
    }
}

impl<E: Keyed> Table<E> {
    /// An empty table with room for `capacity` entries, but at most [`MAX_RESERVED_ENTRIES`].
    pub(super) fn with_capacity(capacity: usize, seed: u64) -> Self {
        let capacity = capacity.min(MAX_RESERVED_ENTRIES);
        let (entries, index) = (Vec::with_capacity(capacity), HashTable::with_capacity(capacity));
        Self { entries, index, seed, held: 0 }
    }

    /// A table of these entries in this order. Their keys must be distinct. O(entries).
    pub(super) fn of_distinct(entries: Vec<E>, seed: u64) -> Self {
        let held = entries.iter().map(Keyed::heap_bytes).sum();
        let mut table = Self { index: HashTable::new(), entries, seed, held };
        grow(&mut table.index, table.entries.len());
        for position in 0..table.entries.len() {
            let hash = table.hash(table.entries[position].key());
            table.link(hash, position);
        }
        table
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of heap that it holds, with its entries. O(1).
    pub(super) fn heap_bytes(&self) -> usize {
        vec_heap_bytes(&self.entries) + block(self.index.allocation_size()) + self.held
    }

    /// All entries by position.
    pub(super) fn entries(&self) -> &[E] {
        &self.entries
    }

    /// All entries by position, without the index.
    pub(super) fn into_entries(self) -> Vec<E> {
        self.entries
    }

    pub(super) fn find(&self, key: &[u8]) -> Option<usize> {
        let hash = self.hash(key);
        let indexed = self.index.find(IndexEntry::wide(hash), |indexed| self.is_at(*indexed, hash, key))?;
        Some(indexed.position as usize)
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&E> {
        Some(&self.entries[self.find(key)?])
    }

    /// Changes all entries. Their keys and bytes must stay the same. O(n).
    pub(super) fn change_all(&mut self, change: impl FnMut(&mut E)) {
        self.entries.iter_mut().for_each(change);
    }

    /// Changes the entry at `position`, except for its key. A change that unwinds leaves the entry as it was.
    pub(super) fn change(&mut self, position: usize, change: impl FnOnce(&mut E)) {
        let entry = &mut self.entries[position];
        let before = entry.heap_bytes();
        change(entry);
        self.held = self.held - before + entry.heap_bytes();
    }

    /// Adds the entry that `make` builds for `key`. Returns the position, as an error if there is an entry already.
    pub(super) fn insert_with(&mut self, key: &[u8], make: impl FnOnce() -> E) -> Result<usize, usize> {
        let hash = self.hash(key);
        if let Some(indexed) =
            self.index.find(IndexEntry::wide(hash), |indexed| self.is_at(*indexed, hash, key))
        {
            return Err(indexed.position as usize);
        }
        // The steps that may run out of memory come first: the index never names a missing entry.
        let entry = make();
        let position = self.entries.len();
        allocation::reserve(&mut self.entries, 1);
        self.link(hash, position);
        self.held += entry.heap_bytes();
        self.entries.push(entry);
        Ok(position)
    }

    /// Adds the entry of a new key to the index.
    fn link(&mut self, hash: u32, position: usize) {
        // Redis has the same bound. The entries of 2^32 members would need several hundred gigabytes.
        let position = u32::try_from(position).expect("fewer than 2^32 elements fit in memory");
        if self.index.len() == self.index.capacity() {
            grow(&mut self.index, 1);
        }
        self.index.insert_unique(IndexEntry::wide(hash), IndexEntry { hash, position }, IndexEntry::rehash);
    }

    pub(super) fn remove(&mut self, key: &[u8]) -> Option<E> {
        self.find(key).map(|position| self.remove_at(position))
    }

    /// Removes the entry at `position`. The last entry takes that position.
    pub(super) fn remove_at(&mut self, position: usize) -> E {
        let last = self.entries.len() - 1;
        self.unlink(position);
        if position != last {
            let hash = self.hash(self.entries[last].key());
            if let Some(indexed) =
                self.index.find_mut(IndexEntry::wide(hash), |indexed| indexed.position as usize == last)
            {
                indexed.position = position as u32;
            }
        }
        let entry = self.entries.swap_remove(position);
        self.held -= entry.heap_bytes();
        self.shrink();
        entry
    }

    /// Visits about `count` entries; returns the next cursor, 0 at the end. 0 also starts. Cursors walk the positions
    /// downwards, and an entry only moves down, and from the top: one that exists throughout is visited.
    pub(super) fn scan<'a>(&'a self, cursor: u64, count: usize, mut visit: impl FnMut(&'a E)) -> u64 {
        let len = self.entries.len();
        let top = match usize::try_from(cursor) {
            Ok(0) | Err(_) => len,
            Ok(cursor) => cursor.min(len),
        };
        let bottom = top.saturating_sub(count.max(1));
        self.entries[bottom..top].iter().rev().for_each(&mut visit);
        bottom as u64
    }

    /// Bytes of heap of the entries, counted one by one.
    #[cfg(test)]
    pub(super) fn held_anew(&self) -> usize {
        self.entries.iter().map(Keyed::heap_bytes).sum()
    }

    /// Bytes of heap of the entries, as maintained.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.held
    }

    fn hash(&self, key: &[u8]) -> u32 {
        // Half of a good hash is a good hash.
        (FixedState::with_seed(self.seed).hash_one(key) >> 32) as u32
    }

    fn is_at(&self, indexed: IndexEntry, hash: u32, key: &[u8]) -> bool {
        indexed.hash == hash && self.entries[indexed.position as usize].key() == key
    }

    /// Removes the entry at `position` from the index.
    fn unlink(&mut self, position: usize) {
        let hash = self.hash(self.entries[position].key());
        if let Ok(indexed) =
            self.index.find_entry(IndexEntry::wide(hash), |indexed| indexed.position as usize == position)
        {
            indexed.remove();
        }
    }

    /// Frees memory if less than a quarter is used, and suffices to move the rest. Amortised O(1) per removal.
    fn shrink(&mut self) {
        let len = self.entries.len();
        if self.entries.capacity() > SMALLEST && len < self.entries.capacity() / 4 {
            let room = (len * 2).max(SMALLEST / 2);
            allocation::shrink_to(&mut self.entries, room);
            shrink_table(&mut self.index, room, IndexEntry::rehash);
        }
    }
}

/// Makes room in an index for `more` entries. Unwinds if memory is short.
#[cold]
fn grow(index: &mut HashTable<IndexEntry>, more: usize) {
    if index.try_reserve(more, IndexEntry::rehash).is_err() {
        OutOfMemory { bytes: (index.len() + more) * size_of::<IndexEntry>() }.unwind();
    }
    if index.len() >= SCARCE_MIN {
        allocation::check_left().unwrap_or_else(|error| error.unwind());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn key(n: u16) -> Box<[u8]> {
        n.to_string().into_bytes().into()
    }

    fn table_of(keys: impl IntoIterator<Item = u16>) -> Table<Box<[u8]>> {
        let mut table = Table::with_capacity(0, 1);
        for n in keys {
            let _ = table.insert_with(&key(n), || key(n));
        }
        table
    }

    #[test]
    fn reserving_takes_no_more_memory_than_allowed() {
        let table: Table<Box<[u8]>> = Table::with_capacity(1 << 40, 1);
        assert!(table.entries.capacity() <= MAX_RESERVED_ENTRIES, "{}", table.entries.capacity());
        assert!(table.index.capacity() <= 2 * MAX_RESERVED_ENTRIES, "{}", table.index.capacity());
    }

    #[test]
    fn a_table_releases_memory() {
        let mut table = table_of(0..10_000);
        for n in 10..10_000 {
            table.remove(&key(n));
        }
        assert!(table.entries.capacity() <= 64, "{}", table.entries.capacity());
        assert!(table.index.capacity() <= 64, "{}", table.index.capacity());
        assert!((0..10).all(|n| table.find(&key(n)).is_some()));
    }

    proptest! {
        #[test]
        fn a_table_is_a_set_of_keys(
            steps in prop::collection::vec((any::<bool>(), 0_u16..200), 0..600),
            seed in any::<u64>(),
        ) {
            let mut model = BTreeMap::new();
            let mut table = Table::with_capacity(0, seed);
            for (insert, n) in steps {
                if insert {
                    let added = table.insert_with(&key(n), || key(n)).is_ok();
                    prop_assert_eq!(added, model.insert(n, ()).is_none());
                } else {
                    prop_assert_eq!(table.remove(&key(n)), model.remove(&n).map(|()| key(n)));
                }
                prop_assert_eq!(table.len(), model.len());
                prop_assert_eq!(table.get(&key(n)).is_some(), model.contains_key(&n));
                prop_assert_eq!((table.held, table.clone().held), (table.held_anew(), table.held_anew()));
            }
            for n in 0..200 {
                prop_assert_eq!(table.find(&key(n)).is_some(), model.contains_key(&n));
            }
        }

        #[test]
        fn a_scan_returns_every_key_that_exists_throughout(
            start in prop::collection::btree_set(0_u16..300, 0..200),
            count in 1_usize..30,
            steps in prop::collection::vec(prop::collection::vec((any::<bool>(), 0_u16..300), 0..20), 0..300),
        ) {
            let mut table = table_of(start.iter().copied());
            let (mut throughout, mut seen) = (start, BTreeSet::new());
            let (mut cursor, mut steps) = (0, steps.into_iter());
            loop {
                cursor = table.scan(cursor, count, |entry| { seen.insert(entry.clone()); });
                if cursor == 0 {
                    break;
                }
                for (insert, n) in steps.next().unwrap_or_default() {
                    if insert {
                        let _ = table.insert_with(&key(n), || key(n));
                    } else if table.remove(&key(n)).is_some() {
                        throughout.remove(&n);
                    }
                }
            }
            prop_assert!(throughout.into_iter().all(|n| seen.contains(&key(n))));
        }
    }
}

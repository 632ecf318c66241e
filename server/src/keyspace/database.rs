//! One database: its table of keys, cut into many small ones so that growth never pauses for long.
//!
//! A key's place is fixed by its hash: ten bits choose the small table, and the order of the hashes is the order of
//! SCAN. That order does not depend on the tables' sizes, so a scan returns every key that is present throughout,
//! whatever the tables do meanwhile.

use super::entry::Entry;
use super::rng::Rng;
use crate::time::TimerId;
use crate::values::Value;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Slot;

/// The number of small tables, a power of two.
const TABLES: usize = 1 << TABLE_BITS;
const TABLE_BITS: u32 = 10;
/// The bits of a scan position: JavaScript's clients read cursors as doubles, Java's as signed longs.
const POSITION_BITS: u32 = 53;

/// Where a hash stands in the order of SCAN; its first ten bits are the number of its table.
///
/// The top bits of the hash are left to the tables' own tags.
fn position(hash: u64) -> u64 {
    hash.rotate_right(42) >> (64 - POSITION_BITS)
}

fn table_of(hash: u64) -> usize {
    (position(hash) >> (POSITION_BITS - TABLE_BITS)) as usize
}

/// The keys of one database.
#[derive(Debug, Default)]
pub(super) struct Database {
    /// Empty until the first key.
    tables: Vec<HashTable<Entry>>,
    len: usize,
    with_deadline: usize,
    /// The most keys since the tables were last given back.
    peak: usize,
}

impl Database {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn with_deadline(&self) -> usize {
        self.with_deadline
    }

    pub(super) fn find(&self, hash: u64, key: &[u8]) -> Option<&Entry> {
        self.tables.get(table_of(hash))?.find(hash, |entry| *entry.key == *key)
    }

    pub(super) fn find_mut(&mut self, hash: u64, key: &[u8]) -> Option<&mut Entry> {
        self.tables.get_mut(table_of(hash))?.find_mut(hash, |entry| *entry.key == *key)
    }

    /// The entry of `key`, made with `value()` when there is none. `rehash` gives the hash of a key.
    pub(super) fn find_or_insert(
        &mut self,
        hash: u64,
        key: &[u8],
        rehash: impl Fn(&[u8]) -> u64,
        value: impl FnOnce() -> Value,
    ) -> &mut Entry {
        if self.tables.is_empty() {
            self.tables.resize_with(TABLES, HashTable::new);
        }
        let table = &mut self.tables[table_of(hash)];
        match table.entry(hash, |entry| *entry.key == *key, |entry| rehash(&entry.key)) {
            Slot::Occupied(slot) => slot.into_mut(),
            Slot::Vacant(slot) => {
                self.len += 1;
                self.peak = self.peak.max(self.len);
                slot.insert(Entry { key: key.into(), value: value(), timer: None }).into_mut()
            }
        }
    }

    pub(super) fn remove(&mut self, hash: u64, key: &[u8]) -> Option<Entry> {
        self.remove_if(hash, |entry| *entry.key == *key)
    }

    /// Removes the entry whose timer has just fired.
    pub(super) fn remove_by_timer(&mut self, hash: u64, timer: TimerId) -> Option<Entry> {
        self.remove_if(hash, |entry| entry.timer == Some(timer))
    }

    fn remove_if(&mut self, hash: u64, matches: impl FnMut(&Entry) -> bool) -> Option<Entry> {
        let slot = self.tables.get_mut(table_of(hash))?.find_entry(hash, matches).ok()?;
        let (entry, _) = slot.remove();
        self.len -= 1;
        if entry.timer.is_some() {
            self.with_deadline -= 1;
        }
        // Making the tables anew costs more than a command: a lock that comes and goes alone does not pay it.
        if self.len == 0 && self.peak > TABLES {
            (self.tables, self.peak) = (Vec::new(), 0);
        }
        Some(entry)
    }

    /// Counts a deadline set (`true`) or taken (`false`) on a key that stays.
    pub(super) fn count_deadline(&mut self, set: bool) {
        if set { self.with_deadline += 1 } else { self.with_deadline -= 1 }
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.tables.iter().flat_map(|table| table.iter())
    }

    /// Takes all keys out. O(1).
    pub(super) fn take(&mut self) -> Database {
        std::mem::take(self)
    }

    /// A key chosen evenly enough: a random table's random entry. O(1) expected.
    pub(super) fn random(&self, rng: &mut Rng) -> Option<&Entry> {
        if self.len == 0 {
            return None;
        }
        let start = rng.below(TABLES as u64) as usize;
        let table =
            (0..TABLES).map(|i| &self.tables[(start + i) % TABLES]).find(|table| !table.is_empty())?;
        table.iter().nth(rng.below(table.len() as u64) as usize)
    }

    /// Visits at least `count` entries from `cursor` on, in the order of SCAN; the cursor to go on from, 0 at the end.
    pub(super) fn scan<'a>(
        &'a self,
        cursor: u64,
        count: usize,
        hash_of: impl Fn(&[u8]) -> u64,
        visit: &mut dyn FnMut(&'a Entry),
    ) -> u64 {
        let mut seen = 0;
        let first = (cursor >> (POSITION_BITS - TABLE_BITS)) as usize;
        for table in self.tables.iter().skip(first) {
            if table.is_empty() {
                continue;
            }
            let mut rest: Vec<(u64, &Entry)> = table
                .iter()
                .map(|entry| (position(hash_of(&entry.key)), entry))
                .filter(|(position, _)| *position >= cursor)
                .collect();
            rest.sort_unstable_by_key(|(position, _)| *position);
            for (i, (position, entry)) in rest.iter().enumerate() {
                visit(entry);
                seen += 1;
                // Keys at one position go together: the cursor cannot tell them apart.
                if seen >= count && rest.get(i + 1).is_none_or(|(next, _)| next != position) {
                    return self.cursor_after(*position);
                }
            }
        }
        0
    }

    fn cursor_after(&self, position: u64) -> u64 {
        if (position + 1) >> POSITION_BITS == 0 { position + 1 } else { 0 }
    }
}

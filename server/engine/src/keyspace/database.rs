//! One database: its table of keys, cut into many small ones so that growth never pauses for long.
//!
//! A key's place is fixed by its hash: some bits choose the small table, and the order of these bits is the order of
//! SCAN. That order does not depend on the tables' sizes, so a scan returns every key that is present throughout,
//! whatever the tables do meanwhile.
//!
//! The tables hold numbers. Entries are kept in pages, so that the free places of a table cost little, and what only
//! some entries have is kept beside them under the same numbers.

use super::entry::Entry;
use super::mark::Mark;
use super::order::Order;
use super::rng::Rng;
use crate::memory::{block, of_vec};
use crate::pages::{Slab, Sparse, Store};
use crate::time::{IndexedWheel, TimerId};
use crate::values::Value;
use hashbrown::HashTable;

/// The number of small tables, a power of two.
const TABLES: usize = 1 << TABLE_BITS;
const TABLE_BITS: u32 = 10;
/// The bits of a scan position: JavaScript's clients read cursors as doubles, Java's as signed longs.
const POSITION_BITS: u32 = 53;

/// The position of a hash in the order of SCAN. The top and the lowest bits of the hash are left to the tables.
fn position(hash: u64) -> u64 {
    hash.rotate_right(42) >> (64 - POSITION_BITS)
}

/// The table of a position: they follow the order of SCAN. The last has 5/3 of the share of the first, and those
/// between lie between, so that tables do not all grow at once and stand half empty afterwards.
#[inline]
fn table_at(position: u64) -> usize {
    // p (5 - p) / 4, of p from 0 to 1, which is a fraction of 31 bits here: at most 2^64 - 1.
    let p = position >> (POSITION_BITS - 31);
    ((p * ((5 << 31) - p)) >> (64 - TABLE_BITS)) as usize
}

/// Makes room for one more in a table that is full; how many bytes more it takes.
#[cold]
fn grow(table: &mut HashTable<u32>, rehash: impl Fn(&u32) -> u64) -> usize {
    let before = block(table.allocation_size());
    table.reserve(1, rehash);
    block(table.allocation_size()) - before
}

#[inline]
fn table_of(hash: u64) -> usize {
    table_at(position(hash))
}

/// A table is made smaller when it uses less than this part of its places.
const SPARSE: usize = 8;
/// No table is made smaller than this many places.
const SMALLEST: usize = 32;

/// How often a random key that turns out to be due is tried again.
const RANDOM_TRIES: usize = 100;

/// Entries by number. A page is small enough for the allocator to have a size of its own for it.
type Entries = Slab<Entry, 256>;

/// An entry that was removed, with what stood beside it.
#[derive(Debug)]
pub(super) struct Removed {
    pub(super) entry: Entry,
    /// Its deadline, and when that was made.
    pub(super) deadline: Option<(i64, Order)>,
    pub(super) mark: Option<Mark>,
}

/// The keys of one database.
#[derive(Debug, Default)]
pub(super) struct Database {
    /// Empty until the first key.
    tables: Vec<HashTable<u32>>,
    entries: Entries,
    /// Beside the entries that have one.
    deadlines: IndexedWheel<Order>,
    /// Beside the entries that a subscriber has marked.
    marks: Sparse<Mark, 256>,
    len: usize,
    /// The most keys since the memory was last given back.
    peak: usize,
    /// Bytes of heap that keys and values hold outside of the pages, the value that is being edited as it was before.
    outside: usize,
    edited: Edited,
    /// Bytes of heap that the tables hold.
    table_bytes: usize,
}

/// The value that may be changed in place: its new size is read when another value becomes the edited one.
#[derive(Clone, Copy, Debug, Default)]
struct Edited {
    /// The number of its entry plus 1; 0: there is none.
    id: u32,
    /// What it was counted as: its length as long as it is one block, else its bytes of heap.
    before: Option<usize>,
    before_bytes: usize,
}

impl Edited {
    #[inline]
    fn of(id: u32, value: &Value) -> Self {
        let before = value.block_len();
        let before_bytes = if before.is_none() { value.heap_bytes() } else { 0 };
        Edited { id: id + 1, before, before_bytes }
    }

    /// Bytes of heap that the value was counted with.
    fn bytes(self) -> usize {
        self.before.map_or(self.before_bytes, block)
    }
}

/// What a database takes, in bytes of heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseBytes {
    /// Keys and values.
    pub data: usize,
    /// The tables and the deadlines.
    pub overhead: usize,
}

impl Database {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn with_deadline(&self) -> usize {
        self.deadlines.len()
    }

    #[inline]
    fn id(&self, hash: u64, key: &[u8]) -> Option<u32> {
        self.tables.get(table_of(hash))?.find(hash, |&id| self.entries.get(id).key() == key).copied()
    }

    /// The entry whose hash agrees in the bits that the table keeps: most likely the one of the key.
    #[inline]
    pub(super) fn likely(&self, hash: u64) -> Option<u32> {
        self.tables.get(table_of(hash))?.find(hash, |_| true).copied()
    }

    /// Touches the parts of an entry that a look-up will read.
    #[inline]
    pub(super) fn touch_entry(&self, id: u32) -> (bool, usize) {
        let entry = self.entries.get(id);
        (entry.has_deadline(), entry.key().len())
    }

    /// Touches the beginning of an entry's value, and its deadline.
    #[inline]
    pub(super) fn touch_value(&self, id: u32) -> (bool, Option<i64>) {
        let entry = self.entries.get(id);
        (entry.value.touch(), entry.has_deadline().then(|| self.deadlines.deadline(TimerId::at(id))))
    }

    #[inline(always)]
    pub(super) fn find(&self, hash: u64, key: &[u8]) -> Option<&Entry> {
        let mut found = None;
        self.tables.get(table_of(hash))?.find(hash, |&id| {
            let entry = self.entries.get(id);
            let is = entry.key() == key;
            if is {
                found = Some(entry);
            }
            is
        })?;
        found
    }

    #[inline(always)]
    pub(super) fn find_mut(&mut self, hash: u64, key: &[u8]) -> Option<(u32, &mut Entry)> {
        let id = self.id(hash, key)?;
        Some((id, self.edit(id)))
    }

    /// Bytes that it takes. O(1).
    pub(super) fn bytes(&self) -> DatabaseBytes {
        let mut outside = self.outside;
        if let Some(id) = self.edited.id.checked_sub(1) {
            outside = outside + self.entries.get(id).value.heap_bytes() - self.edited.bytes();
        }
        DatabaseBytes {
            data: self.entries.heap_bytes() + outside,
            overhead: self.table_bytes
                + of_vec(&self.tables)
                + self.deadlines.heap_bytes()
                + self.marks.heap_bytes(),
        }
    }

    /// The value of an entry is about to be changed in place.
    #[inline]
    fn edit(&mut self, id: u32) -> &mut Entry {
        if self.edited.id == id + 1 {
            return self.entries.get_mut(id);
        }
        if let Some(last) = self.edited.id.checked_sub(1) {
            let value = &self.entries.get(last).value;
            if value.block_len() != self.edited.before || self.edited.before.is_none() {
                self.outside = self.outside - self.edited.bytes() + value.heap_bytes();
            }
        }
        let entry = self.entries.get_mut(id);
        self.edited = Edited::of(id, &entry.value);
        entry
    }

    /// The value of an entry has replaced the `old` one.
    #[inline(never)]
    fn recount(&mut self, id: u32, old: &Value) {
        self.uncount(id, old);
        self.outside += self.entries.get(id).value.heap_bytes();
    }

    /// The value of an entry is going, or gone.
    #[inline]
    fn uncount(&mut self, id: u32, value: &Value) {
        if self.edited.id == id + 1 {
            self.outside -= self.edited.bytes();
            self.edited.id = 0;
        } else {
            self.outside -= value.heap_bytes();
        }
    }

    /// The entry of a key, unless it is due at `until`.
    #[inline(always)]
    pub(super) fn find_live(&self, hash: u64, key: &[u8], until: Option<i64>) -> Option<&Entry> {
        let found = self.find(hash, key)?;
        let due = |until| self.deadline(hash, key).is_some_and(|deadline| deadline <= until);
        (!until.is_some_and(due)).then_some(found)
    }

    /// The entry of a number, which is in use.
    #[inline]
    pub(super) fn entry(&self, id: u32) -> &Entry {
        self.entries.get(id)
    }

    /// The number of a key's entry, if it is marked.
    pub(super) fn find_marked(&self, hash: u64, key: &[u8]) -> Option<u32> {
        self.id(hash, key).filter(|&id| self.entries.get(id).is_marked())
    }

    /// The mark beside an entry.
    #[inline]
    pub(super) fn mark(&self, id: u32) -> Option<Mark> {
        self.entries.get(id).is_marked().then(|| *self.marks.get(id))
    }

    /// Puts a mark beside an entry, replacing any earlier one.
    #[inline(always)]
    pub(super) fn set_mark(&mut self, id: u32, mark: Mark) {
        let entry = self.entries.get_mut(id);
        if entry.is_marked() {
            *self.marks.get_mut(id) = mark;
        } else {
            entry.set_marked(true);
            self.marks.insert_at(id, mark);
        }
    }

    /// Removes the mark beside an entry.
    #[inline]
    pub(super) fn take_mark(&mut self, id: u32) -> Option<Mark> {
        let entry = self.entries.get_mut(id);
        if !entry.is_marked() {
            return None;
        }
        entry.set_marked(false);
        let mark = *self.marks.get(id);
        self.marks.remove(id);
        Some(mark)
    }

    /// The same for an entry that is about to be freed: nothing reads its flags after that.
    #[inline(always)]
    fn remove_mark(&mut self, id: u32) -> Option<Mark> {
        let mark = self.mark(id)?;
        self.marks.remove(id);
        Some(mark)
    }

    /// The marked entries, with their marks, in an order that depends only on what was put in.
    pub(super) fn marked(&self) -> impl Iterator<Item = (&Entry, Mark)> {
        let entry = |id| (self.entries.get(id), *self.marks.get(id));
        self.marks.indices_in_used_pages().map(entry).filter(|(entry, _)| entry.is_marked())
    }

    /// Adds an entry for `key`, which has none; its number. `rehash` gives the hash of a key.
    fn insert(&mut self, hash: u64, key: &[u8], rehash: impl Fn(&[u8]) -> u64, value: Value) -> u32 {
        if self.tables.is_empty() {
            self.tables.resize_with(TABLES, HashTable::new);
        }
        let entry = Entry::new(key, value);
        self.outside += entry.key_bytes() + entry.value.heap_bytes();
        let id = self.entries.insert(entry);
        let entries = &self.entries;
        let table = &mut self.tables[table_of(hash)];
        let rehash = |&id: &u32| rehash(entries.get(id).key());
        if table.len() == table.capacity() {
            self.table_bytes += grow(table, rehash);
        }
        table.insert_unique(hash, id, rehash);
        self.len += 1;
        self.peak = self.peak.max(self.len);
        id
    }

    /// The entry of `key`, made with `value()` when there is none. `rehash` gives the hash of a key.
    pub(super) fn find_or_insert(
        &mut self,
        hash: u64,
        key: &[u8],
        rehash: impl Fn(&[u8]) -> u64,
        value: impl FnOnce() -> Value,
    ) -> (u32, &mut Entry) {
        let id = self.id(hash, key).unwrap_or_else(|| self.insert(hash, key, rehash, value()));
        (id, self.edit(id))
    }

    /// Gives `key` a value, and takes its deadline unless `keep_deadline`; the number of its entry, and the value that
    /// it had, with whether it is marked.
    #[inline]
    pub(super) fn set(
        &mut self,
        hash: u64,
        key: &[u8],
        rehash: impl Fn(&[u8]) -> u64,
        value: Value,
        keep_deadline: bool,
    ) -> (u32, Option<(Value, bool)>) {
        let Some(id) = self.id(hash, key) else {
            return (self.insert(hash, key, rehash, value), None);
        };
        let entry = self.entries.get_mut(id);
        if !keep_deadline && entry.has_deadline() {
            entry.set_has_deadline(false);
            self.deadlines.cancel(TimerId::at(id));
        }
        let is_marked = entry.is_marked();
        let in_place = entry.value.is_in_place() && value.is_in_place();
        let old = std::mem::replace(&mut entry.value, value);
        if !in_place || self.edited.id == id + 1 {
            self.recount(id, &old);
        }
        (id, Some((old, is_marked)))
    }

    /// Removes a key; its entry and what stood beside it.
    #[inline(always)]
    pub(super) fn remove(&mut self, hash: u64, key: &[u8], rehash: impl Fn(&[u8]) -> u64) -> Option<Removed> {
        let Database { tables, entries, .. } = self;
        let table = tables.get_mut(table_of(hash))?;
        let slot = table.find_entry(hash, |&id| entries.get(id).key() == key).ok()?;
        let (id, _) = slot.remove();
        let deadline = self.entries.get(id).has_deadline().then(|| {
            let timer = TimerId::at(id);
            let deadline = self.deadlines.deadline(timer);
            (deadline, self.deadlines.cancel(timer))
        });
        let mark = self.remove_mark(id);
        Some(Removed { entry: self.free(hash, id, rehash), deadline, mark })
    }

    /// Removes the key that is due first at `now_ms`, if any is due.
    pub(super) fn remove_due(&mut self, now_ms: i64, hash_of: impl Fn(&[u8]) -> u64) -> Option<Removed> {
        let fired = self.deadlines.pop_due(now_ms)?;
        let id = fired.id.index();
        let hash = hash_of(self.entries.get(id).key());
        if let Ok(slot) = self.tables[table_of(hash)].find_entry(hash, |&other| other == id) {
            slot.remove();
        }
        let mark = self.remove_mark(id);
        let deadline = Some((fired.deadline_ms, fired.payload));
        Some(Removed { entry: self.free(hash, id, hash_of), deadline, mark })
    }

    /// Frees the place of an entry that is in no table and on no wheel any more, and memory that is not needed now.
    #[inline(always)]
    fn free(&mut self, hash: u64, id: u32, rehash: impl Fn(&[u8]) -> u64) -> Entry {
        let gone = std::mem::take(self.entries.get_mut(id));
        self.uncount(id, &gone.value);
        self.outside -= gone.key_bytes();
        self.entries.remove(id);
        self.len -= 1;
        // Rebuilding the tables costs more than a command: one key that comes and goes must not trigger it.
        if self.len == 0 && self.peak > TABLES {
            *self = Database::default();
            return gone;
        }
        let table = &mut self.tables[table_of(hash)];
        if table.capacity() > SMALLEST && table.len() < table.capacity() / SPARSE {
            let entries = &self.entries;
            self.table_bytes -= block(table.allocation_size());
            table.shrink_to(2 * table.len(), |&id| rehash(entries.get(id).key()));
            self.table_bytes += block(table.allocation_size());
        }
        gone
    }

    /// The deadline of a key, in wall milliseconds.
    pub(super) fn deadline(&self, hash: u64, key: &[u8]) -> Option<i64> {
        let id = self.id(hash, key).filter(|&id| self.entries.get(id).has_deadline())?;
        Some(self.deadlines.deadline(TimerId::at(id)))
    }

    /// Gives a key a deadline, made at `order`; false when there is no such key.
    pub(super) fn set_deadline(&mut self, hash: u64, key: &[u8], deadline_ms: i64, order: Order) -> bool {
        let Some(id) = self.id(hash, key) else { return false };
        let entry = self.entries.get_mut(id);
        if entry.has_deadline() {
            self.deadlines.move_to(TimerId::at(id), deadline_ms);
            self.deadlines.set_payload(TimerId::at(id), order);
        } else {
            entry.set_has_deadline(true);
            self.deadlines.insert_at(id, deadline_ms, order);
        }
        true
    }

    /// Removes the deadline of a key; whether it had one.
    pub(super) fn clear_deadline(&mut self, hash: u64, key: &[u8]) -> bool {
        let Some(id) = self.id(hash, key) else { return false };
        let entry = self.entries.get_mut(id);
        let had = entry.has_deadline();
        if had {
            entry.set_has_deadline(false);
            self.deadlines.cancel(TimerId::at(id));
        }
        had
    }

    /// The earliest deadline, in wall milliseconds, and when it was made.
    #[inline]
    pub(super) fn next_expiry(&mut self) -> Option<(i64, Order)> {
        self.deadlines.peek()
    }

    /// All entries but those that are due at `until`.
    pub(super) fn entries(&self, until: Option<i64>) -> impl Iterator<Item = &Entry> {
        self.tables.iter().flatten().filter_map(move |&id| self.live(id, until))
    }

    /// The entry of a number, unless it is due at `until`.
    fn live(&self, id: u32, until: Option<i64>) -> Option<&Entry> {
        let entry = self.entries.get(id);
        let due = |until| entry.has_deadline() && self.deadlines.deadline(TimerId::at(id)) <= until;
        (!until.is_some_and(due)).then_some(entry)
    }

    /// How many keys are due at `until`. O(keys with a deadline).
    pub(super) fn count_due(&self, until: Option<i64>) -> usize {
        until.map_or(0, |until| self.deadlines.count_due(until))
    }

    /// Takes all keys out. O(1).
    pub(super) fn take(&mut self) -> Database {
        std::mem::take(self)
    }

    /// A key chosen evenly enough, that is not due at `until`: a random entry of the table at a random position. O(1)
    /// expected while few are due.
    pub(super) fn random_live(&self, rng: &mut Rng, until: Option<i64>) -> Option<&Entry> {
        let mut tries =
            (0..RANDOM_TRIES).filter_map(|_| self.random(rng)).filter_map(|id| self.live(id, until));
        tries.next().or_else(|| self.entries(until).next())
    }

    fn random(&self, rng: &mut Rng) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let start = table_at(rng.below(1 << POSITION_BITS));
        let table =
            (0..TABLES).map(|i| &self.tables[(start + i) % TABLES]).find(|table| !table.is_empty())?;
        table.iter().nth(rng.below(table.len() as u64) as usize).copied()
    }

    /// Visits at least `count` entries that are not due at `until` from `cursor` on, in the order of SCAN; the cursor
    /// to go on from, 0 at the end.
    pub(super) fn scan<'a>(
        &'a self,
        cursor: u64,
        count: usize,
        until: Option<i64>,
        hash_of: impl Fn(&[u8]) -> u64,
        visit: &mut dyn FnMut(&'a Entry),
    ) -> u64 {
        let mut seen = 0;
        if cursor >> POSITION_BITS != 0 {
            return 0;
        }
        for table in self.tables.iter().skip(table_at(cursor)) {
            if table.is_empty() {
                continue;
            }
            let mut rest: Vec<(u64, &Entry)> = table
                .iter()
                .filter_map(|&id| self.live(id, until))
                .map(|entry| (position(hash_of(entry.key())), entry))
                .filter(|(position, _)| *position >= cursor)
                .collect();
            rest.sort_unstable_by_key(|(position, _)| *position);
            for (i, (position, entry)) in rest.iter().enumerate() {
                visit(entry);
                seen += 1;
                // Keys at one position are visited together: the cursor cannot tell them apart.
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

#[cfg(test)]
mod tests {
    use super::*;

    impl Database {
        /// Its bytes, counted one by one.
        pub(in crate::keyspace) fn bytes_anew(&self) -> DatabaseBytes {
            let tables: usize = self.tables.iter().map(|table| block(table.allocation_size())).sum();
            let of_entry = |entry: &Entry| entry.key_bytes() + entry.value.heap_bytes();
            DatabaseBytes {
                data: self.entries.heap_bytes() + self.entries(None).map(of_entry).sum::<usize>(),
                overhead: of_vec(&self.tables)
                    + tables
                    + self.deadlines.heap_bytes()
                    + self.marks.heap_bytes(),
            }
        }
    }

    #[test]
    fn tables_follow_the_order_of_scan_and_grow_towards_its_end() {
        let end = (1 << POSITION_BITS) - 1;
        assert_eq!((table_at(0), table_at(end)), (0, TABLES - 1));
        let mut share = vec![0; TABLES];
        let mut last = 0;
        for step in 0..1 << 20 {
            let table = table_at(step << (POSITION_BITS - 20));
            assert!(table == last || table == last + 1, "{table} after {last}");
            share[table] += 1;
            last = table;
        }
        assert!(share.iter().all(|&share| (800..1400).contains(&share)), "{share:?}");
        assert!(share[0] < share[TABLES - 1], "the first tables have the smallest spans: {share:?}");
    }
}

//! One database: its table of keys, split into many small tables so that growth never pauses for long.
//!
//! A key's position is fixed by its hash. Some bits of the hash choose the small table, and their order is that of
//! SCAN, whatever the sizes of the tables. So a scan returns every key that is present throughout.
//!
//! The last table has 5/3 of the share of the first: tables that double at one time would pause together and then stand
//! half empty. A cluster's slot (CRC16) does not choose the table: the CRC costs a nanosecond a byte, one `{tag}` would
//! fill one table, and SCAN would have no order that survives growth.
//!
//! The tables hold numbers of entries, which are kept in pages, so that free slots cost little. Data that only some
//! entries have is kept apart under the same numbers.

mod account;
mod deadlines;
mod fields;
mod marks;
mod place;
mod sample;
#[cfg(test)]
mod tests;
mod walk;

use super::access_clock::AccessClock;
use super::accesses::Accesses;
use super::entry::Entry;
use super::mark::Mark;
use super::order::Order;
use crate::memory::{block, shrink_table, vec_heap_bytes};
use crate::pages::{Slab, Sparse, Store};
use crate::time::{IndexedWheel, TimerId};
use crate::values::Value;
pub use account::DatabaseBytes;
use account::Edited;
use fields::FieldTimers;
use hashbrown::HashTable;
use place::{TABLES, position, table_of};

/// Makes room for one more number in a full table; returns the growth in bytes.
#[cold]
fn grow(table: &mut HashTable<u32>, rehash: impl Fn(&u32) -> u64) -> usize {
    let before = block(table.allocation_size());
    table.reserve(1, rehash);
    block(table.allocation_size()) - before
}

/// A table shrinks when it uses less than one in this many of its slots.
const SPARSE: usize = 8;
/// The number of slots below which no table shrinks.
const SMALLEST: usize = 32;

/// Entries by number. A page is small enough for the allocator to have a size class for it.
type Entries = Slab<Entry, 256>;

/// A removed entry, with its deadline and mark.
#[derive(Debug)]
pub(super) struct Removed {
    pub(super) entry: Entry,
    /// The entry's deadline, and the order in which it was made.
    pub(super) deadline: Option<(i64, Order)>,
    pub(super) mark: Option<Mark>,
}

#[derive(Debug, Default)]
pub(super) struct Database {
    /// Empty until the first key. From then on there are always `TABLES` tables.
    tables: Vec<HashTable<u32>>,
    entries: Entries,
    /// The deadlines of entries that have one.
    deadlines: IndexedWheel<Order>,
    /// The timers of hashes whose fields have deadlines.
    fields: FieldTimers,
    /// The marks of entries that a subscriber has marked.
    marks: Sparse<Mark, 256>,
    len: usize,
    /// The largest number of keys since memory was last given back.
    peak: usize,
    /// Bytes of heap of keys and values outside the pages; an edited value counts with its size before the edit.
    outside: usize,
    edited: Edited,
    table_bytes: usize,
}

impl Database {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn position(hash: u64) -> u64 {
        position(hash)
    }

    pub(super) fn with_deadline(&self) -> usize {
        self.deadlines.len()
    }

    /// The number of the entry of a key. Inlined, like [`Database::find_and`].
    #[inline(always)]
    fn id(&self, hash: u64, key: &[u8]) -> Option<u32> {
        self.tables.get(table_of(hash))?.find(hash, |&id| self.entries.get(id).key() == key).copied()
    }

    /// The entry whose hash agrees in the bits that the table keeps: most likely the key's entry.
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

    /// The entry of a key; `see` is called with the entry as soon as it is found. Inlined, so that each caller has a
    /// search of its own: some 30 instructions fewer for a `get`.
    #[inline(always)]
    pub(super) fn find_and(&self, hash: u64, key: &[u8], mut see: impl FnMut(&Entry)) -> Option<&Entry> {
        let mut found = None;
        self.tables.get(table_of(hash))?.find(hash, |&id| {
            let entry = self.entries.get(id);
            let is = entry.key() == key;
            if is {
                see(entry);
                found = Some(entry);
            }
            is
        })?;
        found
    }

    #[inline]
    pub(super) fn find(&self, hash: u64, key: &[u8]) -> Option<&Entry> {
        self.id(hash, key).map(|id| self.entries.get(id))
    }

    #[inline(never)]
    pub(super) fn find_id(&self, hash: u64, key: &[u8]) -> Option<u32> {
        self.id(hash, key)
    }

    #[inline(always)]
    pub(super) fn find_mut(&mut self, hash: u64, key: &[u8]) -> Option<(u32, &mut Entry)> {
        let id = self.id(hash, key)?;
        Some((id, self.edit(id)))
    }

    /// Bytes of memory of the database. O(1).
    pub(super) fn bytes(&self) -> DatabaseBytes {
        let mut outside = self.outside;
        if let Some(id) = self.edited.id.checked_sub(1) {
            outside = outside + self.entries.get(id).value.heap_bytes() - self.edited.bytes();
        }
        let (tables, deadlines) = self.overhead();
        DatabaseBytes { data: self.entries.heap_bytes() + outside, overhead: tables + deadlines }
    }

    /// Bytes of memory of the key index, and of the deadlines. O(1).
    pub(super) fn overhead(&self) -> (usize, usize) {
        let tables = self.table_bytes
            + vec_heap_bytes(&self.tables)
            + self.fields.heap_bytes()
            + self.marks.heap_bytes();
        (tables, self.deadlines.heap_bytes())
    }

    /// Bytes of the database's memory that removed keys and deadlines have left free for new ones. O(1).
    pub(super) fn free_bytes(&self) -> usize {
        self.entries.free_bytes(self.len) + self.deadlines.free_bytes()
    }

    #[inline]
    fn edit(&mut self, id: u32) -> &mut Entry {
        if self.entries.get(id).has_timed_fields() {
            self.fields_edited(id);
        }
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

    /// Counts the value of an entry, which has replaced the `old` one.
    #[inline(never)]
    fn recount(&mut self, id: u32, old: &Value) {
        self.uncount(id, old);
        self.outside += self.entries.get(id).value.heap_bytes();
    }

    /// Subtracts the size of a value that is going, or gone, from the count.
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
        let due = |until| {
            let is_past = self.deadline(hash, key).is_some_and(|deadline| deadline <= until);
            is_past || Self::is_over(found, until)
        };
        (!until.is_some_and(due)).then_some(found)
    }

    pub(super) fn edit_entry(&mut self, id: u32) -> &mut Entry {
        self.edit(id)
    }

    #[inline]
    pub(super) fn is_entry_of(&self, id: u32, key: &[u8]) -> bool {
        !key.is_empty() && self.entries.find(id).is_some_and(|entry| entry.key() == key)
    }

    #[inline]
    pub(super) fn entry(&self, id: u32) -> &Entry {
        self.entries.get(id)
    }

    /// Adds an entry for `key`, which has none; returns its number. `rehash` gives the hash of a key.
    fn insert(
        &mut self,
        hash: u64,
        key: &[u8],
        rehash: impl Fn(&[u8]) -> u64,
        value: Value,
        clock: AccessClock,
    ) -> u32 {
        if self.tables.is_empty() {
            self.begin_tables();
        }
        let entry = Entry::new(key, value, clock);
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

    /// The entry of `key`, which is accessed, or made with `value()` if it is absent. `rehash` gives the hash of a key.
    pub(super) fn find_or_insert(
        &mut self,
        hash: u64,
        key: &[u8],
        rehash: impl Fn(&[u8]) -> u64,
        value: impl FnOnce() -> Value,
        accesses: &mut Accesses,
    ) -> (u32, &mut Entry) {
        let id = match self.id(hash, key) {
            Some(id) => {
                accesses.note(self.entries.get(id).clock());
                id
            }
            None => self.insert(hash, key, rehash, value(), accesses.fresh()),
        };
        (id, self.edit(id))
    }

    /// Gives `key` a value, which is an access, and removes its deadline unless `keep_deadline`. Returns the number of
    /// its entry, the previous value, and whether the entry is marked.
    #[inline]
    pub(super) fn set(
        &mut self,
        hash: u64,
        key: &[u8],
        rehash: impl Fn(&[u8]) -> u64,
        value: Value,
        keep_deadline: bool,
        accesses: &mut Accesses,
    ) -> (u32, Option<(Value, bool)>) {
        let Some(id) = self.id(hash, key) else {
            return (self.insert(hash, key, rehash, value, accesses.fresh()), None);
        };
        let entry = self.entries.get_mut(id);
        accesses.note(entry.clock());
        if entry.has_timers() {
            if !keep_deadline && entry.has_deadline() {
                entry.set_has_deadline(false);
                self.deadlines.cancel(TimerId::at(id));
            }
            if entry.has_timed_fields() {
                self.forget_fields(id);
            }
        }
        let entry = self.entries.get_mut(id);
        let is_marked = entry.is_marked();
        let in_place = entry.value.is_in_place() && value.is_in_place();
        let old = std::mem::replace(&mut entry.value, value);
        if !in_place || self.edited.id == id + 1 {
            self.recount(id, &old);
        }
        (id, Some((old, is_marked)))
    }

    #[inline(always)]
    pub(super) fn remove(&mut self, hash: u64, key: &[u8], rehash: impl Fn(&[u8]) -> u64) -> Option<Removed> {
        let Database { tables, entries, .. } = self;
        let table = tables.get_mut(table_of(hash))?;
        let slot = table.find_entry(hash, |&id| entries.get(id).key() == key).ok()?;
        let (id, _) = slot.remove();
        let deadline = if self.entries.get(id).has_timers() { self.take_timers(id) } else { None };
        let mark = self.remove_mark(id);
        Some(Removed { entry: self.free(hash, id, rehash), deadline, mark })
    }

    /// Cancels the timers of an entry that is about to be freed; returns its deadline and order.
    #[inline(always)]
    fn take_timers(&mut self, id: u32) -> Option<(i64, Order)> {
        if self.entries.get(id).has_timed_fields() {
            self.forget_fields(id);
        }
        self.entries.get(id).has_deadline().then(|| {
            let timer = TimerId::at(id);
            let deadline = self.deadlines.deadline(timer);
            (deadline, self.deadlines.cancel(timer))
        })
    }

    /// Removes the entry of a number in use; returns it with its deadline and mark.
    pub(super) fn remove_at(&mut self, id: u32, hash_of: impl Fn(&[u8]) -> u64) -> Removed {
        let hash = hash_of(self.entries.get(id).key());
        if let Ok(slot) = self.tables[table_of(hash)].find_entry(hash, |&other| other == id) {
            slot.remove();
        }
        let deadline = if self.entries.get(id).has_timers() { self.take_timers(id) } else { None };
        let mark = self.remove_mark(id);
        Removed { entry: self.free(hash, id, hash_of), deadline, mark }
    }

    /// Removes the key with the earliest deadline, if that is due at `now_ms`.
    pub(super) fn remove_due(&mut self, now_ms: i64, hash_of: impl Fn(&[u8]) -> u64) -> Option<Removed> {
        let fired = self.deadlines.pop_due(now_ms)?;
        let id = fired.id.index();
        let hash = hash_of(self.entries.get(id).key());
        if let Ok(slot) = self.tables[table_of(hash)].find_entry(hash, |&other| other == id) {
            slot.remove();
        }
        if self.entries.get(id).has_timed_fields() {
            self.forget_fields(id);
        }
        let mark = self.remove_mark(id);
        let deadline = Some((fired.deadline_ms, fired.payload));
        Some(Removed { entry: self.free(hash, id, hash_of), deadline, mark })
    }

    /// Frees the slot of an entry that is in no table and on no wheel, and memory that is no longer needed.
    #[inline(always)]
    fn free(&mut self, hash: u64, id: u32, rehash: impl Fn(&[u8]) -> u64) -> Entry {
        let gone = std::mem::take(self.entries.get_mut(id));
        self.uncount(id, &gone.value);
        self.outside -= gone.key_bytes();
        self.entries.remove(id);
        self.len -= 1;
        // Rebuilding the tables costs more than a command: one key that comes and goes must not trigger it.
        if self.len == 0 && self.peak > TABLES {
            drop(self.take());
            return gone;
        }
        let table = &mut self.tables[table_of(hash)];
        if table.capacity() > SMALLEST && table.len() < table.capacity() / SPARSE {
            let entries = &self.entries;
            self.table_bytes -= block(table.allocation_size());
            shrink_table(table, 2 * table.len(), |&id| rehash(entries.get(id).key()));
            self.table_bytes += block(table.allocation_size());
        }
        gone
    }

    /// Takes all keys out. O(1).
    pub(super) fn take(&mut self) -> Database {
        let taken = std::mem::take(self);
        if !taken.tables.is_empty() {
            self.begin_tables();
        }
        taken
    }

    fn begin_tables(&mut self) {
        self.tables.resize_with(TABLES, HashTable::new);
    }
}

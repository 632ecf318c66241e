//! Unreachable data that takes a while to free.

use super::database::Database;
use crate::values::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of parts above which a value is freed after its command. A part takes some 50 ns to free.
const PARTS_LATER: usize = 64;
/// The length above which a string is freed after its command: four parts take as long as a page.
const BYTES_LATER: usize = 4 << 20;
/// The number of parts above which freeing takes noticeably long.
const PARTS_LONG: usize = 4096;

/// The numbers of keys and values that are left to be freed later.
#[derive(Debug, Default)]
pub struct LazyFree {
    pending: AtomicU64,
    freed: AtomicU64,
}

impl LazyFree {
    /// The number of objects that are not freed yet.
    pub fn pending(&self) -> u64 {
        self.pending.load(Ordering::Relaxed)
    }

    /// The number of objects that have been freed since the start or the last CONFIG RESETSTAT.
    pub fn freed(&self) -> u64 {
        self.freed.load(Ordering::Relaxed)
    }

    /// Restarts the count of freed objects.
    pub fn reset(&self) {
        self.freed.store(0, Ordering::Relaxed);
    }
}

/// Flushed databases and large values of removed keys. Dropping the garbage frees them, on any thread.
#[derive(Debug, Default)]
pub struct Garbage {
    databases: Vec<Database>,
    values: Vec<Value>,
    /// Whether a single part of it takes noticeably long to free.
    takes_long: bool,
    /// The number of keys of databases, and of values.
    objects: u64,
    counts: Arc<LazyFree>,
}

impl Garbage {
    /// Makes an empty collection whose future objects are counted in `counts`.
    pub(super) fn counted_by(counts: &Arc<LazyFree>) -> Self {
        let mut garbage = Garbage::default();
        garbage.counts = Arc::clone(counts);
        garbage
    }

    /// Whether there is nothing to free. O(1).
    pub fn is_empty(&self) -> bool {
        self.objects == 0
    }

    /// Whether it takes so long to free that no client should wait for that. O(1).
    pub fn takes_long(&self) -> bool {
        self.takes_long || self.values.len() > PARTS_LONG / PARTS_LATER
    }

    /// The number of keys and parts of values. O(databases and values).
    pub fn parts(&self) -> usize {
        let keys: usize = self.databases.iter().map(Database::len).sum();
        keys + self.values.iter().map(Value::parts).sum::<usize>()
    }

    /// Takes the value of a removed key, or frees it at once if that is quick.
    #[inline]
    pub(super) fn add(&mut self, value: Value) {
        if value.is_in_place() {
            // Nothing is to be freed, and a drop would check that again, which takes longer than all of this.
            return std::mem::forget(value);
        }
        self.add_outside(value);
    }

    #[inline(never)]
    fn add_outside(&mut self, value: Value) {
        let (later, long) = match &value {
            Value::Str(text) => (text.outside() > BYTES_LATER, true),
            collection => (collection.parts() > PARTS_LATER, collection.parts() > PARTS_LONG),
        };
        if later {
            self.count(1, long);
            self.values.push(value);
        }
    }

    /// Takes the keys of a database, or frees them at once if that is quick.
    pub(super) fn add_database(&mut self, database: Database) {
        let parts = || database.entries(None).map(|entry| entry.value.parts()).sum::<usize>();
        if database.len() > PARTS_LONG || parts() > PARTS_LONG {
            self.count(database.len() as u64, true);
            self.databases.push(database);
        }
    }

    fn count(&mut self, objects: u64, takes_long: bool) {
        self.objects += objects;
        self.takes_long |= takes_long;
        self.counts.pending.fetch_add(objects, Ordering::Relaxed);
    }
}

impl Drop for Garbage {
    fn drop(&mut self) {
        if self.objects > 0 {
            self.databases.clear();
            self.values.clear();
            self.counts.pending.fetch_sub(self.objects, Ordering::Relaxed);
            self.counts.freed.fetch_add(self.objects, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::{Encodings, Set};

    fn set(members: u32) -> Value {
        let mut set = Set::default();
        for n in 0..members {
            set.add(format!("m{n}").as_bytes(), &Encodings::default());
        }
        Value::Set(set)
    }

    #[test]
    fn lazily_freed_values_are_counted_before_and_after() {
        let counts = Arc::new(LazyFree::default());
        let mut garbage = Garbage::counted_by(&counts);
        garbage.add(set(PARTS_LATER as u32));
        assert!(garbage.is_empty());
        garbage.add(set(PARTS_LATER as u32 + 1));
        assert_eq!((garbage.is_empty(), garbage.takes_long()), (false, false));
        garbage.add(set(PARTS_LONG as u32 + 1));
        assert!(garbage.takes_long());
        assert_eq!((counts.pending(), counts.freed()), (2, 0));
        drop(garbage);
        assert_eq!((counts.pending(), counts.freed()), (0, 2));
        counts.reset();
        assert_eq!(counts.freed(), 0);
    }

    #[test]
    fn many_small_values_take_long_to_free_together() {
        let mut garbage = Garbage::default();
        for _ in 0..=PARTS_LONG / PARTS_LATER {
            assert!(!garbage.takes_long());
            garbage.add(set(PARTS_LATER as u32 + 1));
        }
        assert!(garbage.takes_long());
    }
}

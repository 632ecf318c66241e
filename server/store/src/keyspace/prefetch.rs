//! Look-ups made in advance, so that their data is in the caches when a command makes them.
//!
//! Each step (table, entry, value) waits for memory whose address the step before has read. Here each step is done for
//! all keys before the next, so that they need not wait for each other.

use super::database::Database;
use std::hint::black_box;

/// The number of keys below which a database stays in the caches by itself.
const LARGE: usize = 20_000;

/// Keys that are about to be looked up.
#[derive(Debug, Default)]
pub(super) struct Prefetch {
    /// The keys' databases and hashes.
    noted: Vec<(u32, u64)>,
    /// The databases and numbers of the keys' probable entries.
    entries: Vec<(u32, u32)>,
}

impl Prefetch {
    pub(super) fn is_worthwhile(database: &Database) -> bool {
        database.len() >= LARGE
    }

    #[inline]
    pub(super) fn note(&mut self, db: usize, hash: u64) {
        self.noted.push((db as u32, hash));
    }

    /// Touches all data that the noted look-ups will touch, or harmlessly that of a key with the same hash bits.
    pub(super) fn fetch(&mut self, databases: &[Database]) {
        self.entries.clear();
        for (db, hash) in self.noted.drain(..) {
            self.entries.extend(databases[db as usize].likely(hash).map(|id| (db, id)));
        }
        for &(db, id) in &self.entries {
            black_box(databases[db as usize].touch_entry(id));
        }
        for &(db, id) in &self.entries {
            black_box(databases[db as usize].touch_value(id));
        }
    }
}

//! Ready keys whose waiters are nevertheless held back for a while, so that others may come first.

use super::db_key::DbKey;
use crate::memory::{block, tree_heap_bytes};
use std::collections::BTreeMap;

/// The keys, each with the end of its hold-back, on the monotonic clock in milliseconds.
#[derive(Debug, Default)]
pub struct HeldBack {
    until_ms: BTreeMap<DbKey, i64>,
    name_bytes: usize,
}

impl HeldBack {
    /// Holds the waiters of a key back until that instant.
    pub fn hold(&mut self, db: usize, key: &[u8], until_ms: i64) {
        if self.until_ms.insert((db, key.into()), until_ms).is_none() {
            self.name_bytes += block(key.len());
        }
    }

    /// Ends the hold-back of a key.
    pub fn let_go(&mut self, db: usize, key: &[u8]) {
        if self.until_ms.remove(&(db, key.into())).is_some() {
            self.name_bytes -= block(key.len());
        }
    }

    /// The end of a key's hold-back, if its waiters are held back. O(log n).
    pub fn until_ms(&self, db: usize, key: &[u8]) -> Option<i64> {
        if self.until_ms.is_empty() {
            return None;
        }
        self.until_ms.get(&(db, key.into())).copied()
    }

    /// The keys whose hold-back ends at `now_ms` or earlier. O(n).
    pub fn due(&self, now_ms: i64) -> Vec<DbKey> {
        let due = self.until_ms.iter().filter(|(_, until_ms)| **until_ms <= now_ms);
        due.map(|(key, _)| key.clone()).collect()
    }

    /// Bytes of memory of all hold-backs, approximately. O(1).
    pub(super) fn memory(&self) -> usize {
        let keys = self.until_ms.len();
        tree_heap_bytes(usize::from(keys > 0), keys, size_of::<(DbKey, i64)>()) + self.name_bytes
    }
}

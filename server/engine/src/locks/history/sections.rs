//! Critical sections that clients declare: LOCK.ENTER and LOCK.LEAVE.

use lockwheel_store::keyspace::DbKey;
use lockwheel_store::memory::{block, tree_heap_bytes};
use std::collections::BTreeMap;

/// The maximum number of sections that are open at once.
const MAX_SECTIONS: usize = 65_536;

/// The maximum number of bytes of the keys and owners of open sections, as for the texts of the history.
const MAX_NAME_BYTES: usize = 8 << 20;

/// The open sections, each with the number of times that its owner has entered it.
#[derive(Debug, Default)]
pub(in crate::locks) struct Sections {
    open: BTreeMap<(DbKey, Box<[u8]>), u64>,
    names: usize,
}

impl Sections {
    /// Whether an owner could enter a section. `false`: too many are open, or their names are too long. O(log n).
    pub(in crate::locks) fn enter(&mut self, db: usize, key: &[u8], owner: &[u8]) -> bool {
        let section = ((db, Box::from(key)), Box::from(owner));
        if let Some(times) = self.open.get_mut(&section) {
            *times += 1;
            return true;
        }
        let names = self.names.saturating_add(block(key.len()) + block(owner.len()));
        let has_room = self.open.len() < MAX_SECTIONS && names <= MAX_NAME_BYTES;
        if has_room {
            self.names = names;
            self.open.insert(section, 1);
        }
        has_room
    }

    /// Records that an owner leaves a section once. Returns whether the owner had entered it. O(log n).
    pub(in crate::locks) fn leave(&mut self, db: usize, key: &[u8], owner: &[u8]) -> bool {
        let section = ((db, Box::from(key)), Box::from(owner));
        let Some(times) = self.open.get_mut(&section) else { return false };
        *times -= 1;
        if *times == 0 {
            self.names -= block(key.len()) + block(owner.len());
            self.open.remove(&section);
        }
        true
    }

    /// Returns the approximate memory in bytes. O(1).
    pub(in crate::locks) fn memory(&self) -> usize {
        let entry_bytes = size_of::<((DbKey, Box<[u8]>), u64)>();
        self.names + tree_heap_bytes(usize::from(!self.open.is_empty()), self.open.len(), entry_bytes)
    }
}

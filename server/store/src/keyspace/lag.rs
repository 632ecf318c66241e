//! The record of a lagging replica's state: the keys written since the lag began, as they were before. A key is kept at
//! its first write. The record is bounded by the keys at the start of the lag, and at present.

use super::glob;
use super::mark::Mark;
use crate::memory::{block, tree_heap_bytes};
use crate::values::Value;
use std::collections::BTreeMap;

/// The state of a key before its first write.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) value: Value,
    pub(super) deadline_ms: Option<i64>,
    pub(super) mark: Option<Mark>,
}

/// Kept keys, with their states. `None` if there was no such key.
pub(super) type KeptKeys = BTreeMap<(usize, Box<[u8]>), Option<Kept>>;

/// The smallest number of new keys that are recorded before the record is checked for keys that are gone again.
const NEW_AT_LEAST: usize = 1024;

#[derive(Debug)]
pub(super) struct Lag {
    /// The pattern of the keys to be recorded. `None`: all keys.
    pattern: Option<Box<[u8]>>,
    before: KeptKeys,
    /// The number of recorded keys that did not exist before, and the limit at which gone ones are forgotten.
    new: usize,
    most_new: usize,
    /// Bytes of names and values.
    bytes: usize,
}

impl Lag {
    /// Begins an empty record. Only keys that match the pattern are recorded.
    pub(super) fn new(pattern: Option<&[u8]>) -> Self {
        let pattern = pattern.map(Box::from);
        Lag { pattern, before: KeptKeys::new(), new: 0, most_new: NEW_AT_LEAST, bytes: 0 }
    }

    pub(super) fn into_kept(self) -> KeptKeys {
        self.before
    }

    /// Whether it is time to forget new keys that are gone again.
    pub(super) fn has_many_new(&self) -> bool {
        self.new >= self.most_new
    }

    /// Whether a key is to be kept: it matches the pattern, and is written for the first time.
    pub(super) fn wants(&self, db: usize, key: &[u8]) -> bool {
        let is_meant = self.pattern.as_ref().is_none_or(|pattern| glob::matches(pattern, key, false));
        is_meant && !self.before.contains_key(&(db, key.into()))
    }

    pub(super) fn keep(&mut self, db: usize, key: &[u8], kept: Option<Kept>) {
        self.new += usize::from(kept.is_none());
        self.bytes += block(key.len()) + kept.as_ref().map_or(0, |kept| kept.value.heap_bytes());
        self.before.insert((db, key.into()), kept);
    }

    /// Forgets keys that did not exist before and do not exist now.
    pub(super) fn forget_gone(&mut self, is_there: impl Fn(usize, &[u8]) -> bool) {
        let Lag { before, bytes, .. } = self;
        before.retain(|(db, key), kept| {
            let stays = kept.is_some() || is_there(*db, key);
            *bytes -= if stays { 0 } else { block(key.len()) };
            stays
        });
        self.new = self.before.values().filter(|kept| kept.is_none()).count();
        self.most_new = NEW_AT_LEAST.max(self.new * 2);
    }

    /// Bytes of the record, approximately. O(1).
    pub(super) fn memory(&self) -> usize {
        let entry_bytes = size_of::<((usize, Box<[u8]>), Option<Kept>)>();
        self.bytes + tree_heap_bytes(usize::from(!self.before.is_empty()), self.before.len(), entry_bytes)
    }
}

//! What a replica has that lags: the keys that have been written since, as they were before.
//!
//! A key is kept at its first write, and costs nothing after that. What is kept is bounded by what there was when the
//! replica began to lag, and by the keys that there are now.

use super::glob;
use super::mark::Mark;
use crate::memory::{block, of_trees};
use crate::values::Value;
use std::collections::BTreeMap;

/// A key as it was.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) value: Value,
    pub(super) deadline_ms: Option<i64>,
    pub(super) mark: Option<Mark>,
}

/// Keys as they were; `None` when there was no such key.
pub(super) type KeptKeys = BTreeMap<(usize, Box<[u8]>), Option<Kept>>;

/// So many keys that were not there are kept before any is looked at again.
const NEW_AT_LEAST: usize = 1024;

/// What has been written since a replica began to lag.
#[derive(Debug)]
pub(super) struct Lag {
    /// The keys that it is of; all without one.
    pattern: Option<Box<[u8]>>,
    before: KeptKeys,
    /// How many of them were not there, and how many there may be before those that are gone again are forgotten.
    new: usize,
    most_new: usize,
    /// Bytes of names and values.
    bytes: usize,
}

impl Lag {
    /// Nothing has been written yet. Only keys that match the pattern are meant.
    pub(super) fn new(pattern: Option<&[u8]>) -> Self {
        let pattern = pattern.map(Box::from);
        Lag { pattern, before: KeptKeys::new(), new: 0, most_new: NEW_AT_LEAST, bytes: 0 }
    }

    /// What has been written, as it was.
    pub(super) fn into_kept(self) -> KeptKeys {
        self.before
    }

    /// Whether it is time to forget keys that were not there and are not there again.
    pub(super) fn has_many_new(&self) -> bool {
        self.new >= self.most_new
    }

    /// Whether a key is to be kept: it is meant, and is written for the first time.
    pub(super) fn wants(&self, db: usize, key: &[u8]) -> bool {
        let is_meant = self.pattern.as_ref().is_none_or(|pattern| glob::matches(pattern, key, false));
        is_meant && !self.before.contains_key(&(db, key.into()))
    }

    /// Keeps a key as it is.
    pub(super) fn keep(&mut self, db: usize, key: &[u8], kept: Option<Kept>) {
        self.new += usize::from(kept.is_none());
        self.bytes += block(key.len()) + kept.as_ref().map_or(0, |kept| kept.value.heap_bytes());
        self.before.insert((db, key.into()), kept);
    }

    /// Forgets the keys that were not there and are not there again.
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

    /// Bytes of all of it, about. O(1).
    pub(super) fn memory(&self) -> usize {
        let entry_bytes = size_of::<((usize, Box<[u8]>), Option<Kept>)>();
        self.bytes + of_trees(usize::from(!self.before.is_empty()), self.before.len(), entry_bytes)
    }
}

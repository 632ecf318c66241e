//! What else is a lock: keys that LOCK.OBSERVE names.

use lockwheel_store::keyspace::glob;
use lockwheel_store::memory::{block, of_vec};

/// The most patterns.
const MOST: usize = 1024;

/// The patterns of LOCK.OBSERVE.
#[derive(Debug, Default)]
pub(in crate::locks) struct Observed {
    patterns: Vec<Box<[u8]>>,
    /// Bytes of the patterns themselves.
    pattern_bytes: usize,
}

impl Observed {
    /// Whether there are none.
    pub(in crate::locks) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Keys like these are observed from now on; `false` when there are too many patterns. O(patterns).
    pub(in crate::locks) fn add(&mut self, pattern: &[u8]) -> bool {
        let is_known = self.patterns.iter().any(|known| **known == *pattern);
        let has_room = is_known || self.patterns.len() < MOST;
        if has_room && !is_known {
            self.patterns.push(pattern.into());
            self.pattern_bytes += block(pattern.len());
        }
        has_room
    }

    /// They are no longer; whether they were. O(patterns).
    pub(in crate::locks) fn remove(&mut self, pattern: &[u8]) -> bool {
        let before = self.patterns.len();
        self.patterns.retain(|known| **known != *pattern);
        let is_removed = self.patterns.len() < before;
        if is_removed {
            self.pattern_bytes -= block(pattern.len());
        }
        is_removed
    }

    /// Whether a key is one of them. O(patterns).
    pub(in crate::locks) fn has(&self, key: &[u8]) -> bool {
        self.patterns.iter().any(|pattern| glob::matches(pattern, key, false))
    }

    /// Bytes of all of it. O(1).
    pub(in crate::locks) fn memory(&self) -> usize {
        of_vec(&self.patterns) + self.pattern_bytes
    }
}

//! Further keys that are locks: those that LOCK.OBSERVE names.

use lockwheel_store::keyspace::glob;
use lockwheel_store::memory::{block, vec_heap_bytes};

/// The largest number of patterns.
const MAX_PATTERNS: usize = 1024;

#[derive(Debug, Default)]
pub(in crate::locks) struct Observed {
    patterns: Vec<Box<[u8]>>,
    pattern_bytes: usize,
}

impl Observed {
    pub(in crate::locks) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Adds a pattern of keys to observe. Returns `false` if there are too many. O(patterns).
    pub(in crate::locks) fn add(&mut self, pattern: &[u8]) -> bool {
        let is_known = self.patterns.iter().any(|known| **known == *pattern);
        let has_room = is_known || self.patterns.len() < MAX_PATTERNS;
        if has_room && !is_known {
            self.patterns.push(pattern.into());
            self.pattern_bytes += block(pattern.len());
        }
        has_room
    }

    /// Removes a pattern. Returns whether it was present. O(patterns).
    pub(in crate::locks) fn remove(&mut self, pattern: &[u8]) -> bool {
        let before = self.patterns.len();
        self.patterns.retain(|known| **known != *pattern);
        let is_removed = self.patterns.len() < before;
        if is_removed {
            self.pattern_bytes -= block(pattern.len());
        }
        is_removed
    }

    /// Whether a key matches one of the patterns. O(patterns).
    pub(in crate::locks) fn has(&self, key: &[u8]) -> bool {
        self.patterns.iter().any(|pattern| glob::matches(pattern, key, false))
    }

    /// Returns the bytes of all patterns. O(1).
    pub(in crate::locks) fn memory(&self) -> usize {
        vec_heap_bytes(&self.patterns) + self.pattern_bytes
    }
}

//! Bytes of buffers that connections hold, counted across threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A count of bytes of buffers, in any thread.
#[derive(Clone, Debug, Default)]
pub struct BufferBytes(Arc<AtomicUsize>);

impl BufferBytes {
    /// The number of bytes. O(1).
    #[must_use]
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Notes that a buffer has changed from `before` to `after` bytes. O(1).
    pub fn change(&self, before: usize, after: usize) {
        self.0.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }

    /// Counts `bytes` bytes until the result is dropped.
    #[must_use]
    pub fn hold(&self, bytes: usize) -> HeldBytes {
        self.change(0, bytes);
        HeldBytes { all: self.clone(), bytes }
    }
}

/// The bytes of all buffers of an engine's clients.
#[derive(Clone, Debug, Default)]
pub struct ClientBytes {
    /// The bytes of all buffers.
    pub all: BufferBytes,
    /// The bytes that count towards `maxmemory-clients`.
    pub limited: BufferBytes,
}

/// Bytes that are counted until this is dropped.
#[derive(Debug)]
pub struct HeldBytes {
    all: BufferBytes,
    bytes: usize,
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.all.change(self.bytes, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_counted_until_they_are_dropped() {
        let all = BufferBytes::default();
        let (one, two) = (all.hold(10), all.hold(5));
        all.change(0, 7);
        all.change(7, 3);
        assert_eq!(all.get(), 18);
        drop(one);
        assert_eq!(all.clone().get(), 8);
        drop(two);
        assert_eq!(all.get(), 3);
    }
}

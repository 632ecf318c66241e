//! What an engine takes in all, and the most that it took.

use super::BufferBytes;

/// What the parts of an engine take, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Keys and values.
    pub data: usize,
    /// What finds keys and knows their deadlines, and who waits for them or watches them.
    pub tables: usize,
    /// Sessions with what is their own: query buffers, output, requests that wait.
    pub clients: usize,
    /// The interpreter with its scripts.
    pub scripts: usize,
    /// The engine itself, what finds clients and subscribers, and messages that receivers share.
    pub engine: usize,
}

impl MemoryUsage {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> usize {
        self.data + self.tables + self.clients + self.scripts + self.engine
    }
}

/// The memory account of one engine: what is not counted by those who hold it.
#[derive(Debug, Default)]
pub struct MemoryAccount {
    /// What clients hold, but for their sessions.
    pub clients: BufferBytes,
    /// Messages that their receivers share.
    pub messages: BufferBytes,
    /// What the engine took when it was made.
    pub at_start: MemoryUsage,
    /// What it took when it was last looked at.
    pub last: MemoryUsage,
    peak: usize,
    next_look_us: u64,
}

impl MemoryAccount {
    /// Microseconds between two looks, as in Redis: what comes and goes in between is no peak.
    const EVERY_US: u64 = 100_000;

    /// The most bytes that were seen. At least what was given to the last [`MemoryAccount::look`].
    #[must_use]
    pub fn peak(&self) -> usize {
        self.peak
    }

    /// Whether it is time for another look, by the system's monotonic clock.
    #[must_use]
    #[inline]
    pub fn is_due(&self, monotonic_us: u64) -> bool {
        monotonic_us >= self.next_look_us
    }

    /// Takes note of what the engine takes at this instant.
    pub fn look(&mut self, usage: MemoryUsage, monotonic_us: u64) {
        self.last = usage;
        self.peak = self.peak.max(usage.total());
        self.next_look_us = monotonic_us.saturating_add(Self::EVERY_US);
    }
}

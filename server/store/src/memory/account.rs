//! The memory of an engine in all, and its peak.

use super::{BufferBytes, ClientBytes};

/// The memory of an engine's parts, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Keys and values.
    pub data: usize,
    /// What finds keys and knows their deadlines, and who waits for them or watches them.
    pub tables: usize,
    /// Sessions with what is their own: query buffers, output, requests that wait.
    pub clients: usize,
    /// The interpreters with their scripts and functions.
    pub scripts: usize,
    /// The engine itself, its commands, what finds clients and subscribers, and messages that receivers share.
    pub engine: usize,
}

impl MemoryUsage {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> usize {
        self.data + self.tables + self.clients + self.scripts + self.engine
    }
}

/// The memory account of an engine: what its parts do not count themselves.
#[derive(Debug, Default)]
pub struct MemoryAccount {
    /// What clients hold, but for their sessions.
    pub clients: ClientBytes,
    /// Messages that their receivers share.
    pub messages: BufferBytes,
    /// The stream that replicas share which do not keep up, until the last of them has been sent it.
    pub stream: BufferBytes,
    /// What the registry of commands takes, with what is kept for each: it does not change.
    pub commands: usize,
    /// What the engine took when it was made.
    pub at_start: MemoryUsage,
    /// Its memory at the last sample.
    pub last: MemoryUsage,
    peak: usize,
    next_look_us: u64,
}

impl MemoryAccount {
    /// Microseconds between two samples, as in Redis: shorter peaks are missed.
    const EVERY_US: u64 = 100_000;

    /// The highest sample, in bytes: at least that of the last [`MemoryAccount::look`].
    #[must_use]
    pub fn peak(&self) -> usize {
        self.peak
    }

    /// Whether the next sample is due, by the system's monotonic clock.
    #[must_use]
    #[inline]
    pub fn is_due(&self, monotonic_us: u64) -> bool {
        monotonic_us >= self.next_look_us
    }

    /// Forgets the highest sample.
    pub fn reset_peak(&mut self) {
        self.peak = 0;
    }

    /// Records a sample of the engine's memory.
    pub fn look(&mut self, usage: MemoryUsage, monotonic_us: u64) {
        self.last = usage;
        self.peak = self.peak.max(usage.total());
        self.next_look_us = monotonic_us.saturating_add(Self::EVERY_US);
    }
}

//! The total memory of an engine, and its peak.

use super::{BufferBytes, ClientBytes};

/// The memory of an engine's parts, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Keys and values.
    pub data: usize,
    /// The key index, the deadlines, and the waiters and watchers of keys.
    pub tables: usize,
    /// Sessions with their own data: query buffers, output, waiting requests.
    pub clients: usize,
    /// The interpreters with their scripts and functions.
    pub scripts: usize,
    /// The engine itself, its commands, the tables of clients and subscribers, and messages that receivers share.
    pub engine: usize,
}

impl MemoryUsage {
    /// The sum of all parts.
    #[must_use]
    pub fn total(&self) -> usize {
        self.data + self.tables + self.clients + self.scripts + self.engine
    }
}

/// The memory account of an engine: the parts that do not count themselves.
#[derive(Debug, Default)]
pub struct MemoryAccount {
    /// The buffers that clients hold, outside their sessions.
    pub clients: ClientBytes,
    /// Messages that their receivers share.
    pub messages: BufferBytes,
    /// The stream that replicas share while they lag, until the last of them has been sent it.
    pub stream: BufferBytes,
    /// The registry of commands, with the data kept for each. It does not change.
    pub commands: usize,
    /// The engine's memory right after its construction.
    pub at_start: MemoryUsage,
    /// The engine's memory at the last sample.
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

//! The figures of memory that INFO and MEMORY tell.

use crate::core::Engine;
use crate::statistics::{AllocatorUsage, Usage};
use lockwheel_store::memory::MemoryUsage;

/// What the server takes by its own account, and what the process around it takes, in bytes.
pub(super) struct MemoryFigures {
    /// The account, by parts.
    pub(super) account: MemoryUsage,
    /// All of it.
    pub(super) total: u64,
    /// The most that it was.
    pub(super) peak: u64,
    /// What replicas have not read, of the clients' part.
    pub(super) replicas: u64,
    /// The end of the stream to replicas that is kept.
    pub(super) backlog: u64,
    /// What of it is not keys and values.
    pub(super) overhead: u64,
    /// What it was at the start.
    pub(super) startup: u64,
    /// The process.
    pub(super) process: Usage,
    /// Its allocator.
    pub(super) allocator: AllocatorUsage,
}

/// How much larger one size is than another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Overhead {
    /// The larger one in terms of the other.
    pub(super) ratio: f64,
    /// Their difference.
    pub(super) bytes: i64,
}

impl Overhead {
    fn of(outer: u64, inner: u64) -> Self {
        let ratio = outer as f64 / inner.max(1) as f64;
        Overhead { ratio, bytes: outer.wrapping_sub(inner).cast_signed() }
    }

    /// Whether it is more than a tenth, or so much more, and ten megabytes.
    pub(super) fn is_over(self, ratio: f64) -> bool {
        self.ratio > ratio && self.bytes > 10 << 20
    }
}

impl MemoryFigures {
    /// Those of now.
    pub(super) fn of(engine: &Engine) -> Self {
        let process = (engine.environment.identity.process.usage)();
        let account = engine.memory_parts().usage();
        let total = account.total() as u64;
        let of_process =
            AllocatorUsage { allocated: total, active: process.resident, resident: process.resident };
        MemoryFigures {
            account,
            total,
            peak: engine.memory.peak().max(account.total()) as u64,
            replicas: engine.memory_parts().of_replicas() as u64,
            backlog: engine.replication().history().backlog_memory() as u64,
            overhead: total - account.data as u64,
            startup: engine.memory.at_start.total() as u64,
            process,
            allocator: process.allocator.unwrap_or(of_process),
        }
    }

    /// What clients take that are no replicas.
    pub(super) fn normal_clients(&self) -> u64 {
        (self.account.clients as u64).saturating_sub(self.replicas)
    }

    /// Keys and values.
    pub(super) fn dataset(&self) -> u64 {
        self.total - self.overhead
    }

    /// What has come since the start, at least one byte.
    pub(super) fn since_startup(&self) -> u64 {
        self.total.saturating_sub(self.startup).max(1)
    }

    /// How much of what has come since the start are keys and values.
    pub(super) fn dataset_percent(&self) -> f64 {
        (self.dataset() as f64 * 100.0 / self.since_startup() as f64).min(100.0)
    }

    /// How much of the most that it was it is.
    pub(super) fn peak_percent(&self) -> f64 {
        self.total as f64 * 100.0 / self.peak.max(1) as f64
    }

    /// Of the allocator's pages over what is used of them.
    pub(super) fn allocator_fragmentation(&self) -> Overhead {
        Overhead::of(self.allocator.active, self.allocator.allocated)
    }

    /// Of all that the allocator keeps over the pages that are used.
    pub(super) fn allocator_rss(&self) -> Overhead {
        Overhead::of(self.allocator.resident, self.allocator.active)
    }

    /// Of the process over its allocator.
    pub(super) fn rss_overhead(&self) -> Overhead {
        Overhead::of(self.process.resident, self.allocator.resident)
    }

    /// Of the process over the account.
    pub(super) fn fragmentation(&self) -> Overhead {
        Overhead::of(self.process.resident, self.total)
    }
}

//! The memory figures of INFO and MEMORY.

use crate::core::MemoryView;
use crate::statistics::{AllocatorUsage, Usage};
use lockwheel_store::memory::MemoryUsage;

/// The memory of the server by its own account, and that of its process, in bytes.
pub(super) struct MemoryFigures {
    /// The server's own account, by parts.
    pub(super) account: MemoryUsage,
    /// The sum of the account.
    pub(super) total: u64,
    /// The peak of the total.
    pub(super) peak: u64,
    /// The unread output of replicas, a part of the clients' memory.
    pub(super) replicas: u64,
    pub(super) backlog: u64,
    /// The part of the total that is not keys and values.
    pub(super) overhead: u64,
    /// The total at the start.
    pub(super) startup: u64,
    pub(super) process: Usage,
    /// The memory of the process's allocator.
    pub(super) allocator: AllocatorUsage,
}

/// The relation of two sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Overhead {
    /// The first size divided by the second.
    pub(super) ratio: f64,
    /// The first size minus the second, in bytes.
    pub(super) bytes: i64,
}

impl Overhead {
    fn of(outer: u64, inner: u64) -> Self {
        let ratio = outer as f64 / inner.max(1) as f64;
        Overhead { ratio, bytes: outer.wrapping_sub(inner).cast_signed() }
    }

    /// Whether the ratio exceeds this one, and the difference is more than 10 MiB.
    pub(super) fn is_over(self, ratio: f64) -> bool {
        self.ratio > ratio && self.bytes > 10 << 20
    }
}

impl MemoryFigures {
    pub(super) fn of(view: &MemoryView<'_>) -> Self {
        let MemoryView { parts, process, .. } = *view;
        let process = (process.usage)();
        let account = parts.usage();
        let total = account.total() as u64;
        let of_process =
            AllocatorUsage { allocated: total, active: process.resident, resident: process.resident };
        MemoryFigures {
            account,
            total,
            peak: parts.account.peak().max(account.total()) as u64,
            replicas: parts.of_replicas() as u64,
            backlog: parts.replication.backlog_memory() as u64,
            overhead: total - account.data as u64,
            startup: parts.account.at_start.total() as u64,
            process,
            allocator: process.allocator.unwrap_or(of_process),
        }
    }

    pub(super) fn normal_clients(&self) -> u64 {
        (self.account.clients as u64).saturating_sub(self.replicas)
    }

    /// Returns the memory of keys and values.
    pub(super) fn dataset(&self) -> u64 {
        self.total - self.overhead
    }

    /// Returns the growth since the start, at least one byte.
    pub(super) fn since_startup(&self) -> u64 {
        self.total.saturating_sub(self.startup).max(1)
    }

    /// Returns the percentage of keys and values in the growth since the start.
    pub(super) fn dataset_percent(&self) -> f64 {
        (self.dataset() as f64 * 100.0 / self.since_startup() as f64).min(100.0)
    }

    pub(super) fn peak_percent(&self) -> f64 {
        self.total as f64 * 100.0 / self.peak.max(1) as f64
    }

    /// Returns the relation of the allocator's active pages to the allocated bytes.
    pub(super) fn allocator_fragmentation(&self) -> Overhead {
        Overhead::of(self.allocator.active, self.allocator.allocated)
    }

    /// Returns the relation of the allocator's resident memory to its active pages.
    pub(super) fn allocator_rss(&self) -> Overhead {
        Overhead::of(self.allocator.resident, self.allocator.active)
    }

    /// Returns the relation of the process's resident memory to the allocator's.
    pub(super) fn rss_overhead(&self) -> Overhead {
        Overhead::of(self.process.resident, self.allocator.resident)
    }

    /// Returns the relation of the process's resident memory to the account.
    pub(super) fn fragmentation(&self) -> Overhead {
        Overhead::of(self.process.resident, self.total)
    }
}

//! The limits of memory: `maxmemory`, which keys are evicted to keep and requests are refused at, and
//! `maxmemory-clients`, which clients are disconnected to keep.

mod clients;
mod keys;
mod refusal;

use super::engine::Engine;

/// What is known of limits of memory.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    /// Whether requests are held against any.
    pub(super) are_set: bool,
    /// Whether there are more bytes than `maxmemory`, and no key may go: as the last request that was held against it
    /// has found. A script that it runs goes by that too.
    out_of_memory: bool,
    /// Whether keys go before the next batches, because there are too many to evict at once.
    evicts: bool,
}

impl Limits {
    /// Whether keys go before the next batches.
    #[inline]
    pub(super) fn evicts(&self) -> bool {
        self.evicts
    }

    /// Begins anew; what is set stays.
    pub(super) fn reset(&mut self) {
        *self = Limits { are_set: self.are_set, ..Limits::default() };
    }
}

impl Engine {
    /// Parameters have changed.
    pub(super) fn limits_changed(&mut self) {
        self.limits.are_set = self.config.maxmemory > 0 || self.client_limit().is_some();
        if self.config.maxmemory == 0 {
            self.memory_suffices();
        }
    }

    /// Keeps the limits before a request. While a script runs they stay as they are.
    #[cold]
    #[inline(never)]
    pub(super) fn keep_limits(&mut self) {
        if self.scripts.is_running() {
            return;
        }
        self.evict_clients();
        if self.config.maxmemory > 0 {
            self.evict_piece();
        }
    }
}

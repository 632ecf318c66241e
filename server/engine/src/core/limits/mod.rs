//! The limits of memory: `maxmemory`, which keys are evicted to keep and requests are refused at, and
//! `maxmemory-clients`, which clients are disconnected to keep; and the memory that large requests need.

mod clients;
mod keys;
mod refusal;
mod room;

use super::engine::Engine;
use super::hooks::Hook;

impl Engine {
    /// Parameters have changed.
    pub(super) fn limits_changed(&mut self) {
        let are_set = self.config.maxmemory > 0 || self.client_limit().is_some();
        self.hooks.set(Hook::Limits, are_set);
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

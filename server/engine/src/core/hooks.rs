//! Hooks: work before and after requests and batches. A single test shows that none is set: unused ones are free.

/// A kind of work besides running requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    Rules = 1 << 0,
    History = 1 << 1,
    Pause = 1 << 2,
    /// A client has run CLIENT CACHING for its next request.
    Caching = 1 << 3,
    /// Memory limits are checked before requests.
    Limits = 1 << 4,
    /// Some due keys may not have fired yet: those that a request names expire before it.
    Backlog = 1 << 5,
    /// Changed keys must be broadcast before the engine waits for more requests.
    Broadcast = 1 << 6,
    /// The next batch begins with extra work: see [`super::Engine::begin`].
    NextBatch = 1 << 7,
    Replication = 1 << 8,
    /// The server is a cluster node: requests may be redirected.
    Cluster = 1 << 9,
    /// Writes are refused because the last save has failed.
    NotSaved = 1 << 10,
    /// The next requests may be large: memory for their arguments must be checked.
    LargeInput = 1 << 11,
    /// Writes are refused because the append-only file cannot be written.
    NotAppended = 1 << 12,
    /// The data are being loaded: most requests are refused.
    Loading = 1 << 13,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hooks(u16);

impl Hooks {
    const ON_REQUESTS: u16 = !(Hook::Broadcast as u16 | Hook::NextBatch as u16);

    #[inline]
    pub(crate) fn set(&mut self, hook: Hook, is_there: bool) {
        match is_there {
            true => self.0 |= hook as u16,
            false => self.0 &= !(hook as u16),
        }
    }

    #[inline(always)]
    pub(crate) fn has(self, hook: Hook) -> bool {
        self.0 & hook as u16 != 0
    }

    /// Whether due keys stay: clients are paused, or the data are being loaded.
    #[inline(always)]
    pub(crate) fn keep_keys(self) -> bool {
        self.0 & (Hook::Pause as u16 | Hook::Loading as u16) != 0
    }

    #[inline(always)]
    pub(crate) fn are_on_requests(self) -> bool {
        self.0 & Self::ON_REQUESTS != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hook_is_set_and_cleared_independently() {
        let mut hooks = Hooks::default();
        hooks.set(Hook::Broadcast, true);
        hooks.set(Hook::NextBatch, true);
        assert!(!hooks.are_on_requests());
        hooks.set(Hook::Pause, true);
        hooks.set(Hook::Backlog, true);
        hooks.set(Hook::Pause, false);
        assert!(hooks.are_on_requests() && hooks.has(Hook::Backlog) && !hooks.has(Hook::Pause));
        assert!(hooks.has(Hook::Broadcast) && hooks.has(Hook::NextBatch));
    }
}

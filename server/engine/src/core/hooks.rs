//! Hooks: what is done before and after requests and batches, besides running them. One test tells that there is
//! nothing of it, so that nobody pays for what nobody uses.

/// Something that is done besides running requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    /// Rules of faults see requests.
    Rules = 1 << 0,
    /// The history of locks is told of requests.
    History = 1 << 1,
    /// Clients are paused.
    Pause = 1 << 2,
    /// A client has said something about its next request by CLIENT CACHING.
    Caching = 1 << 3,
    /// Requests are held against limits of memory.
    Limits = 1 << 4,
    /// Keys that are due may be left: those that a request names go before it.
    Backlog = 1 << 5,
    /// Keys have changed that are to be broadcast before the engine waits for more requests.
    Broadcast = 1 << 6,
    /// The next batch begins with more than its requests: see [`super::Engine::begin`].
    NextBatch = 1 << 7,
    /// Replication may forbid requests.
    Replication = 1 << 8,
    /// Replicas are to be told what has changed, when what runs now has ended.
    Replicate = 1 << 9,
    /// The server is a node of a cluster: requests are sent where they belong.
    Cluster = 1 << 10,
    /// Writes are refused: the last save has failed.
    NotSaved = 1 << 11,
    /// The requests that are about to run may be large: there must be memory for what they bring.
    LargeInput = 1 << 12,
}

/// Which hooks there are at present.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hooks(u16);

impl Hooks {
    /// Those on each request.
    const ON_REQUESTS: u16 = !(Hook::Broadcast as u16 | Hook::NextBatch as u16 | Hook::Replicate as u16);

    /// Adds or removes one.
    #[inline]
    pub(crate) fn set(&mut self, hook: Hook, is_there: bool) {
        match is_there {
            true => self.0 |= hook as u16,
            false => self.0 &= !(hook as u16),
        }
    }

    /// Whether one is there.
    #[inline(always)]
    pub(crate) fn has(self, hook: Hook) -> bool {
        self.0 & hook as u16 != 0
    }

    /// Whether any is there on each request.
    #[inline(always)]
    pub(crate) fn are_on_requests(self) -> bool {
        self.0 & Self::ON_REQUESTS != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_comes_and_goes_by_itself() {
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

//! What is to be done beside requests: one test of a few flags for all of it, where nothing is.

/// Flags that say whether anything is to be done before or after requests.
#[derive(Debug, Default)]
pub(crate) struct Onlookers {
    /// Clients are paused.
    pub(crate) paused: bool,
    /// A client has said something about its next request by CLIENT CACHING.
    pub(crate) caching: bool,
    /// Keys have changed that are to be broadcast before the engine waits for more requests.
    pub(crate) broadcast: bool,
    /// The next batch begins with more than its requests: see [`super::Engine::begin`].
    pub(crate) next_batch: bool,
}

impl Onlookers {
    /// Whether each request is to be looked at.
    #[inline(always)]
    pub(crate) fn see_requests(&self) -> bool {
        self.paused | self.caching
    }
}

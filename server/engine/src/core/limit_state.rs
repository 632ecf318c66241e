//! What is known of the limits of memory between requests.

/// What is known of limits of memory.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    /// Whether there are more bytes than `maxmemory`, and no key may go: as the last request that was held against it
    /// has found. A script that it runs goes by that too.
    pub(super) out_of_memory: bool,
    /// Whether keys go before the next batches, because there are too many to evict at once.
    pub(super) evicts: bool,
}

impl Limits {
    /// Whether keys go before the next batches.
    #[inline]
    pub(super) fn evicts(&self) -> bool {
        self.evicts
    }
}

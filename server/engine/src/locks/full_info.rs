//! `LOCK.INFO … FULL`: what only those want to know who look into a lock, beside its snapshot.

/// What else there is of a lock. Holders and waiters are in the order of the snapshot.
#[derive(Debug)]
pub(super) struct FullInfo {
    pub(super) holders: Vec<FullHolder>,
    pub(super) waiters: Vec<FullWaiter>,
    /// How the last hold ended, as far as it is remembered.
    pub(super) predecessor: Option<&'static str>,
}

/// What else there is of a holder.
#[derive(Debug)]
pub(super) struct FullHolder {
    /// Milliseconds until its own lease runs out: of several readers each has one.
    pub(super) ttl_ms: Option<i64>,
    /// The connection that it lasts for, if it was taken with SESSION.
    pub(super) session: Option<u64>,
}

/// What else there is of a waiter: nothing of one that only listens.
#[derive(Debug, Default)]
pub(super) struct FullWaiter {
    /// Its place among those who wait natively, the first being 1.
    pub(super) position: Option<u64>,
    pub(super) priority: Option<i64>,
}

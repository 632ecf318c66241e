//! `LOCK.INFO … FULL`: details of a lock beyond its snapshot.

#[derive(Debug)]
pub(super) struct FullInfo {
    pub(super) holders: Vec<FullHolder>,
    pub(super) waiters: Vec<FullWaiter>,
    /// The cause of the end of the last hold, if it is still known.
    pub(super) predecessor: Option<&'static str>,
}

#[derive(Debug)]
pub(super) struct FullHolder {
    /// The milliseconds until the holder's own lease runs out. Each of several readers has a lease of its own.
    pub(super) ttl_ms: Option<i64>,
    /// The connection that keeps the hold, if the lock was taken with SESSION.
    pub(super) session: Option<u64>,
}

/// The further details of a waiter. A client that only listens has none.
#[derive(Debug, Default)]
pub(super) struct FullWaiter {
    /// The place among native waiters, from 1.
    pub(super) position: Option<u64>,
    pub(super) priority: Option<i64>,
}

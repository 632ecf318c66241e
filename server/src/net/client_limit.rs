//! `maxclients`: the limit of clients, and their number.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The number of clients, and its limit.
#[derive(Debug)]
pub(super) struct ClientLimit {
    most: AtomicUsize,
    count: AtomicUsize,
    last_id: AtomicU64,
}

/// A client that counts among `maxclients`, until dropped.
#[derive(Debug)]
pub(super) struct ClientGuard {
    limit: Arc<ClientLimit>,
    /// The client's number, in the order of accepting.
    pub(super) id: u64,
}

impl Drop for ClientGuard {
    fn drop(&mut self) {
        self.limit.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ClientLimit {
    /// No clients, at most `most`.
    pub(super) fn new(most: usize) -> Arc<Self> {
        let (most, count) = (AtomicUsize::new(most), AtomicUsize::new(0));
        Arc::new(ClientLimit { most, count, last_id: AtomicU64::new(0) })
    }

    /// Changes `maxclients`. Existing connections stay.
    #[inline]
    pub(super) fn set(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// Counts one more client; none at the limit.
    pub(super) fn try_acquire(self: &Arc<Self>) -> Option<ClientGuard> {
        let most = self.most.load(Ordering::Relaxed);
        if self.count.fetch_add(1, Ordering::Relaxed) >= most {
            self.count.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        Some(ClientGuard { limit: self.clone(), id })
    }
}

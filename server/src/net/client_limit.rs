//! `maxclients`: the limit and the current number of clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::sync::watch;

#[derive(Debug)]
pub(super) struct ClientLimit {
    most: AtomicUsize,
    count: watch::Sender<usize>,
    last_id: AtomicU64,
}

/// A client that counts among `maxclients`, until dropped.
#[derive(Debug)]
pub(super) struct ClientGuard {
    limit: Arc<ClientLimit>,
    /// The id of the client, in the order of accepting.
    pub(super) id: u64,
}

impl Drop for ClientGuard {
    fn drop(&mut self) {
        self.limit.count.send_modify(|count| *count -= 1);
    }
}

impl ClientLimit {
    /// Creates a limit of `most` clients. The first client gets the id `first_id`.
    pub(super) fn new(most: usize, first_id: u64) -> Arc<Self> {
        let (most, count) = (AtomicUsize::new(most), watch::Sender::new(0));
        Arc::new(ClientLimit { most, count, last_id: AtomicU64::new(first_id - 1) })
    }

    /// Changes `maxclients`. Existing connections stay.
    #[inline]
    pub(super) fn set(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// Counts one more client; returns `None` at the limit.
    pub(super) fn try_acquire(self: &Arc<Self>) -> Option<ClientGuard> {
        let most = self.most.load(Ordering::Relaxed);
        let is_below = self.count.send_if_modified(|count| {
            let is_below = *count < most;
            *count += usize::from(is_below);
            is_below
        });
        if !is_below {
            return None;
        }
        Some(ClientGuard { limit: self.clone(), id: self.next_id() })
    }

    /// Returns a new id, in the order of accepting.
    pub(super) fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }
}

//! Snapshots of the engine for the embedding API.

use super::engine::Engine;
use crate::locks::{self, LockSnapshot};

impl Engine {
    /// A lock of database `db` as LOCK.INFO shows it.
    ///
    /// O(n), n the holders, the waiters and the patterns that clients are subscribed to.
    ///
    /// # Panics
    /// When there is no such database.
    pub fn lock_snapshot(&mut self, db: usize, key: &[u8]) -> LockSnapshot {
        locks::snapshot(&mut self.keyspace.tx(db, self.clock.now()), &self.pubsub, key)
    }
}

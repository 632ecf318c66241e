//! Snapshots of the engine for the embedding API.

use super::engine::Engine;
use crate::locks::{self, LockSnapshot};

impl Engine {
    /// Returns a lock of database `db` as LOCK.INFO shows it. O(n), n the holders, waiters and subscribed patterns.
    ///
    /// # Panics
    /// Panics if the database does not exist.
    pub fn lock_snapshot(&mut self, db: usize, key: &[u8]) -> LockSnapshot {
        locks::snapshot(&mut self.keyspace.tx(db, self.clock.now()), &self.pubsub, key)
    }
}

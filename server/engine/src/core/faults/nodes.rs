//! The parts of a server that other servers of its process access when one of them fails.

use super::super::engine::Engine;
use super::acted::MAX_NAMED_KEYS;
use crate::locks::Grants;
use crate::persistence::KeyDumps;

impl Engine {
    /// Returns the grant numbers, and the lock holds granted by other servers.
    pub(crate) fn grants(&mut self) -> Grants<'_> {
        Grants::new(&mut self.keyspace, self.clock.now())
    }

    /// Returns the keys with their values in dump format.
    pub(crate) fn key_dumps(&mut self) -> KeyDumps<'_> {
        KeyDumps::new(&mut self.keyspace, self.clock.now())
    }

    /// Records in the history, if it is on, the keys written after an offset of the stream, which the replica at this
    /// index has not received.
    pub(crate) fn note_lost_writes(&mut self, replica: usize, offset: i64) {
        if self.config.lock_history {
            let (keys, is_all) = self.replication.keys_written_since(offset, &self.commands, MAX_NAMED_KEYS);
            self.history().lost_keys(replica, keys, is_all);
        }
    }
}

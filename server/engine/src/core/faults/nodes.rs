//! Parts of a server that others of its process see when one of them fails.

use super::super::engine::Engine;
use super::acted::MAX_NAMED_KEYS;
use crate::locks::Grants;
use crate::persistence::KeyDumps;

impl Engine {
    /// Returns the numbers of grants, and the holds that other servers have granted.
    pub(crate) fn grants(&mut self) -> Grants<'_> {
        Grants::new(&mut self.keyspace, self.clock.now())
    }

    /// Returns the keys with their values as in a dump.
    pub(crate) fn key_dumps(&mut self) -> KeyDumps<'_> {
        KeyDumps::new(&mut self.keyspace, self.clock.now())
    }

    /// Writes into the history of locks, while it is on, that the replica at this place had not been told of what is
    /// behind an offset of the stream.
    pub(crate) fn note_lost_writes(&mut self, replica: usize, offset: i64) {
        if self.config.lock_history {
            let (keys, is_all) = self.replication.keys_written_since(offset, &self.commands, MAX_NAMED_KEYS);
            self.history().lost_keys(replica, keys, is_all);
        }
    }
}

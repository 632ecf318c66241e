//! The wait of a client until replicas have its writes (WAIT, WAITAOF).

use super::state::Replication;
use lockwheel_resp::Reply;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplicaWait {
    pub(crate) replicas: usize,
    /// The offset that they must have.
    pub(crate) offset: i64,
    /// Whether they must have the offset on disk. Then the reply has two numbers, the first for this server's own disk.
    pub(crate) on_disk: bool,
    /// Whether this server must have the writes on its own disk.
    pub(crate) local: bool,
    /// The bytes of this server's own file that have the writes.
    pub(crate) file_bytes: u64,
}

impl ReplicaWait {
    /// Returns the number of replicas that have the offset. O(replicas).
    pub(crate) fn reached(self, history: &Replication) -> usize {
        match self.on_disk {
            true => history.on_disk(self.offset),
            false => history.acknowledged(self.offset),
        }
    }

    /// Writes the reply if enough replicas have the offset; returns whether they have.
    pub(crate) fn try_answer(self, history: &Replication, reply: &mut dyn Reply) -> bool {
        let reached = self.reached(history);
        let is_done = reached >= self.replicas && (!self.local || self.is_local(history));
        if is_done {
            self.answer((self.is_local(history), reached), reply);
        }
        is_done
    }

    /// Whether the writes are on the disk of this server. False if the file is off.
    pub(crate) fn is_local(self, history: &Replication) -> bool {
        history.file().has(self.file_bytes)
    }

    /// Writes the reply: whether the disk of this server has the writes, and the number of replicas that have them.
    pub(crate) fn answer(self, (is_local, reached): (bool, usize), reply: &mut dyn Reply) {
        if self.on_disk {
            reply.array(2);
            reply.integer(i64::from(is_local));
        }
        reply.integer(reached as i64);
    }
}

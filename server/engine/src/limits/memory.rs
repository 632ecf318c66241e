//! The memory of an engine: the sum of all its parts, and how much of it counts towards `maxmemory`.

use super::Limits;
use super::keys::{KeyspaceMemory, bytes_apart};
use crate::clients::Sessions;
use crate::faults::Faults;
use crate::replication::Replication;
use crate::scripts::Scripts;
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::memory::{MemoryAccount, MemoryUsage};

/// The parts of an engine whose memory is added up.
#[derive(Clone, Copy)]
pub struct MemoryParts<'e> {
    /// The bytes that parts count themselves.
    pub(crate) account: &'e MemoryAccount,
    /// The keys.
    pub(crate) keyspace: &'e Keyspace,
    /// The clients.
    pub(crate) sessions: &'e Sessions,
    /// The replicas, and the end of the stream that is kept for them.
    pub(crate) replication: &'e Replication,
    /// The interpreter.
    pub(crate) scripts: &'e Scripts,
    /// The faults.
    pub(crate) faults: &'e Faults,
    /// The limits of memory.
    pub(crate) limits: &'e Limits,
    /// Bytes of all other parts.
    pub(crate) others: usize,
}

impl MemoryParts<'_> {
    /// Returns the memory of the engine, without what waits to be freed. O(databases).
    pub fn usage(self) -> MemoryUsage {
        let keyspace = KeyspaceMemory::of(self.keyspace);
        let account = self.account;
        // The runtime is taken while a script runs: the last figure is close enough.
        let scripts = self.scripts.memory_used().unwrap_or(account.last.scripts);
        MemoryUsage {
            data: keyspace.data,
            tables: keyspace.tables,
            clients: account.clients.all.get() + account.stream.get() + self.sessions.memory(),
            scripts,
            engine: self.others
                + account.commands
                + self.sessions.overhead()
                + self.replication.backlog_memory()
                + self.faults.memory()
                + keyspace.kept
                + account.messages.get(),
        }
    }

    /// Returns the bytes that count towards `maxmemory` at an instant of the system's monotonic clock. What replicas
    /// have not read yet does not, since each key that goes adds to it, nor does a snapshot that is being made, for the
    /// same reason and as in Redis, whose child has it; nor what clients are about to give back; nor
    /// the tools of tests, which no key can displace: tokens of fences, the history, open sections, observed patterns,
    /// rules of faults. O(databases, replicas, partitions).
    pub(crate) fn counted(self, now_us: u64) -> u64 {
        let transient = self.limits.transient_bytes(self.sessions, self.of_clients(), now_us);
        let apart = self.of_replicas() + transient + bytes_apart(self.keyspace) + self.faults.memory();
        self.usage().total().saturating_sub(apart) as u64
    }

    /// Returns the bytes of buffers of clients, and of messages that they share.
    pub(crate) fn of_clients(self) -> usize {
        self.account.clients.all.get() + self.account.messages.get()
    }

    /// Returns the bytes of the buffers of replicas: above all what they have not read, and what those share that do
    /// not keep up. O(replicas).
    pub(crate) fn of_replicas(self) -> usize {
        let replicas = self.replication.replica_sessions().filter_map(|id| self.sessions.find(id));
        let own: usize = replicas.map(|slot| self.sessions.get(slot).delivery.buffers().memory()).sum();
        own + self.account.stream.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use lockwheel_store::keyspace::Rng;

    #[test]
    fn what_replicas_share_is_memory_that_does_not_count() {
        let keyspace = Keyspace::new(1, 7);
        let (account, sessions, limits) = (MemoryAccount::default(), Sessions::default(), Limits::default());
        let (replication, faults) = (Replication::new(&mut Rng::new(7)), Faults::new(7));
        let scripts = Scripts::new(&Config::default(), 7);
        let parts = MemoryParts {
            account: &account,
            keyspace: &keyspace,
            sessions: &sessions,
            replication: &replication,
            scripts: &scripts,
            faults: &faults,
            limits: &limits,
            others: 1000,
        };
        let (total, counted) = (parts.usage().total(), parts.counted(0));
        assert!(counted >= 1000 && counted <= total as u64, "{counted} of {total}");
        account.stream.change(0, 500);
        account.messages.change(0, 30);
        assert_eq!((parts.of_replicas(), parts.of_clients()), (500, 30));
        assert_eq!((parts.usage().total(), parts.counted(0)), (total + 530, counted + 30));
    }
}

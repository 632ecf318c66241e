//! The memory of an engine: the sum of all its parts, and the part that counts towards `maxmemory`.

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
    /// The bytes that the parts count themselves.
    pub(crate) account: &'e MemoryAccount,
    pub(crate) keyspace: &'e Keyspace,
    pub(crate) sessions: &'e Sessions,
    /// The replicas, and the backlog that is kept for them.
    pub(crate) replication: &'e Replication,
    pub(crate) scripts: &'e Scripts,
    pub(crate) faults: &'e Faults,
    pub(crate) limits: &'e Limits,
    /// Bytes of all other parts.
    pub(crate) others: usize,
}

impl MemoryParts<'_> {
    /// Returns the memory of the engine, without garbage that waits to be freed. O(databases).
    pub fn usage(self) -> MemoryUsage {
        let keyspace = KeyspaceMemory::of(self.keyspace);
        let account = self.account;
        // The runtime is borrowed while a script runs. The last figure is close enough then.
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

    /// Returns the bytes that count towards `maxmemory` at an instant of the system's monotonic clock. Unread bytes of
    /// replicas do not count, because each eviction adds to them. Nor does a snapshot that is being made, for the same
    /// reason and as in Redis, where the child process has it. Bytes that clients are about to give back do not count
    /// either. The tools of tests do not count, because no eviction can displace them: tokens of fences, the history,
    /// open sections, observed patterns, rules of faults. O(databases, replicas, partitions).
    pub(crate) fn counted(self, now_us: u64) -> u64 {
        let transient = self.limits.transient_bytes(self.sessions, self.of_clients(), now_us);
        let apart = self.of_replicas() + transient + bytes_apart(self.keyspace) + self.faults.memory();
        self.usage().total().saturating_sub(apart) as u64
    }

    /// Returns the bytes of clients' buffers, and of the messages that clients share.
    pub(crate) fn of_clients(self) -> usize {
        self.account.clients.all.get() + self.account.messages.get()
    }

    /// Returns the bytes of replicas' buffers: unread ones, and the stream that lagging replicas share. O(replicas).
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
    fn buffers_of_replicas_do_not_count_towards_maxmemory() {
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

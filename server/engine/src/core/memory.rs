//! The memory that the engine takes, summed up over its parts.

use super::engine::Engine;
use crate::memory::{MemoryUsage, of_trees};
use crate::pubsub::PubSub;
use std::collections::BTreeSet;

impl Engine {
    /// What it takes now, by its own account, without what waits to be freed. O(databases).
    pub fn memory_usage(&self) -> MemoryUsage {
        let databases = self.keyspace.bytes();
        // The runtime is taken while a script runs: the last figure is close enough.
        let scripts = self.scripts.memory_used().unwrap_or(self.memory.last.scripts);
        MemoryUsage {
            // What keys have left free in their pages goes to the next ones: it is as free as what Redis gives back to
            // its allocator.
            data: databases.data.saturating_sub(self.keyspace.free_bytes()),
            tables: databases.overhead,
            clients: self.memory.clients.all.get() + self.memory.stream.get() + self.sessions.memory(),
            scripts,
            engine: size_of::<Engine>()
                + self.memory.commands
                + self.sessions.overhead()
                + of_pubsub(&self.pubsub)
                + self.users.memory()
                + self.replication.backlog_memory()
                + self.observers.acl_log.memory()
                + self.observers.stats.histogram_bytes
                + self.faults.memory()
                + self.readings.memory()
                + self.keyspace.kept_bytes()
                + self.memory.messages.get(),
        }
    }

    /// Bytes of the buffers of replicas: what they have not read, above all, and what those share that do not keep up.
    /// O(replicas).
    pub(crate) fn replica_buffers(&self) -> usize {
        let replicas = self.replication.replicas.keys().filter_map(|id| self.sessions.find(*id));
        let own: usize = replicas.map(|slot| self.sessions.get(slot).delivery.buffers().memory()).sum();
        own + self.memory.stream.get()
    }

    /// Updates the peak with what it takes now.
    #[cold]
    pub(crate) fn look_at_memory(&mut self) -> MemoryUsage {
        let usage = self.memory_usage();
        self.memory.look(usage, self.clock.system().monotonic_us);
        usage
    }
}

/// Bytes of memory of who listens to what, about: a tree of names, and one of clients for each. O(1).
fn of_pubsub(pubsub: &PubSub) -> usize {
    /// What an allocator rounds a name up by.
    const ROUNDED: usize = 8;
    let kinds = [pubsub.channels(), pubsub.patterns(), pubsub.shards()];
    let (names, trees) = (kinds.iter().sum(), kinds.iter().filter(|names| **names > 0).count());
    let entry_bytes = size_of::<(Box<[u8]>, BTreeSet<u64>)>();
    pubsub.name_bytes()
        + pubsub.ending_bytes()
        + names * ROUNDED
        + of_trees(trees, names, entry_bytes)
        + of_trees(names, pubsub.subscriptions(), size_of::<u64>())
}

//! The memory that the engine takes, summed up over its parts.

use super::engine::Engine;
use crate::memory::MemoryUsage;

impl Engine {
    /// What it takes now, by its own account, without what waits to be freed. O(databases).
    pub fn memory_usage(&self) -> MemoryUsage {
        let databases = self.keyspace.bytes();
        // The runtime is taken while a script runs: the last figure is close enough.
        let scripts =
            self.scripts.runtime().map_or(self.memory.last.scripts, |runtime| runtime.memory_used());
        MemoryUsage {
            data: databases.data,
            tables: databases.overhead,
            clients: self.memory.clients.get() + self.sessions.memory(),
            scripts,
            engine: size_of::<Engine>()
                + self.sessions.overhead()
                + self.pubsub.memory()
                + self.memory.messages.get(),
        }
    }

    /// Updates the peak with what it takes now.
    #[cold]
    pub(crate) fn look_at_memory(&mut self) -> MemoryUsage {
        let usage = self.memory_usage();
        self.memory.look(usage, self.time.system.monotonic_us);
        usage
    }
}

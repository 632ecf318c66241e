//! What the engine takes of memory, summed up from those who count it.

use super::engine::Engine;
use crate::memory::MemoryUsage;

impl Engine {
    /// What it takes now, by its own account. What waits to be freed is not counted any more. O(databases).
    pub fn memory_usage(&self) -> MemoryUsage {
        let databases = self.keyspace.bytes();
        // The interpreter is away while a script runs: then it takes about what it took before.
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

    /// Takes note of what it takes now, for the peak.
    #[cold]
    pub(crate) fn look_at_memory(&mut self) -> MemoryUsage {
        let usage = self.memory_usage();
        self.memory.look(usage, self.time.system.monotonic_us);
        usage
    }
}

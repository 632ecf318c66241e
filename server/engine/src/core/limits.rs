//! The enforcement of memory limits: eviction of keys, disconnection of clients, and the sum of all memory.

use super::engine::Engine;
use super::hooks::Hook;
use crate::latency::LatencyEvent;
use crate::limits::{ClientEviction, CountedBytes, LARGE_INPUT, MemoryParts, client_limit};
use crate::locks;
use lockwheel_store::memory::{BufferBytes, MemoryUsage};

impl Engine {
    /// Applies changed parameters. A new `maxmemory` evicts from the next batch on.
    pub(super) fn limits_changed(&mut self, old_maxmemory: u64) {
        let are_set = self.config.maxmemory > 0 || client_limit(&self.config).is_some();
        self.hooks.set(Hook::Limits, are_set);
        let limit = self.config.maxmemory;
        if limit == 0 {
            self.limits.suffices(&mut self.observers.stats, self.clock.system().monotonic_us);
        }
        if limit == 0 || limit == old_maxmemory {
            return;
        }
        let used = self.memory_parts().counted(self.clock.system().monotonic_us);
        if limit < used {
            tracing::warn!(
                "WARNING: the new maxmemory value set via CONFIG SET ({limit}) is smaller than the current memory \
                 usage ({used}). This will result in key eviction and/or the inability to accept new write commands \
                 depending on the maxmemory-policy."
            );
        }
        self.limits.evict_later();
    }

    /// Enforces the limits before a request. Nothing is evicted while a script runs.
    #[cold]
    #[inline(never)]
    pub(super) fn keep_limits(&mut self) {
        if self.scripts.is_running() {
            return;
        }
        self.evict_clients();
        if self.config.maxmemory > 0 {
            self.evict_piece();
        }
    }

    /// Announces the bytes of the next requests. If they are many, each is checked for the memory that it needs, until
    /// the next call.
    #[inline]
    pub fn announce_input(&mut self, bytes: usize) {
        self.hooks.set(Hook::LargeInput, bytes > LARGE_INPUT);
    }

    /// Evicts keys down to `maxmemory`, in pieces before batches, but not in a pause or while the data are loaded.
    pub(super) fn evict_piece(&mut self) {
        if self.scripts.is_running() {
            return;
        }
        if self.hooks.keep_keys() {
            // As in Redis, no request is refused during a pause either.
            return self.limits.suspend();
        }
        let (limit, now_us) = (self.config.maxmemory, self.clock.system().monotonic_us);
        let leaves_it_to_master = self.following.is_some() && self.config.replication.ignore_maxmemory;
        let mut has_enough = leaves_it_to_master || self.memory_parts().counted(now_us) <= limit;
        if !has_enough && locks::past_bytes(&self.keyspace) > 0 {
            // The past of locks goes before any key.
            locks::forget_past(&mut self.keyspace);
            has_enough = self.memory_parts().counted(now_us) <= limit;
        }
        let has_room = has_enough || self.evict_keys(now_us);
        let suffices = has_enough || (has_room && self.memory_parts().counted(now_us) <= limit);
        let stats = &mut self.observers.stats;
        match suffices {
            true => self.limits.suffices(stats, now_us),
            false => self.limits.exceeds(has_room, stats, now_us),
        }
    }

    /// Evicts keys and notifies clients. Returns whether there is room, or will be after more evictions.
    fn evict_keys(&mut self, now_us: u64) -> bool {
        let mut has_room = false;
        if let Some(policy) = self.config.maxmemory_policy.eviction() {
            let began_ns = self.environment.stopwatch_ns();
            let counted = self.memory_parts().counted(now_us);
            let counted = CountedBytes::new(self.config.maxmemory, counted, &self.keyspace);
            let (config, now) = (&self.config, self.clock.now());
            has_room = self.limits.evict_keys(&mut self.keyspace, (counted, policy), config, now);
            let took_ns = self.environment.stopwatch_ns().saturating_sub(began_ns);
            self.call_observer().note_latency(LatencyEvent::EvictionCycle, took_ns);
        }
        let before = self.memory_parts().of_clients();
        self.commit();
        let after = self.memory_parts().of_clients();
        self.limits.notified(before, after, now_us);
        has_room
    }

    /// Returns the bytes of client buffers that count towards `maxmemory-clients`, and the limit from which
    /// [`Engine::evict_clients`] must run.
    pub fn client_buffers(&self) -> (BufferBytes, usize) {
        let limit = client_limit(&self.config).map(|limit| limit.saturating_sub(self.sessions.memory()));
        (self.memory.clients.limited.clone(), limit.unwrap_or(usize::MAX))
    }

    /// Disconnects clients, largest first, above `maxmemory-clients`, except with CLIENT NO-EVICT. O(1) below.
    pub fn evict_clients(&mut self) {
        let Some(limit) = client_limit(&self.config) else { return };
        if self.memory.clients.limited.get() + self.sessions.memory() < limit {
            return;
        }
        let Some(mut round) = ClientEviction::begin(&self.sessions, limit) else { return };
        while let Some(slot) = round.next(&self.sessions) {
            let mut line = Vec::new();
            self.client_list().describe(self.sessions.get(slot), &mut line);
            tracing::info!("Evicting client: {}", String::from_utf8_lossy(line.trim_ascii_end()));
            self.observers.stats.evicted_clients += 1;
            let id = self.sessions.get(slot).id;
            self.cut_off(slot);
            self.limits.leave(id, &self.sessions);
        }
        if round.is_over() {
            tracing::warn!("Over client maxmemory after evicting all evictable clients");
        }
        self.commit();
    }

    /// Returns the parts whose memory is added up.
    pub fn memory_parts(&self) -> MemoryParts<'_> {
        MemoryParts {
            account: &self.memory,
            keyspace: &self.keyspace,
            sessions: &self.sessions,
            replication: &self.replication,
            scripts: &self.scripts,
            faults: &self.faults,
            limits: &self.limits,
            others: size_of::<Engine>()
                + self.pubsub.memory()
                + self.users.memory()
                + self.observers.acl_log.memory()
                + self.observers.stats.histogram_bytes
                + self.readings.memory(),
        }
    }

    #[cold]
    pub(crate) fn look_at_memory(&mut self) -> MemoryUsage {
        let usage = self.memory_parts().usage();
        self.memory.look(usage, self.clock.system().monotonic_us);
        usage
    }
}

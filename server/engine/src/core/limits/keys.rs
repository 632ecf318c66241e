//! Keys are evicted while there are more bytes than `maxmemory`.

use super::super::engine::Engine;
use super::super::hooks::Hook;
use crate::keyspace::EvictionRules;
use crate::latency::Event;
use crate::locks;

/// How many keys go at once at least, as in Redis.
const LEAST: u64 = 16;
/// How many keys go in a microsecond, about.
const KEYS_PER_US: u64 = 1;

/// How many keys go before a request is run: Redis measures the time, and here the same requests must have the same
/// effects.
fn most_at_once(tenacity: u32) -> u64 {
    let time_us = match tenacity {
        0..=10 => 50 * u64::from(tenacity),
        11..=99 => (500.0 * 1.15_f64.powi(tenacity as i32 - 10)) as u64,
        _ => return u64::MAX,
    };
    LEAST.max(time_us * KEYS_PER_US)
}

impl Engine {
    /// The bytes that count towards `maxmemory`: what replicas have not read yet does not, since each key that goes
    /// adds to it; nor what clients are about to give back; nor the tools of tests, which no key can displace: tokens
    /// of fences, the history, open sections, observed patterns, rules of faults. O(databases, replicas, partitions).
    fn counted_bytes(&self) -> u64 {
        let unread = self.replica_buffers();
        let gone = self.limits.leaving.iter().filter_map(|id| self.sessions.find(*id));
        let gone: usize = gone.map(|slot| self.sessions.get(slot).memory()).sum();
        let told = self.limits.on_the_way(self.bytes_for_clients(), self.clock.system().monotonic_us);
        let tools = locks::bytes_apart_from_keys(&self.keyspace) + self.faults.memory();
        self.memory_usage().total().saturating_sub(unread + gone + told + tools) as u64
    }

    /// The bytes of buffers of clients, and of messages that they share.
    fn bytes_for_clients(&self) -> usize {
        self.memory.clients.all.get() + self.memory.messages.get()
    }

    /// Whether there are more bytes than `maxmemory`. O(databases).
    fn exceeds_maxmemory(&self) -> bool {
        self.config.maxmemory > 0 && self.counted_bytes() > self.config.maxmemory
    }

    /// `maxmemory` has another value: what is too much goes from the next batch on.
    pub(in super::super) fn maxmemory_changed(&mut self) {
        let limit = self.config.maxmemory;
        if limit == 0 {
            return;
        }
        let used = self.counted_bytes();
        if limit < used {
            tracing::warn!(
                "WARNING: the new maxmemory value set via CONFIG SET ({limit}) is smaller than the current memory \
                 usage ({used}). This will result in key eviction and/or the inability to accept new write commands \
                 depending on the maxmemory-policy."
            );
        }
        self.limits.evicts = true;
    }

    /// Evicts keys until there are no more bytes than `maxmemory`, but no more than may go at once: the rest goes
    /// before the next batches. None goes while clients are paused.
    pub(in super::super) fn evict_piece(&mut self) {
        if self.scripts.is_running() {
            return;
        }
        if self.hooks.has(Hook::Pause) {
            // As in Redis: then nothing is refused either.
            self.limits.out_of_memory = false;
            return;
        }
        let leaves_it_to_master = self.following.is_some() && self.config.replication.ignore_maxmemory;
        if leaves_it_to_master || !self.exceeds_maxmemory() {
            return self.memory_suffices();
        }
        // The past goes before keys do.
        if locks::past_bytes(&self.keyspace) > 0 {
            locks::forget_past(&mut self.keyspace);
            if !self.exceeds_maxmemory() {
                return self.memory_suffices();
            }
        }
        let has_room = match self.config.maxmemory_policy.eviction() {
            None => false,
            Some(policy) => self.evict_keys(EvictionRules { policy, samples: self.config.maxmemory_samples }),
        };
        let before = self.bytes_for_clients();
        self.commit();
        self.limits.told(before, self.bytes_for_clients(), self.clock.system().monotonic_us);
        if has_room && !self.exceeds_maxmemory() {
            return self.memory_suffices();
        }
        let now_us = self.clock.system().monotonic_us;
        self.observers.stats.exceeded_since_us.get_or_insert(now_us);
        self.limits.out_of_memory = !has_room;
        self.limits.evicts = has_room;
    }

    /// Whether there is room, or will be when more have gone.
    fn evict_keys(&mut self, rules: EvictionRules) -> bool {
        let began_ns = self.stopwatch_ns();
        let has_room = self.evict_as_many_as_may_go(rules);
        let took_ns = self.stopwatch_ns().saturating_sub(began_ns);
        self.note_latency(Event::EvictionCycle, took_ns);
        has_room
    }

    fn evict_as_many_as_may_go(&mut self, rules: EvictionRules) -> bool {
        let mut left = most_at_once(self.config.maxmemory_eviction_tenacity);
        while self.exceeds_maxmemory() {
            if !self.keyspace.evict_next(rules, self.clock.now()) {
                return false;
            }
            left -= 1;
            if left == 0 {
                break;
            }
        }
        true
    }

    /// There are no more bytes than `maxmemory`, or it has no limit.
    pub(super) fn memory_suffices(&mut self) {
        self.limits.evicts = false;
        self.limits.out_of_memory = false;
        let stats = &mut self.observers.stats;
        if let Some(since_us) = stats.exceeded_since_us.take() {
            stats.exceeded_us += self.clock.system().monotonic_us.saturating_sub(since_us);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::most_at_once;

    #[test]
    fn the_tenacity_grows_as_in_redis() {
        assert_eq!([0, 1, 10, 20, 50].map(most_at_once), [16, 50, 500, 2022, 133_931]);
        assert!(most_at_once(99) > 100_000_000);
        assert_eq!(most_at_once(100), u64::MAX);
    }
}

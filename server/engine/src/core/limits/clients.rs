//! Clients are disconnected while all together take more than `maxmemory-clients`.

use super::super::engine::Engine;
use crate::clients::{Closing, Slot};
use crate::memory::BufferBytes;
use std::cmp::Reverse;

/// A lower limit would leave nobody room to say so.
const LEAST: usize = 128 << 10;
/// Clients are compared by powers of two of what they take, from this one on, as in Redis.
const SMALLEST_LOG: u32 = 15;

impl Engine {
    /// The most bytes of all clients; `None`: no limit.
    pub(super) fn client_limit(&self) -> Option<usize> {
        let limit = match self.config.maxmemory_clients {
            0 => return None,
            percent @ ..0 if self.config.maxmemory > 0 => {
                (self.config.maxmemory as f64 * percent.unsigned_abs() as f64 / 100.0) as u64
            }
            ..0 => return None,
            bytes => bytes.unsigned_abs(),
        };
        Some(usize::try_from(limit).unwrap_or(usize::MAX).max(LEAST))
    }

    /// How many bytes the buffers of clients may take before [`Engine::evict_clients`] has to look.
    pub fn client_buffers_limit(&self) -> usize {
        self.client_limit().map_or(usize::MAX, |limit| limit.saturating_sub(self.sessions.memory()))
    }

    /// The bytes of all clients' buffers, as far as they count towards that.
    pub fn client_buffers(&self) -> BufferBytes {
        self.memory.clients.limited.clone()
    }

    /// Disconnects clients until the others take less than `maxmemory-clients`, those that take most first; never those
    /// that have said CLIENT NO-EVICT. O(1) while they take less.
    pub fn evict_clients(&mut self) {
        let Some(limit) = self.client_limit() else { return };
        if self.memory.clients.limited.get() + self.sessions.memory() >= limit {
            self.evict_largest(limit);
        }
    }

    #[cold]
    fn evict_largest(&mut self, limit: usize) {
        // Those that are being closed are still counted in the account.
        let live = || self.sessions.slots().map(|slot| self.sessions.get(slot)).filter(is_live);
        let mut taken: usize = live().map(|session| session.limited_memory()).sum();
        if taken < limit {
            return;
        }
        let may_go = live().filter(|session| !session.no_evict);
        let mut largest: Vec<(Reverse<u32>, u64, Slot)> =
            may_go.map(|session| (Reverse(size_class(session.memory())), session.id, session.slot)).collect();
        largest.sort_unstable_by_key(|(class, id, _)| (*class, *id));
        for (_, _, slot) in largest {
            if taken < limit {
                return self.commit();
            }
            taken -= self.sessions.get(slot).limited_memory();
            self.evict_client(slot);
        }
        if taken >= limit {
            tracing::warn!("Over client maxmemory after evicting all evictable clients");
        }
        self.commit();
    }

    fn evict_client(&mut self, slot: Slot) {
        let mut line = Vec::new();
        self.describe_client(self.sessions.get(slot), &mut line);
        tracing::info!("Evicting client: {}", String::from_utf8_lossy(line.trim_ascii_end()));
        self.observers.stats.evicted_clients += 1;
        let id = self.sessions.get(slot).id;
        self.cut_off(slot);
        let sessions = &self.sessions;
        self.limits.leaving.retain(|id| sessions.find(*id).is_some());
        self.limits.leaving.push(id);
    }
}

/// Whether it counts: replicas and the master do not.
fn is_live(session: &&crate::clients::Session) -> bool {
    session.closing != Some(Closing::Now) && !session.is_replica && !session.is_master
}

/// What a client takes, as a power of two.
fn size_class(bytes: usize) -> u32 {
    bytes.max(1).ilog2().max(SMALLEST_LOG)
}

//! The limits of memory: `maxmemory`, for which keys are evicted and requests are refused, and `maxmemory-clients`, for
//! which clients are disconnected; the memory that large requests need; and the output that clients may leave unread.

mod client_output;
mod clients;
mod demand;
mod keys;
mod memory;
mod messages;
mod room;

pub(crate) use client_output::{ClientOutput, OutputEnd, has_little_output};
pub(crate) use clients::{ClientEviction, client_limit};
pub(crate) use demand::takes_memory;
pub(crate) use keys::CountedBytes;
pub use memory::MemoryParts;
pub(crate) use room::{LARGE_INPUT, call_lacks_room, check_room_for, lacks_room};

use crate::clients::Sessions;
use crate::statistics::Stats;
use messages::EvictionMessages;

/// The state of the limits between requests.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    /// Whether memory exceeded `maxmemory` without a key to evict at the last checked request, for its script, too.
    out_of_memory: bool,
    /// Whether keys are evicted before the next batches, because there are too many to evict at once.
    evicts: bool,
    /// Clients that were disconnected for their memory. Their connections may not have given it back yet.
    leaving: Vec<u64>,
    messages: EvictionMessages,
}

impl Limits {
    /// Whether memory exceeds `maxmemory` and no key can be evicted.
    #[inline]
    pub(crate) fn is_short_of_memory(&self) -> bool {
        self.out_of_memory
    }

    /// Whether keys are evicted before the next batches.
    #[inline]
    pub(crate) fn evicts(&self) -> bool {
        self.evicts
    }

    /// Schedules evictions from the next batch on, after a change of `maxmemory`.
    pub(crate) fn evict_later(&mut self) {
        self.evicts = true;
    }

    /// Lets requests take memory although no key can be evicted.
    pub(crate) fn suspend(&mut self) {
        self.out_of_memory = false;
    }

    /// Records that memory is within `maxmemory`, or that there is no such limit.
    pub(crate) fn suffices(&mut self, stats: &mut Stats, now_us: u64) {
        self.evicts = false;
        self.out_of_memory = false;
        if let Some(since_us) = stats.exceeded_since_us.take() {
            stats.exceeded_us += now_us.saturating_sub(since_us);
        }
    }

    /// Records that memory exceeds `maxmemory`. `more_may_go`: more keys are evicted before the next batches.
    pub(crate) fn exceeds(&mut self, more_may_go: bool, stats: &mut Stats, now_us: u64) {
        stats.exceeded_since_us.get_or_insert(now_us);
        self.out_of_memory = !more_may_go;
        self.evicts = more_may_go;
    }

    /// Records that a client was disconnected for its memory.
    pub(crate) fn leave(&mut self, client: u64, sessions: &Sessions) {
        self.leaving.retain(|id| sessions.find(*id).is_some());
        self.leaving.push(client);
    }

    /// Records the messages about evicted keys: clients took `before` bytes, and take `after` now.
    pub(crate) fn notified(&mut self, before: usize, after: usize, now_us: u64) {
        self.messages.sent(before, after, now_us);
    }

    /// Returns the bytes of clients that do not count towards `maxmemory`: the memory of clients that are being
    /// disconnected, and messages about evicted keys on their way. `taken`: the bytes that all clients take.
    pub(crate) fn transient_bytes(&self, sessions: &Sessions, taken: usize, now_us: u64) -> usize {
        let gone = self.leaving.iter().filter_map(|id| sessions.find(*id));
        let gone: usize = gone.map(|slot| sessions.get(slot).memory()).sum();
        gone + self.messages.on_the_way(taken, now_us)
    }
}

//! The choice of clients that are disconnected while all together take as much as `maxmemory-clients`.

use crate::clients::{Closing, Session, Sessions, Slot};
use crate::config::Config;
use std::cmp::Reverse;

/// A lower limit would leave nobody room to say so.
const MIN_BYTES: usize = 128 << 10;
/// Clients are compared by powers of two of their memory, from this one on, as in Redis.
const SMALLEST_LOG: u32 = 15;

/// Returns the most bytes of all clients; `None`: no limit.
pub(crate) fn client_limit(config: &Config) -> Option<usize> {
    let limit = match config.maxmemory_clients {
        0 => return None,
        percent @ ..0 if config.maxmemory > 0 => {
            (config.maxmemory as f64 * percent.unsigned_abs() as f64 / 100.0) as u64
        }
        ..0 => return None,
        bytes => bytes.unsigned_abs(),
    };
    Some(usize::try_from(limit).unwrap_or(usize::MAX).max(MIN_BYTES))
}

/// A round in which clients are disconnected, those that take most first; never those that have said CLIENT NO-EVICT.
#[derive(Debug)]
pub(crate) struct ClientEviction {
    limit: usize,
    /// Bytes of the clients that stay.
    taken: usize,
    largest: std::vec::IntoIter<Slot>,
}

impl ClientEviction {
    /// Begins a round, if clients take as much as the limit. O(n log n), n the clients.
    pub(crate) fn begin(sessions: &Sessions, limit: usize) -> Option<Self> {
        // Those that are being closed are still counted in the account.
        let live = || sessions.slots().map(|slot| sessions.get(slot)).filter(|session| is_live(session));
        let taken: usize = live().map(Session::limited_memory).sum();
        if taken < limit {
            return None;
        }
        let may_go = live().filter(|session| !session.no_evict);
        let mut largest: Vec<(Reverse<u32>, u64, Slot)> =
            may_go.map(|session| (Reverse(size_class(session.memory())), session.id, session.slot)).collect();
        largest.sort_unstable_by_key(|(class, id, _)| (*class, *id));
        let largest: Vec<Slot> = largest.into_iter().map(|(_, _, slot)| slot).collect();
        Some(ClientEviction { limit, taken, largest: largest.into_iter() })
    }

    /// Returns the next client to be disconnected; `None` when the others take less than the limit, or none may go.
    pub(crate) fn next(&mut self, sessions: &Sessions) -> Option<Slot> {
        if !self.is_over() {
            return None;
        }
        let slot = self.largest.next()?;
        self.taken -= sessions.get(slot).limited_memory();
        Some(slot)
    }

    /// Whether the clients that stay take as much as the limit.
    pub(crate) fn is_over(&self) -> bool {
        self.taken >= self.limit
    }
}

/// Whether a client counts: replicas and the master do not.
fn is_live(session: &Session) -> bool {
    session.closing != Some(Closing::Now) && !session.is_replica && !session.is_master
}

/// Returns the memory of a client as a power of two.
fn size_class(bytes: usize) -> u32 {
    bytes.max(1).ilog2().max(SMALLEST_LOG)
}

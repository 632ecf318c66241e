//! The choice of clients that are disconnected while all clients together take at least `maxmemory-clients`.

use crate::clients::{Closing, Session, Sessions, Slot};
use crate::config::Config;
use std::cmp::Reverse;

/// The least limit, in bytes. A lower limit would leave no client room to change it.
const MIN_BYTES: usize = 128 << 10;
/// The lowest power of two, as an exponent, by which clients are compared: all smaller clients are equal, as in Redis.
const SMALLEST_LOG: u32 = 15;

/// Returns the limit of all clients' memory, in bytes. `None`: no limit.
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

/// A round in which clients are disconnected, the largest first. Clients that have set CLIENT NO-EVICT are spared.
#[derive(Debug)]
pub(crate) struct ClientEviction {
    limit: usize,
    /// Bytes of the remaining clients.
    taken: usize,
    largest: std::vec::IntoIter<Slot>,
}

impl ClientEviction {
    /// Begins a round, if clients take as much as the limit. O(n log n) for n clients.
    pub(crate) fn begin(sessions: &Sessions, limit: usize) -> Option<Self> {
        // The account still counts clients that are being closed, so the sum is computed here.
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

    /// Returns the next client to be disconnected, unless the others are below the limit or exempt.
    pub(crate) fn next(&mut self, sessions: &Sessions) -> Option<Slot> {
        if !self.is_over() {
            return None;
        }
        let slot = self.largest.next()?;
        self.taken -= sessions.get(slot).limited_memory();
        Some(slot)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.taken >= self.limit
    }
}

/// Whether a client counts. Replicas, the master and clients that are being closed do not.
fn is_live(session: &Session) -> bool {
    session.closing != Some(Closing::Now) && !session.is_replica && !session.is_master
}

/// Returns the exponent of the power of two by which a client of this size is compared.
fn size_class(bytes: usize) -> u32 {
    bytes.max(1).ilog2().max(SMALLEST_LOG)
}

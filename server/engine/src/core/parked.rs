//! The requests of blocked clients.

use crate::clients::{HeldState, Request};
use crate::clock::TimerKey;
use crate::faults::{ReplyRule, RuleId};
use crate::spec::{CommandId, Null};
use lockwheel_store::keyspace::Place;
use std::collections::BTreeMap;

/// A request that waits; `R` says what is retried, and when.
#[derive(Debug)]
pub(crate) struct Blocked<R> {
    pub(super) command: CommandId,
    pub(super) request: Request,
    /// Counts it among the client's memory.
    #[expect(dead_code, reason = "it counts until it is dropped")]
    pub(super) held: HeldState,
    pub(super) retry: R,
    /// The rules that may act on its answer.
    pub(super) on_reply: Vec<ReplyRule>,
    /// The rule that has it executed once more, and answered then.
    pub(super) again: Option<RuleId>,
    /// The answer on timeout.
    pub(super) null: Null,
    pub(super) timeout: Option<TimerKey>,
    /// Its place in the queues of its keys.
    pub(super) place: Place,
    /// Its database.
    pub(super) db: usize,
    /// When it began, on the monotonic clock in milliseconds.
    pub(super) since_ms: i64,
    /// What its handler took until it began to wait, in nanoseconds.
    pub(super) took_ns: u64,
}

/// The requests of all clients that wait, by client.
#[derive(Debug)]
pub(crate) struct Parked<R> {
    requests: BTreeMap<u64, Blocked<R>>,
    /// Number of those that count as blocked clients.
    counted: usize,
    /// How often that has changed.
    changes: u64,
}

/// The state that a request waits for.
pub(crate) trait Counts {
    /// Whether its client counts as blocked. It stays so while it waits.
    fn counts(&self) -> bool;
}

impl<R> Default for Parked<R> {
    fn default() -> Self {
        Parked { requests: BTreeMap::new(), counted: 0, changes: 0 }
    }
}

impl<R: Counts> Parked<R> {
    /// A client begins to wait, or continues to. O(log n).
    pub(super) fn insert(&mut self, client: u64, blocked: Blocked<R>) {
        self.count(blocked.retry.counts(), true);
        if let Some(before) = self.requests.insert(client, blocked) {
            self.count(before.retry.counts(), false);
        }
    }

    fn count(&mut self, counts: bool, is_more: bool) {
        if counts {
            self.changes += 1;
            self.counted = if is_more { self.counted + 1 } else { self.counted - 1 };
        }
    }

    /// Returns the number of clients that count as blocked. O(1).
    pub(super) fn counted(&self) -> usize {
        self.counted
    }

    /// How often that has changed.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Takes the request of a client that waits. O(log n).
    pub(super) fn remove(&mut self, client: u64) -> Option<Blocked<R>> {
        let removed = self.requests.remove(&client)?;
        self.count(removed.retry.counts(), false);
        Some(removed)
    }

    /// The request of a client that waits. O(log n).
    pub(super) fn get(&self, client: u64) -> Option<&Blocked<R>> {
        self.requests.get(&client)
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, client: u64) -> Option<&mut Blocked<R>> {
        self.requests.get_mut(&client)
    }

    /// All of them, the oldest client first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Blocked<R>)> {
        self.requests.iter().map(|(client, blocked)| (*client, blocked))
    }

    /// The clients that wait, the oldest first, and what for.
    pub(super) fn clients(&self) -> impl Iterator<Item = (u64, &R)> {
        self.requests.iter().map(|(id, blocked)| (*id, &blocked.retry))
    }

    /// Bytes of the arguments of a client that waits, 0 of any other. O(log n).
    pub(crate) fn argument_bytes(&self, client: u64) -> usize {
        self.get(client).map_or(0, |blocked| blocked.request.len())
    }
}

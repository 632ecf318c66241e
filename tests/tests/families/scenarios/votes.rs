//! RedLock: a client of one name at each of five servers, and a lock that is held if a majority of them grants it.

use crate::scenarios::stage::LOCK;
use lockwheel_tests::steered::{self, Thread};

/// The time for requesting the votes, one server after the other, in milliseconds: with all servers reachable, and with
/// some unreachable.
const PATIENCE_MS: [i64; 2] = [20_000, 1_000];

/// The clients, and the owner of the thread that asks with all of them.
pub(crate) struct Votes<'a> {
    clients: Vec<steered::Client<'a>>,
    asker: usize,
    lease_ms: u64,
}

impl<'a> Votes<'a> {
    pub(crate) fn new(
        clients: impl IntoIterator<Item = steered::Client<'a>>,
        asker: usize,
        lease_ms: u64,
    ) -> Self {
        Votes { clients: clients.into_iter().collect(), asker, lease_ms }
    }

    /// The requesting thread. Its view of the lock is that of its own server.
    pub(crate) fn thread(&self) -> Thread<'_> {
        self.clients[self.asker].thread("worker")
    }

    fn names(&self) -> String {
        self.clients.iter().map(steered::Client::name).collect::<Vec<_>>().join(" ")
    }

    /// The call that asks all servers for this time. -1 means once, in all versions but 3.6.5.
    pub(crate) fn call(&self, wait_ms: i64) -> String {
        format!("red-try-lock {LOCK} {wait_ms} {} {}", self.lease_ms, self.names())
    }

    /// Asks all servers. Returns whether there is a majority.
    #[track_caller]
    pub(crate) fn are_a_majority(&self, expected: bool) {
        let [long, short] = PATIENCE_MS;
        self.thread().does(&self.call(if expected { long } else { short }), &expected.to_string());
    }

    /// Releases all votes.
    #[track_caller]
    pub(crate) fn give_back(&self) {
        self.thread().does(&format!("red-unlock {LOCK} {}", self.names()), "");
    }
}

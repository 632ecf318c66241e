//! Waits for a state of the server that no key stands for: each is retried when what it is about has changed.

use super::engine::{Engine, Retry};
use super::parked::Counts;
use super::state_kinds::{StateCounts, StateOf};
use crate::locks::HistoryReader;

impl Engine {
    /// Retries clients that wait for a state of the server which may have changed.
    pub(crate) fn serve_state_watchers(&mut self) {
        for kind in self.keyspace.waiters.unkeyed_kinds() {
            let version = StateOf::ALL.get(kind).and_then(|of| self.version_of(*of));
            let waiting = self.keyspace.waiters.unkeyed_since(kind, version);
            if waiting.len() > 1 {
                self.state_counts = StateCounts::kept();
            }
            for id in waiting {
                self.retry(id);
            }
            self.state_counts = StateCounts::default();
        }
    }

    /// A number that changes whenever such a state may have changed. O(1).
    fn version_of(&self, of: StateOf) -> Option<u64> {
        let of_waits = || self.parked.changes().wrapping_add(self.keyspace.waiters.changes());
        let of_history = || {
            let history = HistoryReader::of(&self.keyspace);
            // No history has as many entries.
            history.map_or(0, |history| (history.number() << 48).wrapping_add(history.last()))
        };
        Some(match of {
            StateOf::Anything => return None,
            StateOf::Waits => of_waits(),
            // The history tells whether a thread of Redisson's waits by a subscription.
            StateOf::Listeners => of_waits().wrapping_add(self.pubsub.changes()).wrapping_add(of_history()),
            StateOf::Clients => self.sessions.changes(),
            StateOf::History => of_history(),
        })
    }
}

impl Counts for Retry {
    fn counts(&self) -> bool {
        match self {
            Retry::OnKeys(on) => on.class.counts && !on.by_ticket,
            Retry::Always(state) => state.is_counted(),
            Retry::Turn(_) | Retry::Turning { .. } | Retry::Held(_) => false,
            Retry::Together | Retry::Reading => false,
            Retry::Paused { .. } | Retry::Ended => true,
        }
    }
}

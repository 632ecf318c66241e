//! The clients that are sent a copy of the data, which no stream follows: `redis-cli --rdb` is one.

use std::collections::BTreeMap;

/// How far the copy of a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Its snapshot has not begun. `tells_offset`: the client is told the snapshot's place in the history.
    AwaitsStart { tells_offset: bool },
    /// Its snapshot is being made.
    AwaitsEnd,
}

/// The clients that wait for a copy, by their sessions.
///
/// A client never joins a snapshot that has begun: its copy has all that was written before it asked.
#[derive(Debug, Default)]
pub(super) struct Copies(BTreeMap<u64, Stage>);

impl Copies {
    /// Lets a client wait for the next snapshot, unless it waits for one already. O(log n).
    pub(super) fn add(&mut self, session: u64, tells_offset: bool) {
        self.0.entry(session).or_insert(Stage::AwaitsStart { tells_offset });
    }

    /// Forgets a client. O(log n).
    pub(super) fn remove(&mut self, session: u64) {
        self.0.remove(&session);
    }

    /// Whether no client waits.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a client waits for the beginning of a snapshot. O(n).
    pub(super) fn await_start(&self) -> bool {
        self.0.values().any(|stage| *stage != Stage::AwaitsEnd)
    }

    /// Whether a client waits for the end of the snapshot that is being made. O(n).
    pub(super) fn await_end(&self) -> bool {
        self.0.values().any(|stage| *stage == Stage::AwaitsEnd)
    }

    /// The clients that wait.
    pub(super) fn sessions(&self) -> impl Iterator<Item = u64> {
        self.0.keys().copied()
    }

    /// Lets all clients wait for the snapshot that begins now. Returns those that have waited for its beginning, each
    /// with whether it is told the snapshot's place in the history.
    pub(super) fn begin(&mut self) -> Vec<(u64, bool)> {
        let mut begun = Vec::new();
        for (session, stage) in &mut self.0 {
            if let Stage::AwaitsStart { tells_offset } = std::mem::replace(stage, Stage::AwaitsEnd) {
                begun.push((*session, tells_offset));
            }
        }
        begun
    }

    /// Removes the clients that have waited for the end of a snapshot, and returns them.
    pub(super) fn end(&mut self) -> Vec<u64> {
        let ended = self.0.iter().filter(|(_, stage)| **stage == Stage::AwaitsEnd);
        let ended: Vec<u64> = ended.map(|(session, _)| *session).collect();
        self.0.retain(|_, stage| *stage != Stage::AwaitsEnd);
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_asks_while_a_snapshot_is_made_waits_for_the_next_one() {
        let mut copies = Copies::default();
        copies.add(1, true);
        assert_eq!(copies.begin(), [(1, true)]);
        copies.add(2, false);
        copies.add(1, true);
        assert!(copies.await_start() && copies.await_end());
        assert_eq!(copies.end(), [1]);
        assert_eq!(copies.sessions().collect::<Vec<_>>(), [2]);
        assert_eq!(copies.begin(), [(2, false)]);
    }

    #[test]
    fn a_client_that_is_gone_waits_no_more() {
        let mut copies = Copies::default();
        copies.add(1, false);
        copies.begin();
        copies.remove(1);
        assert!(copies.is_empty() && !copies.await_end());
        assert_eq!(copies.end(), []);
    }
}

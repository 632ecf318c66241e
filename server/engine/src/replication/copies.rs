//! The clients that want a copy of the data without a following stream: `redis-cli --rdb` is one.

use std::collections::BTreeMap;

/// The progress of a client's copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The snapshot has not begun. `tells_offset`: the client is told the snapshot's place in the history.
    AwaitsStart { tells_offset: bool },
    /// The snapshot is being made.
    AwaitsEnd,
    /// The copy is being sent. `unsent`: the number of unsent bytes. `since_ms`: the instant, in real monotonic
    /// milliseconds, since which this number has not decreased.
    Sent { unsent: usize, since_ms: i64 },
}

/// The clients that wait for a copy or are being sent one, by session.
///
/// A client never joins a snapshot that has begun: its copy has all that was written before it asked.
#[derive(Debug, Default)]
pub(super) struct Copies(BTreeMap<u64, Stage>);

impl Copies {
    /// Adds a client to those that wait for the next snapshot, unless it waits already or is sent a copy. O(log n).
    pub(super) fn add(&mut self, session: u64, tells_offset: bool) {
        self.0.entry(session).or_insert(Stage::AwaitsStart { tells_offset });
    }

    /// Forgets a client. O(log n).
    pub(super) fn remove(&mut self, session: u64) {
        self.0.remove(&session);
    }

    /// Whether no client waits or is being sent a copy.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a client waits for the beginning of a snapshot. O(n).
    pub(super) fn await_start(&self) -> bool {
        self.0.values().any(|stage| matches!(stage, Stage::AwaitsStart { .. }))
    }

    /// Whether a client waits for the end of the snapshot that is being made. O(n).
    pub(super) fn await_end(&self) -> bool {
        self.0.values().any(|stage| *stage == Stage::AwaitsEnd)
    }

    /// The clients that wait for the beginning or the end of a snapshot.
    pub(super) fn waiting(&self) -> impl Iterator<Item = u64> {
        self.0.iter().filter(|(_, stage)| !matches!(stage, Stage::Sent { .. })).map(|(session, _)| *session)
    }

    /// Begins the snapshot for all clients that wait for its beginning. Returns them, each with whether it is told the
    /// snapshot's place in the history.
    pub(super) fn begin(&mut self) -> Vec<(u64, bool)> {
        let mut begun = Vec::new();
        for (session, stage) in &mut self.0 {
            if let Stage::AwaitsStart { tells_offset } = *stage {
                *stage = Stage::AwaitsEnd;
                begun.push((*session, tells_offset));
            }
        }
        begun
    }

    /// Returns the clients that wait for the end of a snapshot, which they are sent from this instant on.
    pub(super) fn end(&mut self, now_ms: i64) -> Vec<u64> {
        let mut ended = Vec::new();
        for (session, stage) in &mut self.0 {
            if *stage == Stage::AwaitsEnd {
                *stage = Stage::Sent { unsent: usize::MAX, since_ms: now_ms };
                ended.push(*session);
            }
        }
        ended
    }

    /// Returns the clients that have read nothing of their copies for longer than the timeout. `unsent`: the unsent
    /// bytes of a client. O(n).
    pub(super) fn timed_out(
        &mut self,
        now_ms: i64,
        timeout_ms: i64,
        unsent_of: impl Fn(u64) -> usize,
    ) -> Vec<u64> {
        let mut timed_out = Vec::new();
        for (session, stage) in &mut self.0 {
            let Stage::Sent { unsent, since_ms } = stage else { continue };
            let left = unsent_of(*session);
            if left < std::mem::replace(unsent, left) {
                *since_ms = now_ms;
            } else if now_ms - *since_ms > timeout_ms {
                timed_out.push(*session);
            }
        }
        timed_out
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
        assert_eq!(copies.end(0), [1]);
        assert_eq!(copies.waiting().collect::<Vec<_>>(), [2]);
        assert_eq!(copies.begin(), [(2, false)]);
    }

    #[test]
    fn a_client_that_is_gone_waits_no_more() {
        let mut copies = Copies::default();
        copies.add(1, false);
        copies.begin();
        copies.remove(1);
        assert!(copies.is_empty() && !copies.await_end());
        assert_eq!(copies.end(0), []);
    }

    #[test]
    fn a_client_that_reads_nothing_of_its_copy_is_timed_out() {
        let mut copies = Copies::default();
        copies.add(1, false);
        copies.begin();
        copies.end(0);
        for (now_ms, unsent, timed_out) in [(10, 9, false), (60, 7, false), (110, 7, false), (111, 7, true)] {
            assert_eq!(!copies.timed_out(now_ms, 50, |_| unsent).is_empty(), timed_out, "{now_ms}");
        }
    }
}

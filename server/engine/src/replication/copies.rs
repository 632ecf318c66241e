//! The clients that want a copy of the data without a following stream: `redis-cli --rdb` is one.

use std::collections::{BTreeMap, BTreeSet};

/// The progress of a copy that is being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Progress {
    /// The number of unsent bytes.
    unsent: usize,
    /// The instant since which this number has not decreased, in real monotonic milliseconds.
    since_ms: i64,
}

/// The clients that wait for a copy or are being sent one, by session. A client never joins a snapshot that has begun:
/// its copy has all that was written before it asked.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// The clients whose snapshot has not begun, each with whether it is told the snapshot's place in the history.
    await_start: BTreeMap<u64, bool>,
    /// The clients whose snapshot is being made.
    await_end: BTreeSet<u64>,
    sent: BTreeMap<u64, Progress>,
}

impl Copies {
    /// Adds a client for the next snapshot. `tells_offset`: it is told its place in the history. O(log n).
    pub(super) fn add(&mut self, session: u64, tells_offset: bool) {
        self.await_start.insert(session, tells_offset);
    }

    /// Forgets a client. O(log n).
    pub(super) fn remove(&mut self, session: u64) {
        self.await_start.remove(&session);
        self.await_end.remove(&session);
        self.sent.remove(&session);
    }

    /// Whether a client waits for a copy or is being sent one. O(log n).
    pub(super) fn has(&self, session: u64) -> bool {
        self.await_start.contains_key(&session)
            || self.await_end.contains(&session)
            || self.sent.contains_key(&session)
    }

    /// Returns the client that has waited longest for the beginning of a snapshot.
    pub(super) fn first_to_begin(&self) -> Option<u64> {
        self.await_start.keys().next().copied()
    }

    /// Whether a client waits for the end of the snapshot that is being made.
    pub(super) fn await_end(&self) -> bool {
        !self.await_end.is_empty()
    }

    /// The clients that wait for the beginning or the end of a snapshot.
    pub(super) fn waiting(&self) -> impl Iterator<Item = u64> {
        self.await_start.keys().chain(&self.await_end).copied()
    }

    /// The clients that wait for a copy or are being sent one.
    pub(super) fn sessions(&self) -> impl Iterator<Item = u64> {
        self.waiting().chain(self.sent.keys().copied())
    }

    /// Begins the snapshot for all clients that wait for one. Returns those that are told its place in the history.
    pub(super) fn begin(&mut self) -> Vec<u64> {
        let begun = std::mem::take(&mut self.await_start);
        self.await_end.extend(begun.keys());
        begun.into_iter().filter(|(_, tells_offset)| *tells_offset).map(|(session, _)| session).collect()
    }

    /// Returns the clients that wait for the end of a snapshot, which they are sent from this instant on.
    pub(super) fn end(&mut self, now_ms: i64) -> BTreeSet<u64> {
        let ended = std::mem::take(&mut self.await_end);
        let begins = Progress { unsent: usize::MAX, since_ms: now_ms };
        self.sent.extend(ended.iter().map(|session| (*session, begins)));
        ended
    }

    /// Returns the clients that have read nothing of their copies for the timeout. `unsent_of`: unsent bytes. O(n).
    pub(super) fn timed_out(
        &mut self,
        now_ms: i64,
        timeout_ms: i64,
        unsent_of: impl Fn(u64) -> usize,
    ) -> Vec<u64> {
        let mut timed_out = Vec::new();
        for (session, progress) in &mut self.sent {
            let left = unsent_of(*session);
            if left < std::mem::replace(&mut progress.unsent, left) {
                progress.since_ms = now_ms;
            } else if now_ms - progress.since_ms > timeout_ms {
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
    fn a_client_that_asks_during_a_snapshot_waits_for_the_next() {
        let mut copies = Copies::default();
        copies.add(1, true);
        copies.add(2, false);
        assert_eq!(copies.begin(), [1]);
        copies.add(3, true);
        assert_eq!((copies.first_to_begin(), copies.await_end()), (Some(3), true));
        assert_eq!(copies.end(0), BTreeSet::from([1, 2]));
        assert_eq!(copies.waiting().collect::<Vec<_>>(), [3]);
        assert_eq!(copies.sessions().collect::<Vec<_>>(), [3, 1, 2]);
        assert_eq!(copies.begin(), [3]);
    }

    #[test]
    fn a_removed_client_does_not_wait_for_a_copy() {
        let mut copies = Copies::default();
        copies.add(1, false);
        copies.begin();
        assert!(copies.has(1));
        copies.remove(1);
        assert!(!copies.has(1) && !copies.await_end());
        assert_eq!(copies.end(0), BTreeSet::new());
    }

    #[test]
    fn a_client_that_does_not_read_its_copy_times_out() {
        let mut copies = Copies::default();
        copies.add(1, false);
        copies.begin();
        copies.end(0);
        for (now_ms, unsent, timed_out) in [(10, 9, false), (60, 7, false), (110, 7, false), (111, 7, true)] {
            assert_eq!(!copies.timed_out(now_ms, 50, |_| unsent).is_empty(), timed_out, "{now_ms}");
        }
    }
}

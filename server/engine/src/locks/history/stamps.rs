//! The order of events on several servers of one process: the stamp of an entry is its number among those of all.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// The source of stamps for the entries of several servers. Stamps ascend, and none is given twice.
#[derive(Clone)]
pub struct StampSource(Arc<dyn Fn(u64) -> u64 + Send + Sync>);

impl StampSource {
    /// Returns a source of stamps: `take(n)` reserves `n` and returns the last; `take(0)` returns the last so far.
    pub fn new(take: impl Fn(u64) -> u64 + Send + Sync + 'static) -> Self {
        StampSource(Arc::new(take))
    }

    fn next(&self) -> u64 {
        (self.0)(1)
    }

    fn last(&self) -> u64 {
        (self.0)(0)
    }
}

impl fmt::Debug for StampSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StampSource")
    }
}

#[derive(Clone, Debug)]
pub(super) struct Stamps {
    source: StampSource,
    of: VecDeque<u64>,
    /// The stamp after which the ring began: all its entries have higher ones.
    pub(super) since: u64,
}

impl Stamps {
    pub(super) fn new(source: StampSource) -> Self {
        let since = source.next();
        Stamps { source, of: VecDeque::new(), since }
    }

    pub(super) fn push(&mut self) {
        self.of.push_back(self.source.next());
    }

    pub(super) fn pop(&mut self) {
        self.of.pop_front();
    }

    /// Whether no server has an entry after the last one of this ring.
    pub(super) fn is_last_of_all(&self) -> bool {
        self.of.back() == Some(&self.source.last())
    }

    /// Returns the stamp of the oldest kept entry.
    pub(super) fn first(&self) -> Option<u64> {
        self.of.front().copied()
    }

    /// Returns the stamp of the entry at this place, counted from the oldest. O(1).
    pub(super) fn get(&self, at: usize) -> Option<u64> {
        self.of.get(at).copied()
    }

    /// Returns the number of entries with stamps below `from`. O(log n).
    pub(super) fn count_before(&self, from: u64) -> usize {
        self.of.partition_point(|stamp| *stamp < from)
    }
}

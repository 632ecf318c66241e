//! The order of what happens on several servers of one process: each entry has a number among those of all.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// Gives each entry of several servers its number among all: they ascend, and none is given twice.
#[derive(Clone)]
pub struct StampSource(Arc<dyn Fn(u64) -> u64 + Send + Sync>);

impl StampSource {
    /// Numbers that this gives: so many more, of which it tells the last; of none more the last that there was.
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

/// The numbers of a ring's entries.
#[derive(Clone, Debug)]
pub(super) struct Stamps {
    source: StampSource,
    of: VecDeque<u64>,
    /// The entries of this ring have higher ones.
    pub(super) since: u64,
}

impl Stamps {
    pub(super) fn new(source: StampSource) -> Self {
        let since = source.next();
        Stamps { source, of: VecDeque::new(), since }
    }

    /// There is one entry more.
    pub(super) fn push(&mut self) {
        self.of.push_back(self.source.next());
    }

    /// The oldest entry is gone.
    pub(super) fn pop(&mut self) {
        self.of.pop_front();
    }

    /// Whether no server has an entry behind the last one of this ring.
    pub(super) fn is_last_of_all(&self) -> bool {
        self.of.back() == Some(&self.source.last())
    }

    /// The number of the oldest entry that is kept.
    pub(super) fn first(&self) -> Option<u64> {
        self.of.front().copied()
    }

    /// The number of the entry at this place, counted from the oldest. O(1).
    pub(super) fn get(&self, at: usize) -> Option<u64> {
        self.of.get(at).copied()
    }

    /// The number of entries whose numbers are below `from`. O(log n).
    pub(super) fn count_before(&self, from: u64) -> usize {
        self.of.partition_point(|stamp| *stamp < from)
    }
}

//! The state of readings of the history that are done in pieces.

use crate::locks::HistoryWork;
use std::collections::VecDeque;

/// The clients that read the history in pieces.
#[derive(Debug, Default)]
pub(crate) struct HistoryReadings {
    /// In the order of their requests. Only the first is served.
    pub(super) clients: VecDeque<u64>,
    /// The reading of the first, once it has begun.
    pub(super) work: Option<Box<dyn HistoryWork>>,
}

impl HistoryReadings {
    /// Bytes of the copy that is read. O(1).
    pub(super) fn memory(&self) -> usize {
        self.work.as_ref().map_or(0, |work| work.memory())
    }
}

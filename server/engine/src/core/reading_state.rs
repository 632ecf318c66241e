//! The state of readings of the history that are done in pieces.

use crate::locks::{HistoryWork, MergingHistory};
use lockwheel_store::time::Now;
use std::collections::VecDeque;

/// The clients that read the history in pieces.
#[derive(Debug, Default)]
pub(crate) struct HistoryReadings {
    /// In the order of their requests. Only the first is served.
    pub(super) clients: VecDeque<u64>,
    /// The reading of the first, once it has begun.
    pub(super) work: Option<Box<dyn HistoryWork>>,
    /// The histories of all servers that it is to read, as they were then, until they are one.
    pub(super) merging: Option<(MergingHistory, Now)>,
    /// The client that reads the histories of all servers in pieces from now on.
    pub(super) begins: Option<u64>,
}

impl HistoryReadings {
    /// Bytes of the copy that is read. O(1).
    pub(super) fn memory(&self) -> usize {
        let merging = self.merging.as_ref().map_or(0, |(merging, _)| merging.memory());
        merging + self.work.as_ref().map_or(0, |work| work.memory())
    }
}

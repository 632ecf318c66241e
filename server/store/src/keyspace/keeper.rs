//! Components that are shown keys before these are written: the record of a lagging replica, and a snapshot in
//! progress. While there is neither, a write pays for one test only.

use super::lag::Lag;
use super::snapshot::Snapshot;
use lockwheel_resp::allocation;

#[derive(Debug, Default)]
pub(super) struct Keeper {
    pub(super) lag: Option<Lag>,
    pub(super) snapshot: Option<Snapshot>,
}

impl Keeper {
    /// Shows the snapshot what is about to be written. The snapshot ends if there is no memory for its keys.
    pub(super) fn show(&mut self, see: impl FnOnce(&mut Snapshot)) {
        if let Some(snapshot) = &mut self.snapshot
            && allocation::contain(|| see(snapshot)).is_err()
        {
            self.snapshot = None;
        }
    }
}

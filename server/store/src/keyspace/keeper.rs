//! Components that are shown keys before these are written: the record of a lagging replica, and a snapshot in
//! progress. While there is neither, a write pays for one test only.

use super::lag::Lag;
use super::snapshot::Snapshot;

/// The components that are shown keys before these are written.
#[derive(Debug, Default)]
pub(super) struct Keeper {
    pub(super) lag: Option<Lag>,
    pub(super) snapshot: Option<Snapshot>,
}

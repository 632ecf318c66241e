//! Who is shown keys before they are written: what a replica has that lags, and a snapshot that is being made. While
//! there is neither, one test tells so.

use super::lag::Lag;
use super::snapshot::Snapshot;

/// Those who are shown keys before they are written.
#[derive(Debug, Default)]
pub(super) struct Keeper {
    pub(super) lag: Option<Lag>,
    pub(super) snapshot: Option<Snapshot>,
}

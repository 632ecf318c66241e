//! The snapshots that replicas are being sent. A snapshot serves every replica while the stream since it is kept.

use super::replid::ReplicationId;
use lockwheel_store::memory::{SharedBytes, WeakBytes};

/// The maximum number of snapshots that are sent at a time. Each takes as much memory as the data.
pub(crate) const MAX_SNAPSHOTS: usize = 3;

/// The place of a snapshot in the history, and the kind of replicas that it suits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SnapshotPlace {
    pub(crate) id: ReplicationId,
    /// The length of the stream, in bytes.
    pub(crate) offset: i64,
    /// Whether a replica as old as Redis 7.0 can read the snapshot.
    pub(crate) for_7_0: bool,
}

impl SnapshotPlace {
    pub(super) fn announcement(&self) -> String {
        format!("+FULLRESYNC {} {}\r\n", self.id, self.offset)
    }
}

/// The snapshots that are still being sent to a client, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    all: Vec<(SnapshotPlace, WeakBytes)>,
}

impl Snapshots {
    /// Returns the newest snapshot of this history for such replicas that was made at this offset or later.
    pub(crate) fn find(
        &mut self,
        id: ReplicationId,
        for_7_0: bool,
        first_offset: i64,
    ) -> Option<(SnapshotPlace, SharedBytes)> {
        let serves = |place: &SnapshotPlace| {
            place.id == id && place.for_7_0 == for_7_0 && place.offset >= first_offset
        };
        let found = self.all.iter().rev().filter(|(place, _)| serves(place));
        found.filter_map(|(place, bytes)| Some((*place, bytes.upgrade()?))).next()
    }

    pub(crate) fn has_room(&mut self) -> bool {
        self.all.retain(|(_, bytes)| bytes.upgrade().is_some());
        self.all.len() < MAX_SNAPSHOTS
    }

    pub(crate) fn add(&mut self, place: SnapshotPlace, bytes: &SharedBytes) {
        self.all.push((place, bytes.downgrade()));
    }
}

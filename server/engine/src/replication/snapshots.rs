//! The snapshots that replicas are being sent: one serves all replicas for which the stream since it is kept.

use super::replid::ReplicationId;
use lockwheel_store::memory::{SharedBytes, WeakBytes};

/// Snapshots that may be on their way at a time. Each takes as much memory as the data.
pub(crate) const MAX_SNAPSHOTS: usize = 3;

/// Where in the history a snapshot was made, and for which replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SnapshotPlace {
    /// The name of the history.
    pub(crate) id: ReplicationId,
    /// Length of the stream, in bytes.
    pub(crate) offset: i64,
    /// A replica as old as Redis 7.0 can read it.
    pub(crate) for_7_0: bool,
}

impl SnapshotPlace {
    /// The line that tells a replica the place before it is sent the snapshot.
    pub(super) fn announcement(&self) -> String {
        format!("+FULLRESYNC {} {}\r\n", self.id, self.offset)
    }
}

/// The snapshots that somebody still has to be sent, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    all: Vec<(SnapshotPlace, WeakBytes)>,
}

impl Snapshots {
    /// The newest snapshot for such replicas of this history that was made at this offset or later.
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

    /// Whether there may be another one.
    pub(crate) fn has_room(&mut self) -> bool {
        self.all.retain(|(_, bytes)| bytes.upgrade().is_some());
        self.all.len() < MAX_SNAPSHOTS
    }

    /// A snapshot was made.
    pub(crate) fn add(&mut self, place: SnapshotPlace, bytes: &SharedBytes) {
        self.all.push((place, bytes.downgrade()));
    }
}

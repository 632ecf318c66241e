//! Effects of changes of replication, which the conductor in [`core`](crate::core) carries out in order.

use super::replid::ReplicationId;
use crate::clients::Slot;

/// A step that follows when replication has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReplicationEffect {
    /// The output of a replica is checked against its limits.
    CheckOutput(Slot),
    /// The connection of a replica ends: it comes back, and asks for what it lacks.
    Cut(Slot),
    /// A snapshot for replicas is to begin when what runs now has ended.
    SnapshotDue,
    /// No replica waits any more for the snapshot that is being made.
    SnapshotUnwanted,
    /// There may be somebody else, or nobody, to whom messages go.
    AudienceChanged,
    /// The rules have changed. `may_forbid`: replication may forbid requests.
    RulesChanged { may_forbid: bool },
    /// The server no longer follows the master at this address. It has this history, up to this offset.
    Promoted { host: String, port: u16, id: ReplicationId, offset: i64 },
    /// The server becomes a replica of the master at this address.
    Follow { host: String, port: u16 },
    /// The server is no replica any more.
    Unfollow,
    /// The clients that write are paused while the master's part is handed over, or go on.
    PauseWrites(bool),
    /// A server that waits for its replicas before it ends looks at them again.
    ShutdownMayEnd,
}

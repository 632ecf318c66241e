//! Effects of changes of replication, which the conductor in [`core`](crate::core) applies in order.

use super::replid::ReplicationId;
use crate::clients::Slot;

/// A step that follows a change of replication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReplicationEffect {
    CheckOutput(Slot),
    /// The connection of a replica ends. The replica reconnects and asks for the data that it lacks.
    Cut(Slot),
    /// A snapshot for replicas begins once the current command has ended.
    SnapshotDue,
    /// No replica waits any longer for the snapshot that is being made.
    SnapshotUnwanted,
    /// The link to the master has ended within a transaction.
    TransactionCut,
    /// The receivers of messages may have changed.
    AudienceChanged,
    /// The rules for requests have changed. `may_forbid`: replication may forbid requests.
    RulesChanged {
        may_forbid: bool,
    },
    /// The server no longer follows the master at this address. Its data belong to this history, up to this offset.
    Promoted {
        host: String,
        port: u16,
        id: ReplicationId,
        offset: i64,
    },
    /// The server becomes a replica of the master at this address.
    Follow {
        host: String,
        port: u16,
    },
    /// The server stops being a replica.
    Unfollow,
    /// Writing clients are paused during a failover, or resume.
    PauseWrites(bool),
    /// A server that waits for its replicas before it shuts down checks them again.
    ShutdownMayEnd,
}

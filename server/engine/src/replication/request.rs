//! Replication requests of clients, as parsed.

use crate::spec::CommandError;

/// The refusal of a replica while the server does not follow its own master's changes.
pub(crate) const NO_MASTER_LINK: &str = "NOMASTERLINK Can't SYNC while not connected with my master";

#[derive(Clone, Copy, Debug)]
pub(crate) struct SyncRequest<'a> {
    /// The history that the replica knows, and the first offset that it lacks. `None`: SYNC names none.
    pub(crate) from: Option<(&'a [u8], i64)>,
    /// Whether the server must first become the master (PSYNC with FAILOVER). The client is its master.
    pub(crate) takes_over: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailoverRequest {
    /// The replica that takes over. `None`: the first one that has the whole stream.
    pub(crate) to: Option<(String, u16)>,
    /// The time limit in milliseconds.
    pub(crate) timeout_ms: Option<i64>,
    /// Whether the replica takes over when the time is over, or else the master stays the master.
    pub(crate) is_forced: bool,
}

/// The result of a replication request: the change to apply, or its error.
pub(crate) type Requested<'a> = Result<ReplicationRequest<'a>, CommandError>;

#[derive(Clone, Debug)]
pub(crate) enum ReplicationRequest<'a> {
    /// No change: the client has its reply.
    Nothing,
    /// The server becomes a replica of the master at this address.
    Follow {
        host: String,
        port: u16,
    },
    /// The server stops being a replica.
    Unfollow,
    Failover(FailoverRequest),
    AbortFailover,
    /// The client becomes a replica.
    Sync(SyncRequest<'a>),
    /// The client is sent a copy of the data. `tells_offset`: the place in the history precedes it.
    Copy {
        tells_offset: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledgement {
    /// The offset up to which the replica has executed the stream.
    pub(crate) offset: i64,
    /// The offset up to which the replica has the stream on disk, if it says so.
    pub(crate) on_disk: Option<i64>,
}

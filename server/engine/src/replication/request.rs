//! Requests of clients on replication, as their words say them.

use crate::spec::CommandError;

/// The refusal of a replica while the server does not know what its own master does.
pub(crate) const NO_MASTER_LINK: &str = "NOMASTERLINK Can't SYNC while not connected with my master";

/// The synchronization that a replica asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SyncRequest<'a> {
    /// The history that the replica knows, and the first offset that it lacks. `None`: it does not speak of histories.
    pub(crate) from: Option<(&'a [u8], i64)>,
    /// Whether the server is to take the master's part over first: the client is its master.
    pub(crate) takes_over: bool,
}

/// The words of FAILOVER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailoverRequest {
    /// The replica that takes over. `None`: the first that has everything.
    pub(crate) to: Option<(String, u16)>,
    /// The milliseconds after which it has not happened in time.
    pub(crate) timeout_ms: Option<i64>,
    /// Whether the replica takes over then with what it has; otherwise the master stays the master.
    pub(crate) is_forced: bool,
}

/// The outcome of a request on replication: a change that is to be carried out, or its error.
pub(crate) type Requested<'a> = Result<ReplicationRequest<'a>, CommandError>;

/// A change of the server's part in replication that a client has asked for.
#[derive(Clone, Debug)]
pub(crate) enum ReplicationRequest<'a> {
    /// No change: the client has its reply.
    Nothing,
    /// The server becomes the replica of the master at this address.
    Follow { host: String, port: u16 },
    /// The server is no replica any more.
    Unfollow,
    /// The master's part is handed over.
    Failover(FailoverRequest),
    /// The master's part is not handed over after all.
    AbortFailover,
    /// The client becomes a replica.
    Sync(SyncRequest<'a>),
    /// The client is sent a copy of the data. `tells_offset`: after the place in the history.
    Copy { tells_offset: bool },
}

/// The place up to which a replica has the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledgement {
    /// The offset up to which it has run the stream.
    pub(crate) offset: i64,
    /// The offset up to which it has the stream on disk, if it says so.
    pub(crate) on_disk: Option<i64>,
}

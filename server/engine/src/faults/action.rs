//! The actions of rules.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// An action that precedes or replaces the execution of the request.
    OnRequest(RequestAction),
    OnReply(ReplyAction),
    /// The messages that a request publishes reach no subscriber.
    LosePublish,
}

/// An action that precedes or replaces the execution of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestAction {
    /// The request is lost. All later traffic of its connection, in both directions, is lost with it.
    Drop {
        /// The delay until the connection is cut, in milliseconds. `None`: the connection is not cut.
        cut_after_ms: Option<u64>,
    },
    /// The request is executed later.
    Delay(FaultDelay),
    /// The request is held until the test releases it.
    Hold,
    /// The request gets this error as its reply.
    Error(Box<[u8]>),
    /// The connection of the request is closed.
    Close,
    /// The connection of the request is reset.
    Reset,
    /// The request is executed twice.
    Duplicate,
    /// The script that the request names by its digest is removed from the cache.
    ForgetScript,
    /// The keys of the request expire.
    ExpireKeys,
    /// The request is executed with another integer argument.
    Add {
        /// The index of the integer argument; 0 is the command's name.
        argument: usize,
        /// The number that is added to the argument.
        by: i64,
    },
    /// The request is executed with its points in time shifted by as much as the clock was advanced.
    ShiftTimes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReplyAction {
    /// The reply is lost. All later traffic of its connection, in both directions, is lost with it.
    Drop {
        /// The delay until the connection is cut, in milliseconds. `None`: the connection is not cut.
        cut_after_ms: Option<u64>,
    },
    /// The reply is sent later.
    Delay(FaultDelay),
    /// The reply is held until the test releases it.
    Hold,
    /// Another reply is sent in its place.
    Replace(Substitute),
    /// The reply is sent in pieces.
    Slice(Slices),
    /// The reply is not sent, and its connection is closed.
    Close,
    /// The reply is not sent, and its connection is reset.
    Reset,
    /// The reply is truncated to this number of bytes, and its connection is closed.
    Truncate(usize),
}

/// A delay, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FaultDelay {
    pub(crate) ms: u64,
    /// The maximum random deviation in either direction, in milliseconds.
    pub(crate) jitter_ms: u64,
}

/// The pieces in which a reply is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slices {
    /// The size of a piece in bytes, at least 1.
    pub(crate) bytes: usize,
    /// The interval between two pieces, in milliseconds.
    pub(crate) every_ms: u64,
}

/// A reply that is sent in place of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Substitute {
    Null,
    /// The status `OK`.
    Ok,
    /// An integer.
    Integer(i64),
    Bulk(Box<[u8]>),
    /// Arbitrary bytes, not necessarily a valid reply.
    Raw(Box<[u8]>),
}

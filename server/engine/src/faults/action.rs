//! What a rule does.

/// What a rule does, by what it acts on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Something happens before the request is executed, or instead.
    OnRequest(RequestAction),
    /// Something happens to the reply of a request that is executed.
    OnReply(ReplyAction),
    /// The messages that a request sends reach nobody.
    LosePublish,
}

/// What happens before a request is executed, or instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestAction {
    /// It is lost, and with it all that its connection sends and is sent from there on.
    Drop {
        /// The connection is cut after so many milliseconds.
        cut_after_ms: Option<u64>,
    },
    /// The request is executed later.
    Delay(Latency),
    /// It is executed when the test says so.
    Hold,
    /// It is answered this error.
    Error(Box<[u8]>),
    /// Its connection is cut.
    Close,
    /// Its connection is reset.
    Reset,
    /// It is executed once more than it was sent.
    Duplicate,
    /// The script that it names by its digest is no longer cached.
    ForgetScript,
    /// Its keys expire.
    ExpireKeys,
    /// It is executed with another integer.
    Add {
        /// The argument that is an integer; 0 is the command's name.
        argument: usize,
        /// What is added to it.
        by: i64,
    },
    /// It is executed with its instants moved as far as the clock was turned.
    ShiftTimes,
}

/// What happens to a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReplyAction {
    /// It is lost, and with it all that its connection sends and is sent from there on.
    Drop {
        /// The connection is cut after so many milliseconds.
        cut_after_ms: Option<u64>,
    },
    /// The reply is sent later.
    Delay(Latency),
    /// It is sent when the test says so.
    Hold,
    /// Something else is sent.
    Replace(Substitute),
    /// The reply is sent in pieces.
    Slice(Slices),
    /// It is not sent, and its connection is cut.
    Close,
    /// The reply is not sent, and its connection is reset.
    Reset,
    /// It ends after so many bytes, and its connection is cut.
    Truncate(usize),
}

/// A delay, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Latency {
    pub(crate) ms: u64,
    /// The most by which it is shorter or longer, as drawn.
    pub(crate) jitter_ms: u64,
}

/// The pieces of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slices {
    /// The bytes of each, at least 1.
    pub(crate) bytes: usize,
    /// The time between two of them, in milliseconds.
    pub(crate) every_ms: u64,
}

/// A reply in place of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Substitute {
    /// Null.
    Null,
    /// The status `OK`.
    Ok,
    /// An integer.
    Integer(i64),
    /// A bulk string.
    Bulk(Box<[u8]>),
    /// Bytes that need not be a reply.
    Raw(Box<[u8]>),
}

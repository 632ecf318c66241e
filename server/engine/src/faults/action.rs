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
    /// It is executed after so many milliseconds.
    Delay(u64),
    /// It is executed when the test says so.
    Hold,
    /// It is answered this error.
    Error(Box<[u8]>),
    /// Its connection is cut.
    Close,
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
    /// It is sent after so many milliseconds.
    Delay(u64),
    /// It is sent when the test says so.
    Hold,
    /// Something else is sent.
    Replace(Substitute),
    /// It is not sent, and its connection is cut.
    Close,
    /// It ends after so many bytes, and its connection is cut.
    Truncate(usize),
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
}

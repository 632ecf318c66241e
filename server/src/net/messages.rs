//! What other threads leave for a loop, and where a connection is found.

use super::new_connection::{NewConnection, NewSession};
use super::session_status::SessionStatus;
use lockwheel_engine::clients::Outbox;

/// Where a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// The number of its loop.
    pub(super) index: usize,
    /// Its key in that loop.
    pub(super) key: usize,
}

/// What is left for a loop.
pub(super) enum LoopMessage {
    /// A connection was accepted.
    Accepted(NewConnection),
    /// The same, with the session that a slow script's thread has made for it.
    Connected(NewConnection, NewSession),
    /// The session of a connection has output that its own requests did not cause, or its state has changed.
    SessionChanged {
        /// The connection.
        key: usize,
    },
    /// The slow script's thread has run a request.
    Answered {
        /// The connection that sent it.
        key: usize,
        /// Its session.
        id: u64,
        /// What came of it.
        answer: Answer,
    },
}

/// What came of a request that another thread has run.
pub(super) struct Answer {
    pub(super) status: SessionStatus,
    pub(super) out: Outbox,
}

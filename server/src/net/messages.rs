//! Messages from other threads to a loop, and the address of a connection.

use super::new_connection::{NewConnection, NewSession};
use super::session_status::SessionStatus;
use lockwheel_engine::clients::Outbox;
use lockwheel_engine::faults::Link;

/// Where a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// The number of its loop.
    pub(super) index: usize,
    /// Its key in that loop.
    pub(super) key: usize,
}

/// A message for a loop.
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
    /// What may be read and written of a connection has changed while a slow script holds the engine.
    Relinked {
        /// The connection.
        key: usize,
        /// Its session.
        id: u64,
        /// What becomes of its bytes from now on.
        link: Link,
    },
    /// The slow script's thread has run a request.
    Answered {
        /// The connection that sent it.
        key: usize,
        /// Its session.
        id: u64,
        /// The result.
        answer: Answer,
    },
}

/// The result of a request that another thread has run.
pub(super) struct Answer {
    pub(super) status: SessionStatus,
    pub(super) out: Outbox,
}

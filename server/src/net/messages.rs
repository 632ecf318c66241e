//! Messages from other threads to a loop, and the address of a connection.

use super::new_connection::{NewConnection, NewSession};
use super::session_status::SessionStatus;
use lockwheel_engine::clients::Outbox;
use lockwheel_engine::faults::Link;

/// The location of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// The number of the loop.
    pub(super) index: usize,
    /// The key in that loop.
    pub(super) key: usize,
}

/// A message for a loop.
pub(super) enum LoopMessage {
    /// A connection was accepted.
    Accepted(NewConnection),
    /// A connection was accepted, and the thread of a slow script has created its session.
    Connected(NewConnection, NewSession),
    /// The state of a session has changed, or the session has output that its own requests did not cause.
    SessionChanged {
        /// The connection.
        key: usize,
    },
    /// The link of a connection has changed while a slow script holds the engine.
    Relinked {
        /// The connection.
        key: usize,
        /// The session of the connection.
        id: u64,
        /// The new link, which says what may be read and written.
        link: Link,
    },
    /// The thread of the slow script has run a request.
    Answered {
        /// The connection that sent the request.
        key: usize,
        /// The session of the connection.
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

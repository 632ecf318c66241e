//! Messages from other threads to a loop, and the address of a connection.

use super::new_connection::{NewConnection, NewSession};
use super::session_status::SessionStatus;
use lockwheel_engine::clients::Outbox;
use lockwheel_engine::faults::Link;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) index: usize,
    /// The key of the connection in that loop.
    pub(super) key: usize,
}

pub(super) enum LoopMessage {
    Accepted(NewConnection),
    /// A connection was accepted, and the thread of a slow script has created its session.
    Connected(NewConnection, NewSession),
    /// The state of a session has changed, or the session has output that its own requests did not cause.
    SessionChanged {
        key: usize,
    },
    /// The link of a connection, which says what may be read and written, has changed during a slow script.
    Relinked {
        key: usize,
        id: u64,
        link: Link,
    },
    /// The thread of the slow script has run a request.
    Answered {
        key: usize,
        id: u64,
        answer: Answer,
    },
}

/// The result of a request that another thread has run.
pub(super) struct Answer {
    pub(super) status: SessionStatus,
    pub(super) out: Outbox,
}

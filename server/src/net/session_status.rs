//! The state of a session that its connection needs without the engine.

use lockwheel_engine::Engine;
use lockwheel_engine::clients::{Closing, Slot};
use lockwheel_engine::faults::Link;
use lockwheel_resp::Protocol;

/// The state of a session that its connection needs, as of the last run or change.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionStatus {
    /// Whether the session is blocked. Its input is not run then.
    pub(super) blocked: bool,
    /// Whether and how the connection is to be closed.
    pub(super) closing: Option<Closing>,
    pub(super) resets: bool,
    /// Whether the session has logged in, or need not.
    pub(super) is_authenticated: bool,
    pub(super) in_transaction: bool,
    /// Whether the session is subscribed and speaks RESP2.
    pub(super) is_subscribed: bool,
    pub(super) has_control: bool,
    /// The reading and writing that faults allow.
    pub(super) link: Link,
    /// Whether the client wants no reply, to the next request or to any.
    pub(super) muted: bool,
    pub(super) max_bulk: usize,
    pub(super) query_buffer_limit: usize,
}

impl SessionStatus {
    pub(super) fn of(engine: &Engine, slot: Slot) -> Self {
        let session = engine.sessions().get(slot);
        SessionStatus {
            blocked: session.is_blocked(),
            closing: session.closing(),
            resets: session.resets(),
            is_authenticated: session.is_authenticated(engine.users()),
            in_transaction: session.is_in_transaction(),
            is_subscribed: session.subscriptions() > 0 && session.protocol == Protocol::Resp2,
            has_control: engine.config.control,
            link: engine.link(slot),
            muted: session.is_muted(),
            max_bulk: engine.config.proto_max_bulk_len,
            query_buffer_limit: engine.config.client_query_buffer_limit,
        }
    }
}

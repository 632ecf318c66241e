//! What a connection needs to know of its session without the engine.

use lockwheel_engine::Engine;
use lockwheel_engine::clients::{Closing, Slot};
use lockwheel_engine::faults::Link;
use lockwheel_resp::Protocol;

/// What a connection needs to know of its session after it ran or changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionStatus {
    /// It is blocked: input is not run.
    pub(super) blocked: bool,
    /// Whether and how the connection is to be closed.
    pub(super) closing: Option<Closing>,
    /// Whether it is then reset.
    pub(super) resets: bool,
    /// It has logged in, or needs not.
    pub(super) is_authenticated: bool,
    pub(super) in_transaction: bool,
    /// It is subscribed, and speaks RESP2.
    pub(super) is_subscribed: bool,
    /// The server has commands to control it by.
    pub(super) has_control: bool,
    /// What is read and written, as a test wants it.
    pub(super) link: Link,
    /// The client has asked not to be sent the next reply, or any.
    pub(super) muted: bool,
    /// `proto-max-bulk-len`, in bytes.
    pub(super) max_bulk: usize,
    /// `client-query-buffer-limit`, in bytes.
    pub(super) query_buffer_limit: usize,
}

impl SessionStatus {
    /// As it is now.
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

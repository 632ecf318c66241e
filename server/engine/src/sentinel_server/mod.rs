//! A server that is a sentinel: the sentinel's state, its connections, and the timer of its next tick.
//!
//! [`SentinelServer`] passes events to the sentinel, carries out the effects on its connections, and returns the
//! effects that concern the rest of the engine.

mod request;
mod server;

pub(crate) use request::{SentinelHandler, SentinelOutcome, SentinelRequest};
pub(crate) use server::SentinelEffect;
pub use server::SentinelServer;

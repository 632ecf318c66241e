//! A server that is a sentinel: the sentinel's state, its connections, and the timer of its next tick.
//! [`SentinelServer`] carries out the sentinel's effects on its connections, and returns those that concern the rest of
//! the engine.

mod request;
mod server;

pub(crate) use request::{SentinelHandler, SentinelOutcome, SentinelRequest};
pub(crate) use server::SentinelEffect;
pub use server::SentinelServer;

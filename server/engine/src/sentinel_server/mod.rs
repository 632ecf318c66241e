//! A server that is a sentinel: what the sentinel knows, its connections, and the timer of its next look.
//!
//! [`SentinelServer`] is told what happens, carries out what the sentinel wants of its connections, and answers with
//! the effects that concern the rest of the engine.

mod request;
mod server;

pub(crate) use request::{SentinelHandler, SentinelOutcome, SentinelRequest};
pub(crate) use server::SentinelEffect;
pub use server::SentinelServer;

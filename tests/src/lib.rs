//! The harness that the tests share: real servers, a small client of its own, and ways to compare.
//!
//! Nothing here knows how Lockwheel works inside: it speaks RESP over TCP, so that every check also runs
//! against a real redis-server.

pub mod client;
pub mod line;
pub mod redis_server;
pub mod reply;

//! Lockwheel: an in-memory, Redis-compatible server with native locks and a clock that a test can turn.

pub mod keyspace;
pub mod time;
pub mod values;

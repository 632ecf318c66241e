//! The workloads of waiting: hand-off under contention, how late expiry is told, and how long a server stands still.
//!
//! These measure times and counts, not throughput, so they talk to the server by a few plain connections instead of
//! the load generator.

pub mod background;
pub mod client;
pub mod crowd;
pub mod handoff;
pub mod lateness;
pub mod options;
pub mod pauses;
pub mod results;
pub mod samples;
pub mod wire;

use std::net::SocketAddr;

/// A server to measure.
#[derive(Clone, Debug)]
pub struct Target {
    /// What the results call it.
    pub name: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its process, when it is on this machine: the processor's time is read there.
    pub pid: Option<u32>,
    /// Whether it has native locks, which is to say whether it is Lockwheel.
    pub native: bool,
}

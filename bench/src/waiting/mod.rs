//! The waiting workloads: hand-off under contention, lateness of expiry events, and pauses of a server.
//!
//! The workloads measure times and counts, not throughput. They use a few plain connections instead of the load
//! generator.

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
    /// The name of the server in the results.
    pub name: String,
    /// The address of the server.
    pub address: SocketAddr,
    /// The process id, if the server is on this machine. The processor time is read from the process.
    pub pid: Option<u32>,
    /// Whether the server has native locks, and thus is Lockwheel.
    pub native: bool,
}

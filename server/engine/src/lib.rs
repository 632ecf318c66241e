//! Lockwheel without I/O: everything that a server is but for its sockets, threads and clocks.
//!
//! [`Engine`] is a plain struct: requests and the time are put in, replies, wake-ups and the next deadline are taken
//! out. The same inputs, seed and clock steps give the same bytes. The crate `lockwheel` puts it behind sockets; it is
//! that crate which programs are meant to use, and this one's interface follows its needs.

pub mod acl;
mod client_list;
pub mod clients;
pub mod clock;
pub mod cluster;
pub mod commands;
pub mod config;
pub mod core;
mod deadlines;
mod families;
pub mod faults;
mod finally;
mod latency;
pub mod limits;
pub mod locks;
mod member;
mod monitors;
pub mod outbound;
mod pauses;
mod persistence;
mod propagation;
mod pubsub;
mod replication;
mod scripts;
mod sentinel;
pub mod sentinel_server;
mod server_commands;
mod shutdown;
mod slow_log;
pub mod spec;
pub mod statistics;
pub mod topology;
mod tracking;
mod waits;

pub use crate::core::Engine;
pub use families::{COMMAND_NAMES, command_table};
pub use scripts::busy_error;

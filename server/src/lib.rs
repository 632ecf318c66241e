//! Lockwheel: an in-memory, Redis-compatible server with native locks and a clock that a test can advance.
//!
//! A test starts its own server on a free port. Dropping the server ends it:
//!
//! ```
//! use lockwheel::{Server, Time};
//! use std::time::Duration;
//!
//! let server = Server::builder().port(0).time(Time::Manual).seed(7).start()?;
//! println!("connect to {}", server.url());
//! server.advance(Duration::from_secs(30))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Any number of servers can live in one process, independently of each other.

mod net;
mod server;

pub use lockwheel_engine::config::{AuthClients, Config, TlsParameters};
pub use lockwheel_engine::locks::{LockHolder, LockLayout, LockMode, LockSnapshot, LockWaiter};
pub use lockwheel_engine::spec::Version;
pub use lockwheel_store::time::ClockError;
pub use net::{BindError, SIGNAL_LOG, TlsError};
pub use server::{
    Action, Allocator, AllocatorUsage, Builder, Clients, Clock, ClockInfo, Deadline, Direction, Entries,
    Entry, Faults, Filter, Finding, GrantNumbers, Handle, History, Level, Match, NotInTime, OtherClients,
    Refused, Reply, Rule, Server, Settle, Stage, StartError, Time, Topology, TopologyBuilder, Turn, Turned,
    TurnedTo, Until, Verdict,
};

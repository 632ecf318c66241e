//! The embedding API: servers in this process, their clocks and their locks.

mod crash;
mod error;
mod greeting;
mod handle;
mod instance;
mod serve;
mod steering;
mod topology;

pub use error::StartError;
pub use handle::{Handle, Turned};
pub use instance::{Builder, Server};
pub use lockwheel_engine::clock::Settle;
pub use lockwheel_engine::config::TimeMode as Time;
pub use lockwheel_engine::core::OtherClients;
pub use lockwheel_engine::statistics::{Allocator, AllocatorUsage};
pub use serve::Stage;
pub use steering::{
    Action, Clients, Clock, ClockInfo, Deadline, Direction, Entries, Entry, Faults, Filter, Finding,
    GrantNumbers, History, Level, Match, NotInTime, Refused, Reply, Rule, Turn, TurnedTo, Until, Verdict,
};
pub use topology::{Topology, TopologyBuilder};

//! How a request goes through the engine: the checks, the handler, its effects, blocked clients, and time.

mod advance;
mod blocking;
mod broadcast;
mod call;
mod client_line;
mod client_timers;
mod clock;
mod cluster;
mod command_tx;
mod commit;
mod count_waits;
mod cross_protocol;
mod deadlines;
mod deadlocks;
mod delivery;
mod dispatch;
mod engine;
mod faults;
mod history;
mod history_reading;
mod hooks;
mod host;
mod hosted;
mod lifecycle;
mod limits;
mod observe;
mod observers;
mod outbound;
mod output;
mod parked;
mod part_calls;
mod part_handler;
mod pauses;
pub mod permit;
mod prefetch;
mod progress;
mod publish;
mod replication;
mod reset;
mod saving;
mod sentinel;
mod shutdown;
mod simulation;
mod snapshots;
mod state_kinds;
mod state_waits;
mod switches;
mod target;
#[cfg(test)]
pub(crate) mod test_host;
mod tickets;
mod tracking;
mod users;
mod versions;
mod watching;

pub use crate::replication::ROLE_CHANGES;
pub use crate::shutdown::EndSignal;
pub(crate) use advance::advance_together;
pub(crate) use broadcast::{merged_history, read_history};
pub use call::{Call, Origin};
pub(crate) use count_waits::CountOf;
pub(crate) use engine::{
    BlockingEngineHandler, EngineAttempt, EngineHandler, Handler, ReadingHandler, Retry,
};
pub use engine::{Engine, Host};
pub use output::Output;
pub(crate) use part_handler::{FaultCaller, FaultHandler, LatencyView, PartHandler, UsersHandler};
pub(crate) use progress::Stop;
pub use progress::{Crash, Progress};

pub use reset::OtherClients;
pub(crate) use saving::NotSaved;
pub use simulation::Simulation;
pub(crate) use state_kinds::StateOf;
pub use target::{Broken, NotConnected, Target, TargetAddress};

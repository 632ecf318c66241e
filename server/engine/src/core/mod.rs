//! The execution of requests: the checks, the handler, its effects, blocked clients, and time.

mod advance;
mod blocking;
mod broadcast;
mod call;
mod client_control;
mod client_timers;
mod clock;
mod cluster;
mod command_tx;
mod commit;
mod cross_protocol;
mod deadlines;
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
mod part_calls;
mod part_handler;
mod part_timers;
mod pauses;
pub mod permit;
mod prefetch;
mod progress;
mod publish;
mod replication;
mod reset;
mod saving;
mod script_run;
mod sentinel;
mod shutdown;
mod simulation;
mod snapshots;
mod state_waits;
mod switches;
mod target;
#[cfg(test)]
pub(crate) mod test_host;
mod tickets;
mod tracking;
mod transaction;
mod users;
mod versions;

pub use crate::replication::ROLE_CHANGES;
pub use crate::shutdown::EndSignal;
pub(crate) use advance::advance_together;
pub(crate) use broadcast::{merged_history, read_history};
pub use call::{Call, Origin};
pub use engine::{Engine, Host};
pub(crate) use engine::{Handler, LibraryControl, LibraryDone, ReadingHandler};
pub use output::Output;
pub(crate) use part_handler::{
    ClientHandler, FaultCaller, FaultHandler, LatencyView, PartHandler, UsersHandler,
};
pub use prefetch::Prefetch;
pub(crate) use progress::Stop;
pub use progress::{Crash, Progress};

pub use reset::OtherClients;
pub(crate) use saving::NotSaved;
pub use simulation::Simulation;
pub use target::{Broken, NotConnected, Target, TargetAddress};

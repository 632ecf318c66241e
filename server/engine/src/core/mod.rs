//! The execution of requests: the checks, the handler, its effects, blocked clients, and time.

mod advance;
mod append_only;
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
mod loading;
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
mod server_calls;
mod server_views;
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

pub use crate::persistence::{AppendLog, DiskFiles, FileChange, FileWork, FileWorkDone, LogSync};
pub use crate::replication::ROLE_CHANGES;
pub use crate::shutdown::EndSignal;
pub(crate) use advance::advance_together;
pub(crate) use broadcast::{merged_history, read_history};
pub use call::{Call, Origin};
pub(crate) use engine::{
    ConfigControl, ConfigFile, DebugControl, DebugEffect, Environment, Handler, LibraryControl, LibraryDone,
    ReadingHandler, ServerHandler,
};
pub use engine::{Engine, Host, OtherClients};
pub(crate) use loading::LOADING;
pub use loading::{DataLoad, LoadAccess, LoadError};
pub use output::Output;
pub(crate) use part_handler::{
    Cancellation, ClientHandler, FaultCaller, FaultHandler, LatencyView, PartHandler, UsersHandler,
};
pub use prefetch::Prefetch;
pub(crate) use progress::Stop;
pub use progress::{Crash, DiskEvent, Progress};

pub(crate) use server_views::{AppendOnlyView, InfoView, MemoryView};
pub use simulation::Simulation;
pub(crate) use switches::Switches;
pub use target::{Broken, NotConnected, Target, TargetAddress};

//! How a request goes through the engine: the checks, the handler, its effects, blocked clients, and time.

mod blocking;
mod call;
mod client_line;
mod clock_turn;
mod commit;
mod deadlines;
mod delivery;
mod dispatch;
mod engine;
mod engine_time;
mod faults;
mod history;
mod host;
mod idle;
mod leases;
mod lifecycle;
mod memory;
mod observe;
mod observers;
mod onlookers;
mod output;
mod parked;
mod pausing;
pub mod permit;
mod planned_turns;
mod prefetch;
mod progress;
mod publish;
mod reset;
mod simulation;
mod snapshots;
mod switches;
mod target;
mod tickets;
mod tracking;
mod turning;
mod users;

pub use call::{Call, Origin};
pub use clock_turn::{ClockTurn, RedissonWaiters, Settle};
pub(crate) use engine::{
    BlockingEngineHandler, EngineAttempt, EngineHandler, Handler, ReadingHandler, Retry,
};
pub use engine::{Engine, Host};
pub(crate) use faults::GrantNumbers;
pub use output::Output;
pub(crate) use pausing::PauseKind;
pub(crate) use planned_turns::PlannedTurn;
pub use progress::Progress;
pub(crate) use progress::Stop;
pub use reset::OtherClients;
pub use simulation::Simulation;
pub use target::{Broken, NotConnected, Target, TargetAddress};
pub(crate) use tracking::TrackingRequest;
pub use turning::TurnProgress;

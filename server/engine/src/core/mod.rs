//! How a request goes through the engine: the checks, the handler, its effects, blocked clients, and time.

mod blocking;
mod call;
mod commit;
mod deadlines;
mod delivery;
mod dispatch;
mod engine;
mod engine_time;
mod host;
mod idle;
mod lifecycle;
mod memory;
mod observe;
mod observers;
mod output;
mod parked;
pub mod permit;
mod prefetch;
mod progress;
mod publish;
mod simulation;
mod snapshots;
mod switches;
mod turning;

pub use call::{Call, Origin};
pub(crate) use engine::{
    BlockingEngineHandler, EngineAttempt, EngineHandler, Handler, ReadingHandler, Retry,
};
pub use engine::{Engine, Host};
pub use output::Output;
pub use progress::Progress;
pub(crate) use progress::Stop;
pub use simulation::Simulation;
pub use turning::RedissonWaiters;

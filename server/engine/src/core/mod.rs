//! How a request goes through the engine: the checks, the handler, what it causes, who waits, and time.
//!
//! [`Engine`] is a plain struct. Bytes, the time and the seed come from outside; replies, wake-ups and the next
//! deadline are asked for. It is single-threaded by type, so that every command, script and transaction takes effect at
//! one instant, and the same inputs give the same bytes out.

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

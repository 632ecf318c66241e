//! Sockets around the engine: listeners, the connection loop, the timer, what is answered while a script is slow.
//!
//! Reading, parsing and writing run in parallel on tokio's workers; each batch of requests takes the engine's lock
//! once. This is the only room that knows tokio, threads, locks and the system's clocks.

mod busy;
mod connection;
mod listener;
mod os_clock;
mod output;
mod process;
mod shared;
mod signals;
mod timer;
mod watchdog;

pub use listener::BindError;
pub(crate) use listener::Listeners;
pub(crate) use process::this_process;
pub(crate) use shared::Shared;
pub(crate) use signals::watch as watch_signals;
pub(crate) use timer::run as run_timer;
pub(crate) use watchdog::start as start_watchdog;

//! Sockets around the engine: listeners, the threads' event loops, what is answered while a script is slow.
//!
//! Reading, parsing and writing run in parallel on the loops' threads; each batch of requests takes the engine's lock
//! once. Accepting connections and signals are tokio's, on a thread of their own that nothing holds up. This is the
//! only room that knows sockets, threads, locks and the system's clocks.

mod accept;
mod busy;
mod connection;
mod contain;
mod deferred;
mod event_loop;
mod hooks;
mod host;
mod inbox;
mod input;
mod listener;
mod os_clock;
mod output;
mod process;
mod shared;
mod signals;
mod socket;
#[cfg(unix)]
mod socket_file;
mod stopwatch;
mod sync;
mod threads;
mod timer;
mod watchdog;

#[cfg(test)]
mod tests;

pub(crate) use accept::Acceptor;
pub use listener::BindError;
pub(crate) use listener::{Endpoints, Listeners};
pub(crate) use process::this_process;
pub(crate) use shared::Shared;
#[cfg(unix)]
pub(crate) use socket_file::SocketFile;
pub(crate) use threads::{Control, Threads};

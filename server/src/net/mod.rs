//! Sockets around the engine: listeners, the event loops of the threads, and replies while a script is slow. Only this
//! module knows sockets, threads, locks and the system's clocks.
//!
//! The threads of the loops read, parse and write in parallel; each batch of requests takes the engine's lock once.
//! Tokio accepts connections and handles signals on a separate thread that nothing blocks; a task for each connection
//! cost a fifth more processor time on pipelined scripts.

mod accept;
mod acceptors;
mod admission;
mod append_log;
mod asking;
mod batches;
mod busy;
mod callers;
mod client_limit;
mod connection;
mod connections;
mod contain;
mod current_loop;
mod current_tls;
mod deferred;
mod descriptors;
mod doors;
mod event_loop;
mod files;
mod first;
mod hanging;
mod hooks;
mod host;
mod idle;
mod inbox;
mod input;
mod listener;
mod loader;
mod membership;
mod messages;
mod new_connection;
mod os_clock;
mod outbound;
mod outbound_inbox;
mod process;
mod processor;
mod session_status;
mod shared;
mod shutdown;
mod signals;
mod socket;
#[cfg(unix)]
mod socket_file;
mod stopwatch;
mod sync;
mod target;
mod threads;
mod timer;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
mod tls;
#[cfg(feature = "tls")]
mod tls;
mod tls_error;
mod topology;
mod traffic;
mod turn;
mod watchdog;
mod write_buffer;

#[cfg(test)]
mod tests;

pub(crate) use acceptors::Acceptors;
pub(crate) use descriptors::fit_clients;
pub use listener::BindError;
pub(crate) use listener::Listeners;
pub(crate) use loader::Loader;
pub(crate) use os_clock::OsClock;
pub(crate) use process::this_process;
pub(crate) use shared::Shared;
pub use signals::SIGNAL_LOG;
#[cfg(unix)]
pub(crate) use socket_file::SocketFile;
pub(crate) use threads::{AcceptRuntime, Threads};
pub use tls_error::TlsError;
pub(crate) use topology::Topology;

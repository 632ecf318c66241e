//! The waits of owners for each other: deadlocks, which are detected when a request would close one, and the graph of
//! all waits.
//!
//! An owner waits for the holders of a lock that it has asked for, and for requests for several locks ahead of its own.
//! Owners are identified by their names, separately in each database.

mod askers;
mod check_foreign;
mod command;
mod cycles;
mod dot;
mod edges;
mod foreign;
mod inferred;
mod listener_count;
mod listeners;
mod room;
mod search;
mod wait_graph;

pub(crate) use check_foreign::check_foreign;
pub(super) use command::LISTENING_ROWS;
pub(super) use inferred::Asked;
pub(crate) use listener_count::ListenerCount;
pub(super) use listeners::{Listeners, waiting_listeners};
pub(super) use search::{Newcomer, check};
pub(crate) use search::{Waiting, closed_cycle};

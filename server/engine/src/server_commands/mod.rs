//! The commands that see a session or the engine: one file a family, rows and handlers.

mod awaits;
mod client;
mod client_filter;
mod clock;
mod command;
mod command_info;
mod connection;
mod info;
mod lock_info;
mod pubsub;
mod scripting;
mod server;
mod slow_log;
mod transactions;

pub use server::ends_unsaved;

use crate::core::Handler;
use crate::spec::Row;

/// The rows of all families, a slice a file.
pub(crate) const ROWS: &[&[Row<Handler>]] = &[
    client::ROWS,
    command::ROWS,
    connection::ROWS,
    info::ROWS,
    lock_info::ROWS,
    pubsub::ROWS,
    scripting::ROWS,
    server::ROWS,
    slow_log::ROWS,
    transactions::ROWS,
    clock::ROWS,
    awaits::ROWS,
];

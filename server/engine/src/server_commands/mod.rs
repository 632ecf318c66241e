//! The commands that access a session or the engine. Each family has a file with rows and handlers.

mod acl;
mod awaits;
mod client;
mod client_filter;
mod client_pause;
mod client_rows;
mod client_tracking;
mod clock;
mod cluster;
mod command;
mod command_docs;
mod command_info;
mod config;
mod connection;
mod control;
mod debug;
mod faults;
mod fcall;
mod function_payload;
mod functions;
mod info;
mod latency;
mod locks;
mod lolwut;
mod memory;
mod memory_doctor;
mod memory_figures;
mod migrate;
mod modules;
mod monitor;
mod persistence;
mod pubsub;
mod replication;
mod script_rows;
mod scripting;
mod sentinel;
mod shutdown;
mod slow_log;
mod time;
mod transactions;

pub(crate) use sentinel::{HANDLERS as SENTINEL_HANDLERS, ROWS as SENTINEL_ROWS, is_of_sentinel};

use crate::core::Handler;
use crate::spec::Row;

pub(crate) const ROWS: &[&[Row<Handler>]] = &[
    acl::ROWS,
    client::ROWS,
    cluster::ROWS,
    command::ROWS,
    connection::ROWS,
    info::ROWS,
    latency::ROWS,
    lolwut::ROWS,
    memory::ROWS,
    migrate::ROWS,
    modules::ROWS,
    monitor::ROWS,
    persistence::ROWS,
    pubsub::ROWS,
    scripting::ROWS,
    functions::ROWS,
    fcall::ROWS,
    config::ROWS,
    debug::ROWS,
    replication::ROWS,
    shutdown::ROWS,
    time::ROWS,
    slow_log::ROWS,
    transactions::ROWS,
    clock::ROWS,
    awaits::COUNTED,
    awaits::FAULTS,
    awaits::KEY,
    awaits::IDLE,
    awaits::EVENT,
    awaits::HELP,
    control::ROWS,
    locks::ROWS,
    faults::RULE_ROWS,
    faults::LINK_ROWS,
    faults::NODE_ROWS,
    faults::RESTART_ROWS,
];

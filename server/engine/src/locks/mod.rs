//! Native locks, on Redisson's own layout: an RLock in Java and a `LOCK.ACQUIRE` exclude each other.
//!
//! The state is the keyspace's. A plain lock is a hash that maps its owner to the number of holds, with the lease as
//! its deadline; giving it back publishes what Redisson's script would. Waiters are parked by the engine and asked
//! again when the key changes, whoever changes it, first come first served.

mod acquire;
mod info;
mod layout;
mod options;
mod read_write;
mod release;
mod renew;

use crate::spec::{BlockingHandler, DataHandler, Row};

pub(crate) use info::{Subscriber, write_info};
pub(crate) use layout::{Channels, wake_messages};

/// The rows of the commands that never wait, a slice a file.
pub(crate) const ROWS: &[&[Row<DataHandler>]] = &[info::ROWS, release::ROWS, renew::ROWS];

/// The rows of those that may wait.
pub(crate) const BLOCKING_ROWS: &[&[Row<BlockingHandler>]] = &[acquire::ROWS];

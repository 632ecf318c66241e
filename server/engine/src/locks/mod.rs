//! Native locks, on Redisson's own layout: an RLock in Java and a `LOCK.ACQUIRE` exclude each other.
//!
//! A plain lock is a hash that maps its owner to the number of holds, with the lease as its deadline; releasing it
//! publishes what Redisson's script would. What keys cannot express is in `ledger`, all other state in the keyspace.
//! Waiters are parked by the engine and retried when the key changes, whatever changed it, first come first served.
//! Redisson's names stand in `redisson` alone.

mod acquire;
mod channel_waiters;
mod channels;
mod check;
mod fences;
mod force_unlock;
mod held;
mod info;
mod layouts;
mod ledger;
mod multi_release;
mod options;
mod ownership;
mod read_write;
mod redisson;
mod release;
mod renew;
pub(crate) mod sessions;
mod snapshot;
mod transfer;

use crate::keyspace::Keyspace;
use crate::spec::{BlockingHandler, DataHandler, Row};

pub(crate) use channel_waiters::channel_waiters;
pub(crate) use info::{ListeningHandler, snapshot};
pub use snapshot::{LockHolder, LockLayout, LockMode, LockSnapshot, LockWaiter};

/// The rows of the commands that never wait, one slice per file.
pub(crate) const ROWS: &[&[Row<DataHandler>]] = &[
    info::ROWS,
    release::ROWS,
    multi_release::ROWS,
    renew::ROWS,
    transfer::ROWS,
    force_unlock::ROWS,
    check::ROWS,
    fences::ROWS,
];

/// The rows of those that see subscriptions.
pub(crate) const LISTENING_ROWS: &[&[Row<ListeningHandler>]] = &[info::LISTENING_ROWS];

/// The rows of those that may wait.
pub(crate) const BLOCKING_ROWS: &[&[Row<BlockingHandler>]] = &[acquire::ROWS];

/// Subscribes what is known of locks beyond their keys. The seed decides the hash of keys.
pub(crate) fn subscribe(keyspace: &mut Keyspace, seed: u64) {
    keyspace.subscribe(Box::new(ledger::LockLedger::new(seed)));
    keyspace.subscribe(Box::new(fences::Fences::default()));
}

//! Databases, the table of keys, expiry, waiters on keys, watches, and [`Tx`], the only way to access them.
//!
//! The keyspace knows values and time, but neither commands nor clients: waiters and watchers are numbers. It collects
//! the effects of a command's changes: notifications, messages, woken waiters, broken transactions. The engine takes
//! the effects when the command, script or transaction ends. A [`Subscriber`] is notified of changes at once.

mod access_clock;
mod accesses;
mod actor;
mod change;
mod changes;
mod database;
mod db_key;
mod effects;
mod entry;
mod event;
mod eviction;
mod expiry;
mod field_expiry;
mod garbage;
mod given_back;
pub mod glob;
mod held_back;
mod interests;
mod keeper;
mod keeping;
mod key_timers;
#[expect(clippy::module_inception, reason = "the struct that the room is about")]
mod keyspace;
mod lag;
mod lagging;
mod lazy_removals;
mod listeners;
mod mark;
mod marking;
mod order;
mod prefetch;
mod propagated;
mod propagation;
mod read;
mod rng;
mod snapshot;
mod subscriber;
mod subscriptions;
mod thread_marks;
mod tickets;
mod tx;
mod typed;
mod unchanged;
mod unchecked_labels;
mod waiters;
mod waits;
mod watches;
mod write;

pub use access_clock::AccessClock;
pub use accesses::{AccessRules, Accesses, Measure};
pub use actor::{Actor, CalledBy, ScriptInputs, Watched};
pub use change::{Cause, Change, EntryId, Flushed, Removal, What};
pub use database::DatabaseBytes;
pub use db_key::{DbKey, DbKeyRef};
pub use effects::{Effect, EventValue};
pub use event::{Event, EventClasses, events};
pub use eviction::{EvictionPolicy, EvictionRules, Rank};
pub use garbage::{Garbage, LazyFree};
pub use held_back::HeldBack;
pub use interests::Interests;
pub use key_timers::KeyTimer;
pub use keyspace::{Counters, Keyspace};
pub use lazy_removals::LazyRemovals;
pub use listeners::Listeners;
pub use mark::{Mark, is_thread, mark_of_thread};
pub use order::Order;
pub use propagated::{KeyRequest, Propagated, PropagatedForm};
pub use rng::Rng;
pub use snapshot::{FlushedKeys, KeyWriter, SnapshotProgress};
pub use subscriber::{Context, Subscriber};
pub use thread_marks::ChangedField;
pub use tickets::{Tickets, ticket_of, waiter_of};
pub use tx::{Tx, WrongType};
pub use typed::Typed;
pub use waiters::{Place, ReadyKey, Signal, Waiter, WaiterId, Waiters};
pub use watches::Watches;
pub use write::Edit;

#[cfg(test)]
mod memory_tests;
#[cfg(test)]
mod tests;

//! `LOCK.VERIFY`: checks the history for violations of the invariants of locks.
//!
//! The history is read once. `locks` tracks the holders of each lock. Each invariant looks at an entry before `locks`
//! takes the entry in, and looks at the locks once more after the last entry.

mod command;
mod deadlocks;
mod eternal_locks;
mod exclusion;
mod fair_order;
mod fences;
mod finding;
mod findings;
mod given_permits;
mod habits;
mod herds;
mod holds;
mod invariant;
mod late_owners;
mod layout_mix;
mod line;
mod listings;
mod locks;
mod missed_wakeups;
mod own_channels;
mod owners;
mod permits;
mod releases;
mod sections;
mod tokens;
mod unanswered;
mod verdict;
mod waits;
mod watchdogs;

pub(super) use command::ROWS;
pub(crate) use command::check_request;
pub(super) use owners::Owners;

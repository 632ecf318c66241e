//! `LOCK.VERIFY`: whether the invariants of locks held, by the history.
//!
//! The history is gone through once: `locks` follows who holds what, each invariant looks at every entry before that
//! takes it in, and at the end.

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

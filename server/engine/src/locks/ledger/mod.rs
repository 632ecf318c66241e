//! The ledger: the facts about holds that the values of keys do not show.
//!
//! Grants by which locks are held, their order, and how holds ended: Redisson's layout has no place for them. The
//! number of a key's only grant is in the mark of its entry; the rest is kept here. Only the last end of a hold is
//! remembered.
//! [`LedgerSubscriber`] is notified of each begin and end.

mod details;
mod grant;
mod hold_events;
mod lock_ledger;
mod lock_names;
mod observed;
mod read_leases;
mod recent_releases;
mod release;
mod shared_holders;

pub(super) use details::{Delay, Detail};
pub(super) use grant::{Grant, Marked};
pub(super) use hold_events::{BegunHold, EndedHold, LedgerSubscriber};
pub(super) use lock_ledger::{LockLedger, Noted};
pub(super) use lock_names::names_lock;
pub(super) use recent_releases::{MAX_RELEASES, RecentReleases};
pub(super) use release::{Release, ReleaseCause};

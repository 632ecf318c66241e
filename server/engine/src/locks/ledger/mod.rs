//! The ledger: the facts about holds that the values of keys do not show.
//!
//! By which grants locks are held, since when in the order of grants, and how holds ended. Redisson's layout has no
//! place for these: the number of a key's only grant stands beside its entry, as a mark; everything else is here. The
//! ledger keeps no record of the past beyond the last end of a hold, and notifies its [`LedgerSubscriber`] of each hold
//! that begins or ends.

mod details;
mod grant;
mod hold_events;
mod joint_owners;
mod lock_ledger;
mod lock_names;
mod observed;
mod read_leases;
mod recent_releases;
mod release;

pub(super) use details::{Delay, Detail};
pub(super) use grant::{Grant, Marked};
pub(super) use hold_events::{BegunHold, EndedHold, LedgerSubscriber};
pub(super) use lock_ledger::{LockLedger, Noted};
pub(super) use lock_names::names_lock;
pub(super) use recent_releases::{MOST as MAX_RELEASES, RecentReleases};
pub(super) use release::{Release, ReleaseCause};

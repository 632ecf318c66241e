//! The ledger: the facts about holds that the values of keys do not show.
//!
//! The ledger keeps the grants by which locks are held, their order, and how holds ended. Redisson's layout has no
//! place for these facts. The number of a key's only grant is in the mark of the key's entry; everything else is kept
//! here. The ledger remembers only the last end of a hold. It notifies its [`LedgerSubscriber`] of each hold that
//! begins or ends.

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

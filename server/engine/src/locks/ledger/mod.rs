//! The ledger: what is known of locks beyond the values of their keys.
//!
//! Who was granted a lock when, and how holds ended. Redisson's layout has no place for these: the number of a key's
//! only grant stands beside its entry, as a mark; all else is here. It is told of what happens to keys, as every
//! [`Subscriber`](crate::keyspace::Subscriber) is, within the command that does it; native commands reach it through
//! `Tx`. No command on keys shows it.

mod grant;
mod handle;
mod joint_owners;
mod lock_ledger;
mod recent_releases;
mod release;
mod subscriber;

pub(super) use handle::{acquired, current_grant, grant, last_loss};
pub(crate) use lock_ledger::LockLedger;
pub(super) use release::{Release, ReleaseCause};

#[cfg(test)]
mod tests;

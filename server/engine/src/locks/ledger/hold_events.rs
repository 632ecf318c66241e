//! The events of the ledger: a hold has begun, or has ended.

use super::details::Delay;
use super::grant::Grant;
use super::release::ReleaseCause;
use lockwheel_store::keyspace::{Change, Context, EntryId};
use lockwheel_store::time::Now;

/// A hold that has begun.
#[derive(Clone, Copy, Debug)]
pub(in crate::locks) struct BegunHold<'a> {
    /// The database, the key and its entry.
    pub(in crate::locks) place: (usize, &'a [u8], EntryId),
    /// The field of the owner.
    pub(in crate::locks) owner: &'a [u8],
    pub(in crate::locks) grant: Grant,
    /// The cause for which the present command ends holds, if it says so itself.
    pub(in crate::locks) declared: Option<ReleaseCause>,
    pub(in crate::locks) now: Now,
}

/// A hold that has ended.
#[derive(Clone, Copy, Debug)]
pub(in crate::locks) struct EndedHold<'a> {
    /// The field of the owner.
    pub(in crate::locks) owner: &'a [u8],
    pub(in crate::locks) grant: Grant,
    pub(in crate::locks) cause: ReleaseCause,
    /// The delay that begins: for so long nobody gets the lock.
    pub(in crate::locks) delay: Option<Delay>,
    /// Whether anybody waits for the key.
    pub(in crate::locks) is_waited_for: bool,
}

/// A subscriber of the ledger: notified of each hold that begins or ends, within the command.
pub(in crate::locks) trait LedgerSubscriber {
    /// An owner has come to hold a lock by a new grant. The ledger knows of it already.
    fn begun(&mut self, hold: &BegunHold<'_>, context: &mut Context<'_>);

    /// A hold of the key that has changed has ended.
    fn ended(&mut self, change: &Change<'_>, hold: &EndedHold<'_>, context: &Context<'_>);

    /// The holds of a key are another field's from now on, by the same grant.
    fn converted(&mut self, at: (usize, &[u8]), to: &[u8], context: &Context<'_>);
}

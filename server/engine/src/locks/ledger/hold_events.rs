//! The events of the ledger: a hold has begun, or has ended.

use super::details::Delay;
use super::grant::Grant;
use super::release::ReleaseCause;
use lockwheel_store::keyspace::{Change, Context, EntryId};
use lockwheel_store::time::Now;

#[derive(Clone, Copy, Debug)]
pub(in crate::locks) struct BegunHold<'a> {
    /// The database, the key and its entry.
    pub(in crate::locks) place: (usize, &'a [u8], EntryId),
    pub(in crate::locks) owner: &'a [u8],
    pub(in crate::locks) grant: Grant,
    /// The cause that the present command declares for the holds that it ends, if it declares one.
    pub(in crate::locks) declared: Option<ReleaseCause>,
    pub(in crate::locks) now: Now,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::locks) struct EndedHold<'a> {
    pub(in crate::locks) owner: &'a [u8],
    pub(in crate::locks) grant: Grant,
    pub(in crate::locks) cause: ReleaseCause,
    /// The delay that begins now. Nobody gets the lock until it has passed.
    pub(in crate::locks) delay: Option<Delay>,
    /// Whether a client waits for the key.
    pub(in crate::locks) is_waited_for: bool,
}

/// A subscriber of the ledger, which is notified of each hold that begins or ends, within the command.
pub(in crate::locks) trait LedgerSubscriber {
    /// Handles the start of a hold by a new grant. The ledger has stored the grant already.
    fn begun(&mut self, hold: &BegunHold<'_>, context: &mut Context<'_>);

    /// Handles the end of a hold of the changed key.
    fn ended(&mut self, change: &Change<'_>, hold: &EndedHold<'_>, context: &Context<'_>);

    /// Handles a conversion: the holds of a key pass to another field, by the same grant.
    fn converted(&mut self, at: (usize, &[u8]), to: &[u8], context: &Context<'_>);
}

//! Access to the records of a keyspace. This file alone names their type to the keyspace.

use super::lock_records::LockRecords;
use lockwheel_store::keyspace::{Context, Keyspace, Tx};

const SUBSCRIBED: &str = "an engine has subscribed its records";

impl LockRecords {
    /// Subscribes the records of a keyspace. The seed decides the hash of keys.
    pub(in crate::locks) fn subscribe(keyspace: &mut Keyspace, seed: u64) {
        keyspace.subscribe(Box::new(LockRecords::new(seed)));
    }

    #[inline]
    pub(in crate::locks) fn of<'t>(tx: &'t Tx<'_>) -> &'t Self {
        tx.marker().expect(SUBSCRIBED)
    }

    /// Returns the records for a transaction to change, and their view of its database. O(1).
    #[inline]
    pub(in crate::locks) fn of_mut<'t>(tx: &'t mut Tx<'_>) -> (&'t mut Self, Context<'t>) {
        tx.marker_mut().expect(SUBSCRIBED)
    }

    #[inline]
    pub(in crate::locks) fn in_keyspace(keyspace: &Keyspace) -> Option<&Self> {
        keyspace.marker()
    }

    /// Returns the records of a keyspace for changes, if it has any. O(1).
    #[inline]
    pub(in crate::locks) fn in_keyspace_mut(keyspace: &mut Keyspace) -> Option<&mut Self> {
        keyspace.marker_itself()
    }
}

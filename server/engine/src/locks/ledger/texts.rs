//! Texts that were set by NX without a lease, on keys that are not named after locks, and texts that were set without
//! NX. What clients do with them later tells whether they may be locks.

use super::super::history::{Cause, Event, Happening};
use super::lock_ledger::LockLedger;
use super::release::ReleaseCause;
use crate::keyspace::{Change, Removal};
use crate::time::Now;
use crate::values::Value;

impl LockLedger {
    /// Records, once, that a text without a lease is used as a lock: its owner is the text. `native`: by LOCK commands.
    #[cold]
    pub(super) fn record_unleased(
        &mut self,
        (db, key, now): (usize, &[u8], Now),
        owner: &[u8],
        native: Option<bool>,
    ) {
        let Some(unleased) = self.unleased.get_mut(db, key, b"") else { return };
        let Some(history) = self.history.as_deref_mut().filter(|_| !unleased.is_recorded) else { return };
        unleased.is_recorded = true;
        let habit = Happening::new(Event::Habit, key, owner);
        history.record(now, Happening { db, cause: Cause::NoLease, native, ..habit });
    }

    /// A text is gone. A client that removes it and names it compares, as owners of locks do.
    pub(super) fn text_removed(&mut self, change: &Change<'_>, removal: &Removal<'_>) {
        let &Change { db, key, actor, now, .. } = change;
        let Value::Str(text) = removal.value else { return };
        let owner = text.text();
        if ReleaseCause::of(removal.cause, actor, &owner) == ReleaseCause::Released {
            let is_plain = self.plain_sets.compare(db, key);
            if removal.mark.is_none() {
                self.record_unleased((db, key, now), &owner, None);
                if is_plain {
                    self.record_plain_set(change, &owner);
                }
            }
        }
        self.unleased.forget(db, key, b"");
    }

    /// Records that a client takes a lock by a SET that excludes nobody.
    #[cold]
    pub(super) fn record_plain_set(&mut self, change: &Change<'_>, owner: &[u8]) {
        let &Change { db, key, now, .. } = change;
        if let Some(history) = self.history.as_deref_mut() {
            let habit = Happening::new(Event::Habit, key, owner);
            history.record(now, Happening { db, cause: Cause::PlainSet, ..habit });
        }
    }
}

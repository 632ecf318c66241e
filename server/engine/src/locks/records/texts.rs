//! Texts that were set by NX without a lease, on keys that are not named after locks, and texts that were set without
//! NX. The later use by clients tells whether they may be locks.

use super::super::history::{Cause as HistoryCause, Event, Happening, OVERWRITES};
use super::super::ledger::ReleaseCause;
use super::lock_records::LockRecords;
use super::plain_sets::{PlainSet, Replacement};
use lockwheel_store::keyspace::{Cause, Change, Removal};
use lockwheel_store::time::Now;
use lockwheel_store::values::Value;

impl LockRecords {
    /// Records, once, that a text without a lease is used as a lock by its owner. `native`: by a LOCK command.
    #[cold]
    pub(super) fn record_unleased(
        &mut self,
        (db, key, now): (usize, &[u8], Now),
        owner: &[u8],
        native: Option<bool>,
    ) {
        let Some(unleased) = self.unleased.get_mut(db, key, b"") else { return };
        let Some(history) = self.subscribers.history.as_deref_mut().filter(|_| !unleased.is_recorded) else {
            return;
        };
        unleased.is_recorded = true;
        let habit = Happening::new(Event::Habit, key, owner);
        history.record(now, Happening { db, cause: HistoryCause::NoLease, native, ..habit });
    }

    /// Handles the removal of a text. A client that names the text it removes compares it, as owners of locks do.
    pub(super) fn text_removed(&mut self, change: &Change<'_>, removal: &Removal<'_>) {
        let &Change { db, key, actor, now, .. } = change;
        let Value::Str(text) = removal.value else { return };
        let owner = text.text();
        if ReleaseCause::of(removal.cause, actor, &owner) == ReleaseCause::Released {
            if removal.mark.is_none() {
                self.record_unleased((db, key, now), &owner, None);
            }
            self.record_comparison((db, key, now), &owner);
        }
        self.unleased.forget(db, key, b"");
    }

    /// Records an attempt to give a key back by a comparison. Only a SET that excludes nobody makes an entry.
    pub(super) fn record_comparison(&mut self, (db, key, now): (usize, &[u8], Now), owner: &[u8]) {
        if self.subscribers.history.is_some()
            && let Some(plain) = self.plain_sets.compare(db, key)
        {
            self.record_plain_set((db, key, now), owner, plain);
        }
    }

    /// Notes which text has replaced another one.
    pub(super) fn text_replaced(&mut self, change: &Change<'_>, before: &[u8], after: &[u8]) {
        if self.subscribers.history.is_none() {
            return;
        }
        let by = match ReleaseCause::of(Cause::Overwrite, change.actor, before) {
            _ if before == after => Replacement::Same,
            ReleaseCause::Overwritten => Replacement::Other,
            _ => Replacement::Compared,
        };
        self.plain_sets.replace(change.db, change.key, by);
    }

    /// Records that a client takes a lock by a SET that excludes nobody.
    #[cold]
    pub(super) fn record_plain_set(
        &mut self,
        (db, key, now): (usize, &[u8], Now),
        owner: &[u8],
        plain: PlainSet,
    ) {
        if let Some(history) = self.subscribers.history.as_deref_mut() {
            let text: &[u8] = if plain.overwrites { OVERWRITES } else { b"" };
            let habit = Happening { text, ..Happening::new(Event::Habit, key, owner) };
            history.record(now, Happening { db, cause: HistoryCause::PlainSet, ..habit });
        }
    }
}

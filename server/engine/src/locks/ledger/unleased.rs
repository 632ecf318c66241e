//! Texts that were set by NX without a lease, on keys that are not named after locks. What clients do with them later
//! tells whether they may be locks.

use super::super::history::{Cause, Event, Happening};
use super::lock_ledger::LockLedger;
use super::release::ReleaseCause;
use crate::keyspace::{Change, Removal};
use crate::time::Now;
use crate::values::Value;

/// A text that was set by NX without a lease.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unleased {
    /// The number of the request that has set it.
    pub(super) request: u64,
    /// Whether the history says that it may be a lock.
    is_recorded: bool,
}

impl Unleased {
    /// A text that this request has set.
    pub(super) fn new(request: u64) -> Self {
        Unleased { request, is_recorded: false }
    }
}

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
    pub(super) fn unleased_removed(&mut self, change: &Change<'_>, removal: &Removal<'_>) {
        if self.unleased.is_empty() {
            return;
        }
        let &Change { db, key, actor, now, .. } = change;
        if let (Value::Str(text), None) = (removal.value, removal.mark) {
            let owner = text.text();
            if ReleaseCause::of(removal.cause, actor, &owner) == ReleaseCause::Released {
                self.record_unleased((db, key, now), &owner, None);
            }
        }
        self.unleased.forget(db, key, b"");
    }
}

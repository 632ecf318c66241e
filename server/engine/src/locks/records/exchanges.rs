//! Entries of the history for whole databases that go, by a flush or by SWAPDB, while the history is on.
//!
//! A lock moves with its database and keeps its grant. A client that asks for the lock at the old place finds it free.
//! So the hold is lost there, and begins at the new place. All holds are lost before any begins.

use super::super::history::{Cause, Event, Happening, Mode};
use super::super::ledger::{Grant, ReleaseCause};
use super::super::redisson;
use super::lock_records::LockRecords;
use super::recording::{client, recorded};
use lockwheel_store::keyspace::{Change, Context, EntryId};

impl LockRecords {
    /// Records that the keys of a database are about to move to another one.
    #[cold]
    pub(super) fn leave(&mut self, change: &Change<'_>, context: &Context<'_>) {
        for (key, _, owners) in self.held(change.db, context) {
            let change = &Change { key: &key, ..*change };
            for (owner, grant) in owners {
                self.subscribers.record_end(change, &owner, grant, ReleaseCause::Swapped, None);
            }
        }
        self.record_queues(change, Event::LeftQueue, Cause::Swapped);
        self.semaphores_leave(change);
    }

    /// Records that the keys of a database have come from another one.
    #[cold]
    pub(super) fn arrive(&mut self, change: &Change<'_>, context: &Context<'_>) {
        let before = self.ledger.declared();
        self.ledger.declare(Some(ReleaseCause::Swapped));
        for (key, at, owners) in self.held(change.db, context) {
            for (owner, grant) in owners {
                let what = (Event::Acquired, client(change.actor));
                self.record_grant(what, (change.db, &key, at), &owner, grant, change.now, context);
            }
        }
        self.ledger.declare(before);
        self.record_queues(change, Event::Queued, Cause::Swapped);
        self.semaphores_arrive(change);
    }

    /// Records that the queues of fair locks are gone, with all other keys of a database.
    pub(super) fn queues_flushed(&mut self, change: &Change<'_>) {
        if self.subscribers.history.is_some() {
            let cause = self.ledger.declared().map_or(Cause::Deleted, recorded);
            self.record_queues(change, Event::LeftQueue, cause);
            for (key, _) in self.fair_queues.of_database(change.db) {
                self.fair_queues.take(change.db, &key);
            }
        }
    }

    /// Returns the locks of a database, with the owners of each and their grants.
    fn held(&self, db: usize, context: &Context<'_>) -> Vec<HeldLock> {
        let held = context.marked().into_iter().filter_map(|(key, at)| {
            let known = (context.value(at), context.mark(at)?);
            let owners = self.ledger.owners_of(db, &key, known).into_iter();
            let granted = owners.filter_map(|(owner, _)| {
                let grant = self.ledger.grant_of(db, &key, known, &owner)?;
                Some((owner, grant))
            });
            let owners = granted.collect();
            Some((key, at, owners))
        });
        held.collect()
    }

    /// Records that the waiters in the queues of a database's fair locks have left them, or are there now.
    fn record_queues(&mut self, change: &Change<'_>, event: Event, cause: Cause) {
        let Some(history) = self.subscribers.history.as_deref_mut() else { return };
        let &Change { db, now, actor, .. } = change;
        for (key, queue) in self.fair_queues.of_database(db) {
            let Some(lock) = redisson::lock_of_queue(&key) else { continue };
            for owner in &queue {
                let client = client(actor);
                let what =
                    Happening { db, cause, mode: Mode::Fair, client, ..Happening::new(event, lock, owner) };
                history.record(now, Happening { native: Some(false), ..what });
            }
        }
    }
}

/// A lock: its key, its entry, and its owners with their grants.
type HeldLock = (Box<[u8]>, EntryId, Vec<(Box<[u8]>, Grant)>);

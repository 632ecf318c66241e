//! Marks that the keyspace makes and takes by itself, for the subscriber whose they are, while that has nobody to tell
//! of them.
//!
//! That a script takes a lock for a thread and gives it back is what happens to marked keys most: a number, six bytes
//! and a hash are all that remains of it, and no call of the subscriber is needed for them.

use super::actor::Actor;
use super::change::EntryId;
use super::database::Removed;
use super::keyspace::Keyspace;
use super::mark::{is_of_thread, is_thread, mark_of_thread};
use crate::values::Value;

impl Keyspace {
    /// A field has been added to the hash of this entry. Marks it, if the field is a thread's and the hash has no
    /// other; whether it has, so that the subscriber need not be told.
    #[inline(never)]
    pub(super) fn mark_for_thread(&mut self, db: usize, at: EntryId, field: &[u8]) -> bool {
        let number = self.marking.last + 1;
        let is_marked = self.marking.by_itself
            && is_thread(field)
            && self.databases[db].mark_sole_field(at.0, mark_of_thread(number));
        if is_marked {
            self.marking.last = number;
        }
        is_marked
    }

    /// A key of this hash was removed by a command. Whether that was a script that names the thread that had it, so
    /// that the subscriber need not be told.
    #[inline(always)]
    pub(super) fn take_from_thread(
        &mut self,
        (db, hash): (usize, u64),
        removed: &Removed,
        actor: &Actor<'_>,
    ) -> bool {
        let is_given_back = self.marking.by_itself
            && removed.mark.is_some_and(is_of_thread)
            && matches!(&removed.entry.value, Value::Hash(fields)
                if fields.first_field().is_some_and(|thread| actor.names_thread(thread)));
        if is_given_back {
            self.marking.given_back.remember(db, hash);
        }
        is_given_back
    }
}

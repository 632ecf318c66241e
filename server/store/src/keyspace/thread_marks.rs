//! Marks that the keyspace makes and takes by itself, for the subscriber whose they are, while that has nobody to tell
//! of them.
//!
//! That a script takes a lock for a thread and gives it back is what happens to marked keys most: a number, six bytes
//! and a hash are all that remains of it, and no call of the subscriber is needed for them.

use super::actor::Actor;
use super::change::EntryId;
use super::database::Removed;
use super::db_key::hash_of;
use super::effects;
use super::event::events;
use super::interests::Interests;
use super::keyspace::Keyspace;
use super::mark::{is_of_thread, is_thread, mark_of_thread};
use super::tx::{Tx, WrongType};
use super::typed::Typed;
use crate::values::{Encodings, Hash, Value};

/// Of which hash a field was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedField {
    /// The field is new; that is reported.
    New,
    /// Of one that a subscriber has marked.
    OfMarked,
    /// Of another one.
    OfOther,
}

impl Tx<'_> {
    /// Changes a field of the hash of a key, which is made when there is none. `change` tells whether the field is new;
    /// then it must not fail. O(1).
    ///
    /// That is how scripts take locks most: the hash is marked while it is in hand.
    ///
    /// # Errors
    /// The key has another type; what `change` returns.
    #[inline(always)]
    pub fn change_field<E: From<WrongType>>(
        &mut self,
        key: &[u8],
        field: &[u8],
        change: impl FnOnce(&mut Hash, &Encodings) -> Result<bool, E>,
    ) -> Result<ChangedField, E> {
        let hash = self.hash_to_write(key);
        let Keyspace { databases, encodings, hasher, effects, interests, accesses, marking, .. } =
            &mut *self.keyspace;
        let database = &mut databases[self.db];
        let mut is_made = false;
        let make = || {
            is_made = true;
            Hash::empty()
        };
        let (id, entry) = database.find_or_insert(hash, key, |key| hash_of(hasher, key), make, accesses);
        if is_made {
            effects::notify(effects, *interests, self.db, key, events::NEW);
        }
        let is_marked = entry.is_marked();
        let fields = Hash::of_mut(&mut entry.value).ok_or(WrongType)?;
        if !change(fields, encodings)? {
            return Ok(if is_marked { ChangedField::OfMarked } else { ChangedField::OfOther });
        }
        if interests.any(Interests::ADDED) {
            if marking.by_itself && is_thread(field) && fields.len() == 1 && !is_marked {
                entry.set_marked(true);
                database.keep_mark(id, mark_of_thread(marking.next_number()));
            } else {
                self.report_field_added(EntryId(id), key, field);
            }
        }
        Ok(ChangedField::New)
    }
}

impl Keyspace {
    /// A field has been added to the hash of this entry. Marks it, if the field is a thread's and the hash has no
    /// other; whether it has, so that the subscriber need not be told.
    #[inline(never)]
    pub(super) fn mark_for_thread(&mut self, db: usize, at: EntryId, field: &[u8]) -> bool {
        let is_marked = self.marking.by_itself
            && is_thread(field)
            && self.databases[db].mark_sole_field(at.0, mark_of_thread(self.marking.last + 1));
        self.marking.last += u64::from(is_marked);
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

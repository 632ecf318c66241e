//! Marks that the keyspace sets and takes by itself for their owner, while the owner has nobody to notify. Most changes
//! of marked keys are scripts that take a lock for a thread and give it back. They leave only a number, six bytes and a
//! hash.

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

/// The kind of hash whose field was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedField {
    /// The field is new; that is reported.
    New,
    /// The field existed, in a hash that a subscriber has marked.
    OfMarked,
    /// The field existed, in a hash without a mark.
    OfOther,
}

impl Tx<'_> {
    /// Changes a field of a key's hash, which is made if absent. `change` returns whether the field is new; then it
    /// must not fail. O(1). Most scripts take locks this way: the hash is marked while it is at hand.
    ///
    /// # Errors
    ///
    /// Returns an error if the key has another type, or if `change` fails.
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
    /// Marks the hash of an entry that has got a new field, if the field is a thread's and the only one. Returns
    /// whether it has: then the subscriber need not be notified.
    #[inline(never)]
    pub(super) fn mark_for_thread(&mut self, db: usize, at: EntryId, field: &[u8]) -> bool {
        let is_marked = self.marking.by_itself
            && is_thread(field)
            && self.databases[db].mark_sole_field(at.0, mark_of_thread(self.marking.last + 1));
        self.marking.last += u64::from(is_marked);
        is_marked
    }

    /// Handles the removal of a key of this hash by a command. Returns whether a script that names the holding thread
    /// removed it: then the subscriber need not be notified.
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

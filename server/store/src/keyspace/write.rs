//! Changes of keys by a transaction.

use super::access_clock::AccessClock;
use super::accesses::Accesses;
use super::change::{Cause, EntryId, What};
use super::database::Removed;
use super::db_key::hash_of;
use super::effects;
use super::event::events;
use super::interests::Interests;
use super::keyspace::Keyspace;
use super::rng::Rng;
use super::tx::{Tx, WrongType};
use super::typed::Typed;
use super::waiters::Signal;
use crate::values::{Encodings, Value};
use lockwheel_resp::allocation;
use std::cell::Cell;

/// A value to be changed, with the data that a change needs.
#[derive(Debug)]
pub struct Edit<'a, T> {
    /// The value.
    pub value: &'a mut T,
    /// The limits at which the value changes its encoding.
    pub encodings: &'a Encodings,
    /// The generator of random choices.
    pub rng: &'a mut Rng,
    /// The entry of the value.
    pub at: EntryId,
    /// Whether a subscriber has marked the entry. If so, removed fields must be reported by [`Tx::field_removed`].
    pub is_marked: bool,
}

impl Tx<'_> {
    /// The value, to be changed as a `T`. Returns `None` if there is no such key. O(1).
    pub fn write<T: Typed>(&mut self, key: &[u8]) -> Result<Option<Edit<'_, T>>, WrongType> {
        let hash = self.hash_to_write(key);
        let Keyspace { databases, encodings, rng, accesses, .. } = &mut *self.keyspace;
        match databases[self.db].find_mut(hash, key) {
            None => Ok(None),
            Some((id, entry)) => {
                accesses.note(entry.clock());
                let (at, is_marked) = (EntryId(id), entry.is_marked());
                match T::of_mut(&mut entry.value) {
                    None => Err(WrongType),
                    Some(value) => Ok(Some(Edit { value, encodings, rng, at, is_marked })),
                }
            }
        }
    }

    /// The value, to be changed as a `T`; an empty one if there is no such key. O(1). The caller adds an element, or
    /// removes the key again: a key never holds an empty collection.
    pub fn write_or_new<T: Typed>(&mut self, key: &[u8]) -> Result<Edit<'_, T>, WrongType> {
        let hash = self.hash_to_write(key);
        let Keyspace { databases, encodings, rng, hasher, effects, interests, accesses, .. } =
            &mut *self.keyspace;
        let mut new = false;
        let make = || {
            new = true;
            T::empty()
        };
        let (id, entry) =
            databases[self.db].find_or_insert(hash, key, |key| hash_of(hasher, key), make, accesses);
        if new {
            effects::notify(effects, *interests, self.db, key, events::NEW);
        }
        let (at, is_marked) = (EntryId(id), entry.is_marked());
        match T::of_mut(&mut entry.value) {
            None => Err(WrongType),
            Some(value) => Ok(Edit { value, encodings, rng, at, is_marked }),
        }
    }

    /// Sets the key to `value`, replacing any value. Removes the deadline unless `keep_deadline`. O(1).
    pub fn set(&mut self, key: &[u8], value: Value, keep_deadline: bool) -> EntryId {
        let hash = self.hash_to_write(key);
        let Keyspace { databases, hasher, interests, accesses, .. } = &mut *self.keyspace;
        let rehash = |key: &[u8]| hash_of(hasher, key);
        let (id, before) = databases[self.db].set(hash, key, rehash, value, keep_deadline, accesses);
        let at = EntryId(id);
        match before {
            Some((before, is_marked)) => {
                if is_marked || interests.any(Interests::VALUES) {
                    self.replaced(at, key, &before);
                }
                self.keyspace.garbage.add(before);
            }
            None => self.notify(key, events::NEW),
        }
        at
    }

    /// Removes the key without reporting it; returns its value and deadline (wall milliseconds). O(1).
    pub fn take(&mut self, key: &[u8]) -> Option<(Value, Option<i64>)> {
        let removed = self.remove_apart(key)?;
        self.removed(key, &removed, Cause::Command);
        Some((removed.entry.value, removed.deadline.map(|(at, _)| at)))
    }

    #[inline(always)]
    fn remove(&mut self, hash: u64, key: &[u8]) -> Option<Removed> {
        let Keyspace { databases, hasher, .. } = &mut *self.keyspace;
        databases[self.db].remove(hash, key, |key| hash_of(hasher, key))
    }

    /// Removes the key, in a function of its own that is not inlined.
    #[inline(never)]
    fn remove_apart(&mut self, key: &[u8]) -> Option<Removed> {
        let hash = self.hash_to_write(key);
        self.remove(hash, key)
    }

    /// Removes the key, if it exists, to put another value in its place. Unwinds before that if memory for the key's
    /// name is short, since the name is copied again. O(1).
    fn make_room(&mut self, key: &[u8]) {
        allocation::check_copies(key.len()).unwrap_or_else(|error| error.unwind());
        if let Some(removed) = self.remove_apart(key) {
            self.removed(key, &removed, Cause::Overwrite);
            self.keyspace.garbage.add(removed.entry.value);
        }
    }

    /// Gives a key's value, deadline and access clock to another, replacing any value there, with the events. Returns
    /// whether the first existed. O(1). The other counts as new, as in Redis.
    pub fn rename(&mut self, from: &[u8], to: &[u8]) -> bool {
        let Some(Removed { entry, deadline, mark }) = self.remove_apart(from) else { return false };
        self.make_room(to);
        let clock = entry.clock().get();
        let at = self.set(to, entry.value, false);
        self.set_access_clock(at, clock);
        self.note_fields(at);
        if let Some((deadline, _)) = deadline {
            self.set_deadline(to, deadline);
        }
        self.copied((at, to), (self.db, from), mark, true);
        self.changed(from, events::RENAME_FROM);
        self.changed(to, events::RENAME_TO);
        true
    }

    /// Gives a copy of a key's value and its deadline to another key, of database `to_db`, replacing any value there,
    /// with the event. Returns whether the first key existed. O(the value).
    pub fn copy(&mut self, from: &[u8], to_db: usize, to: &[u8]) -> bool {
        self.expire_then_hash(from);
        let Some(value) = self.peek(from).cloned() else { return false };
        let (deadline, mark) = (self.deadline(from), self.marked(from).map(|(_, mark)| mark));
        let from_db = std::mem::replace(&mut self.db, to_db);
        self.make_room(to);
        let at = self.set(to, value, false);
        self.note_fields(at);
        if let Some(deadline) = deadline {
            self.set_deadline(to, deadline);
        }
        self.copied((at, to), (from_db, from), mark, false);
        self.changed(to, events::COPY_TO);
        self.db = from_db;
        true
    }

    /// Makes a key with a value of another server, replacing any, with the event. O(1). It counts as new, as in Redis.
    pub fn restore(&mut self, key: &[u8], mut value: Value, deadline_ms: Option<i64>) -> EntryId {
        if let Value::Hash(hash) = &mut value {
            hash.date_deadlines(self.keyspace.next_order().number());
        }
        let at = self.put(key, value, deadline_ms);
        self.restored(at, key, None);
        self.changed(key, events::RESTORE);
        at
    }

    /// Makes a key with a value from a file, without an event.
    pub fn load(&mut self, key: &[u8], value: Value, deadline_ms: Option<i64>) -> EntryId {
        let at = self.put(key, value, deadline_ms);
        self.restored(at, key, None);
        at
    }

    /// Makes a key with a value, without reporting that it exists.
    pub(super) fn put(&mut self, key: &[u8], value: Value, deadline_ms: Option<i64>) -> EntryId {
        self.make_room(key);
        let at = self.set(key, value, false);
        self.note_fields(at);
        if let Some(deadline_ms) = deadline_ms {
            self.set_deadline(key, deadline_ms);
        }
        at
    }

    /// Sets the access clock of an entry.
    pub fn set_access_clock(&mut self, at: EntryId, clock: AccessClock) {
        self.database().entry(at.0).clock().set(clock);
    }

    /// Replaces a value by an equal one that `build` makes, and notifies its watchers. Whether both existed.
    pub fn rebuild(&mut self, key: &[u8], build: impl FnOnce(&Value, &Encodings) -> Option<Value>) -> bool {
        let hash = self.expire_then_hash(key);
        let Keyspace { databases, encodings, .. } = &mut *self.keyspace;
        let Some((_, entry)) = databases[self.db].find_mut(hash, key) else { return false };
        let built = build(&entry.value, encodings);
        let is_built = built.is_some();
        if let Some(value) = built {
            entry.value = value;
            self.keyspace.watches.changed(self.db, key);
        }
        is_built
    }

    /// Moves a key with its value, deadline and access clock to another database, which must not have it, with the
    /// events. Returns whether the key existed. O(1).
    pub fn move_to(&mut self, to_db: usize, key: &[u8]) -> bool {
        let Some(Removed { entry, deadline, mark }) = self.remove_apart(key) else { return false };
        let from_db = std::mem::replace(&mut self.db, to_db);
        let clock = entry.clock().get();
        let at = self.set(key, entry.value, false);
        self.set_access_clock(at, clock);
        self.note_fields(at);
        if let Some((deadline, _)) = deadline {
            self.set_deadline(key, deadline);
        }
        self.copied((at, key), (from_db, key), mark, true);
        self.db = from_db;
        self.changed(key, events::MOVE_FROM);
        self.db = to_db;
        self.changed(key, events::MOVE_TO);
        self.db = from_db;
        true
    }

    /// Removes the key without its event; returns whether it existed. O(1): a large value is freed later.
    pub fn discard(&mut self, key: &[u8]) -> bool {
        let hash = self.hash_to_write(key);
        let Some(removed) = self.remove(hash, key) else { return false };
        self.removed_by_command(hash, key, &removed);
        self.keyspace.garbage.add(removed.entry.value);
        true
    }

    /// Frees a taken value that is no longer needed; a large one later. O(1).
    pub fn free_later(&mut self, value: Value) {
        self.keyspace.garbage.add(value);
    }

    /// Removes the key, with its `del` event; returns whether it existed. O(1): a large value is freed later.
    pub fn delete(&mut self, key: &[u8]) -> bool {
        let there = self.discard(key);
        if there {
            self.changed(key, events::DEL);
        }
        there
    }

    /// Removes the key, with its `del` event, if a change has left its value empty.
    pub fn delete_if_empty(&mut self, key: &[u8]) -> bool {
        self.peek(key).is_some_and(Value::is_empty) && self.delete(key)
    }

    /// Sets the deadline of a key, in wall milliseconds; returns whether the key exists. A key with a deadline in the
    /// past is due when the command ends. A command that wants the key gone at once deletes it. O(1).
    pub fn set_deadline(&mut self, key: &[u8], deadline_ms: i64) -> bool {
        self.put_deadline(key, deadline_ms, |_, _| ())
    }

    /// Sets the deadline of a key, for a command that accesses the key by that alone. O(1).
    pub fn expire_at(&mut self, key: &[u8], deadline_ms: i64) -> bool {
        self.put_deadline(key, deadline_ms, Accesses::note)
    }

    #[inline(always)]
    fn put_deadline(
        &mut self,
        key: &[u8],
        deadline_ms: i64,
        note: impl FnOnce(&mut Accesses, &Cell<AccessClock>),
    ) -> bool {
        let hash = self.hash_to_write(key);
        let order = self.keyspace.next_order();
        let Keyspace { databases, overdue, timed, accesses, .. } = &mut *self.keyspace;
        let found = databases[self.db].set_deadline(hash, key, deadline_ms, order);
        let Some(entry) = found else { return false };
        note(accesses, entry.clock());
        *overdue |= deadline_ms <= self.now.wall_ms();
        *timed = (*timed).max(self.db + 1);
        if entry.is_marked() && matches!(entry.value, Value::Str(_)) {
            self.redated(key);
        }
        true
    }

    /// Removes the deadline of a key; returns whether it had one. O(1).
    pub fn clear_deadline(&mut self, key: &[u8]) -> bool {
        let hash = self.hash_to_write(key);
        self.keyspace.databases[self.db].clear_deadline(hash, key)
    }

    /// Exchanges the keys of two databases, without events. Clients stay. Watchers of a key that either has see it
    /// changed; waiters are retried. O(keys watched or waited for, and the subscribers' data on either).
    pub fn swap(&mut self, one: usize, other: usize) {
        let keyspace = &mut *self.keyspace;
        keyspace.counters.dirty += 1;
        if one == other {
            return;
        }
        if keyspace.keeper.is_some() {
            self.keep_all(&[one, other], false);
        }
        self.expire_watched(&[one, other]);
        let keyspace = &mut *self.keyspace;
        for db in [one, other] {
            for key in keyspace.watches.keys(db) {
                let hash = hash_of(&keyspace.hasher, &key);
                let has_it = |db: usize| {
                    keyspace.databases[db].find_live(hash, &key, keyspace.expiry_backlog).is_some()
                };
                if has_it(one) || has_it(other) {
                    keyspace.watches.changed(db, &key);
                }
            }
        }
        self.exchanging(one, &What::Leaving { to: other });
        self.exchanging(other, &What::Leaving { to: one });
        let keyspace = &mut *self.keyspace;
        keyspace.databases.swap(one, other);
        keyspace.unchanged.clear();
        if keyspace.timed > one.min(other) {
            keyspace.timed = keyspace.timed.max(one.max(other) + 1);
        }
        if keyspace.fields_timed > one.min(other) {
            keyspace.fields_timed = keyspace.fields_timed.max(one.max(other) + 1);
        }
        keyspace.key_timers.swap_leases(one, other);
        keyspace.marking.given_back.clear();
        self.swapped(one, other);
        self.exchanging(one, &What::Arrived { from: other });
        self.exchanging(other, &What::Arrived { from: one });
        let keyspace = &mut *self.keyspace;
        for db in [one, other] {
            keyspace
                .waiters
                .keys_of(db)
                .iter()
                .for_each(|key| keyspace.waiters.signal(db, key, Signal::Changed));
        }
    }

    /// Removes the due keys of the backlog in these databases that are watched in one of them. Otherwise a watcher
    /// would take their end for a change after the exchange.
    fn expire_watched(&mut self, databases: &[usize]) {
        if !self.keyspace.has_expiry_backlog() {
            return;
        }
        let watched: Vec<_> = databases.iter().flat_map(|db| self.keyspace.watches.keys(*db)).collect();
        for (db, key) in databases.iter().flat_map(|db| watched.iter().map(move |key| (*db, key))) {
            self.keyspace.expire_if_due(db, key, self.now);
        }
    }

    /// Removes all keys of the database, without events, including due keys of the backlog. Returns the number of keys
    /// that were not due. The keys are freed later: O(keys that are watched or waited for).
    pub fn flush(&mut self) -> usize {
        self.flush_one(false)
    }

    /// Removes all keys of all databases. O(databases, keys that are watched or waited for).
    pub fn flush_all(&mut self) {
        let home = self.db;
        for db in 0..self.databases() {
            self.db = db;
            self.flush_one(db > 0);
        }
        self.db = home;
        if self.keyspace.flush_saves {
            // Redis writes a file without keys. Here save points write nothing.
            self.keyspace.counters.dirty = 0;
        }
    }

    fn flush_one(&mut self, is_rest: bool) -> usize {
        if self.keyspace.keeper.is_some() {
            self.keep_all(&[self.db], true);
        }
        let Keyspace { databases, watches, waiters, unchanged, hasher, expiry_backlog, .. } =
            &mut *self.keyspace;
        let gone = databases[self.db].take();
        unchanged.clear();
        let count = gone.len() - gone.count_due(*expiry_backlog);
        for key in watches.keys(self.db) {
            if gone.find(hash_of(hasher, &key), &key).is_some() {
                watches.changed(self.db, &key);
            }
        }
        let waited_for = waiters.keys_of(self.db);
        self.flushed(&gone, &waited_for, is_rest);
        let keyspace = &mut *self.keyspace;
        for key in &waited_for {
            // Keys that a file loads after the flush do not serve waiters on absent keys: as in Redis, commands do.
            let was_there = gone.find(hash_of(&keyspace.hasher, key), key).is_some();
            if was_there || keyspace.waiters.waits_for_absent(self.db, key) {
                keyspace.waiters.signal(self.db, key, Signal::Changed);
            }
        }
        keyspace.counters.dirty += count as u64;
        keyspace.garbage.add_database(gone);
        count
    }
}

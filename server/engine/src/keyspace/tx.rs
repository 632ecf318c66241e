//! The transaction: the only way to keys.

use super::actor::Actor;
use super::database::{Database, Removed};
use super::effects::Effect;
use super::entry::Entry;
use super::event::{Event, EventClasses, events};
use super::holds::EndCause;
use super::observe::End;
use super::rng::Rng;
use super::typed::Typed;
use super::waiters::{Waiter, WaiterId};
use super::{Keyspace, hash_of};
use crate::time::Now;
use crate::values::{Encodings, Value};
use std::collections::VecDeque;

/// The key holds another kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongType;

/// The number of a key's entry, as long as the key is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryId(pub(super) u32);

/// A value to be changed, with what changing it takes.
#[derive(Debug)]
pub struct Edit<'a, T> {
    /// The value.
    pub value: &'a mut T,
    /// The limits at which it changes its encoding.
    pub encodings: &'a Encodings,
    /// Random choices.
    pub rng: &'a mut Rng,
    /// The entry whose value it is.
    pub at: EntryId,
    /// Whether it is a lock that somebody was seen to take: who leaves it is to be told by [`Tx::end_hold`].
    pub is_lock: bool,
}

/// One command's view of one database at one instant.
///
/// Keys that are due are gone before a transaction begins, so what it finds is live. A handler changes values through
/// it and then says what happened by [`Tx::changed`]; everything that others must learn follows from that call.
#[derive(Debug)]
pub struct Tx<'a> {
    pub(super) keyspace: &'a mut Keyspace,
    pub(super) db: usize,
    pub(super) now: Now,
    pub(super) actor: Actor<'a>,
}

/// Adds an event to the effects, if its class is published.
#[inline(always)]
fn tell(effects: &mut VecDeque<Effect>, published: EventClasses, db: usize, key: &[u8], event: Event) {
    if published.wants(event.class) {
        push_event(effects, db, key, event);
    }
}

#[inline(never)]
fn push_event(effects: &mut VecDeque<Effect>, db: usize, key: &[u8], event: Event) {
    effects.push_back(Effect::Notify { db, event, key: key.into() });
}

impl<'a> Tx<'a> {
    pub(super) fn new(keyspace: &'a mut Keyspace, db: usize, now: Now) -> Self {
        Tx { keyspace, db, now, actor: Actor::default() }
    }

    /// The same, of this actor: what ends holds is put down to it.
    #[inline]
    pub fn by(mut self, actor: Actor<'a>) -> Self {
        self.actor = actor;
        self
    }

    /// The number of the database.
    pub fn db(&self) -> usize {
        self.db
    }

    /// Goes on in another database, which must exist.
    pub fn select(&mut self, db: usize) {
        assert!(db < self.keyspace.databases.len(), "the command has checked the number of the database");
        self.db = db;
    }

    /// How many databases there are.
    pub fn databases(&self) -> usize {
        self.keyspace.databases.len()
    }

    /// The instant: one and the same from the start of a command or script to its end.
    pub fn now(&self) -> Now {
        self.now
    }

    /// The limits at which values change their encoding.
    pub fn encodings(&self) -> &Encodings {
        &self.keyspace.encodings
    }

    /// The longest string value, in bytes.
    pub fn max_string(&self) -> usize {
        self.keyspace.max_string
    }

    /// Random choices, from the engine's seed.
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.keyspace.rng
    }

    fn hash(&self, key: &[u8]) -> u64 {
        hash_of(&self.keyspace.hasher, key)
    }

    /// The hash of a key that is to be looked up; when it is due and was left for later, it goes before.
    #[inline]
    fn expire_then_hash(&mut self, key: &[u8]) -> u64 {
        if self.keyspace.expiry_backlog.is_some() {
            self.keyspace.expire_if_due(self.db, key, self.now);
        }
        self.hash(key)
    }

    fn database(&self) -> &Database {
        &self.keyspace.databases[self.db]
    }

    fn entry(&self, key: &[u8]) -> Option<&Entry> {
        let hash = self.hash(key);
        let found = self.database().find(hash, key)?;
        let due = |until| self.database().deadline(hash, key).is_some_and(|deadline| deadline <= until);
        (!self.keyspace.expiry_backlog.is_some_and(due)).then_some(found)
    }

    /// Whether the key exists. O(1).
    pub fn exists(&self, key: &[u8]) -> bool {
        self.entry(key).is_some()
    }

    /// The value, without counting a hit or a miss. O(1).
    pub fn peek(&self, key: &[u8]) -> Option<&Value> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The value of a key that a command reads; a miss is told by its event. O(1).
    pub fn get(&mut self, key: &[u8]) -> Option<&Value> {
        let hash = self.expire_then_hash(key);
        let Keyspace { databases, counters, effects, notify, .. } = &mut *self.keyspace;
        let found = databases[self.db].find(hash, key);
        match found {
            Some(_) => counters.keyspace_hits += 1,
            None => {
                counters.keyspace_misses += 1;
                tell(effects, *notify, self.db, key, events::KEYMISS);
            }
        }
        found.map(|entry| &entry.value)
    }

    /// The value to be read as a `T`; `None` when there is no such key. O(1).
    pub fn read<T: Typed>(&mut self, key: &[u8]) -> Result<Option<&T>, WrongType> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => T::of(value).map(Some).ok_or(WrongType),
        }
    }

    /// The values of several keys to be read as `T`s; `None` where there is no such key: a miss is told by its event,
    /// up to the first key that is no `T`. O(keys).
    pub fn read_all<T: Typed>(&mut self, keys: &[&[u8]]) -> Result<Vec<Option<&T>>, WrongType> {
        if self.keyspace.expiry_backlog.is_some() {
            keys.iter().for_each(|key| self.keyspace.expire_if_due(self.db, key, self.now));
        }
        let Keyspace { databases, hasher, counters, effects, notify, .. } = &mut *self.keyspace;
        let (database, db) = (&databases[self.db], self.db);
        let read = |key: &&[u8]| match database.find(hash_of(hasher, key), key) {
            None => {
                counters.keyspace_misses += 1;
                tell(effects, *notify, db, key, events::KEYMISS);
                Ok(None)
            }
            Some(entry) => {
                counters.keyspace_hits += 1;
                T::of(&entry.value).map(Some).ok_or(WrongType)
            }
        };
        keys.iter().map(read).collect()
    }

    /// The value to be changed as a `T`; `None` when there is no such key. O(1).
    pub fn write<T: Typed>(&mut self, key: &[u8]) -> Result<Option<Edit<'_, T>>, WrongType> {
        let hash = self.expire_then_hash(key);
        let Keyspace { databases, encodings, rng, .. } = &mut *self.keyspace;
        match databases[self.db].find_mut(hash, key) {
            None => Ok(None),
            Some((id, entry)) => {
                let (at, is_lock) = (EntryId(id), entry.is_lock());
                match T::of_mut(&mut entry.value) {
                    None => Err(WrongType),
                    Some(value) => Ok(Some(Edit { value, encodings, rng, at, is_lock })),
                }
            }
        }
    }

    /// The value to be changed as a `T`, made empty when there is no such key. O(1).
    ///
    /// The caller puts something in, or takes the key away again: a key never holds an empty collection.
    pub fn write_or_new<T: Typed>(&mut self, key: &[u8]) -> Result<Edit<'_, T>, WrongType> {
        let hash = self.expire_then_hash(key);
        let Keyspace { databases, encodings, rng, hasher, effects, notify, .. } = &mut *self.keyspace;
        let mut new = false;
        let make = || {
            new = true;
            T::empty()
        };
        let (id, entry) = databases[self.db].find_or_insert(hash, key, |key| hash_of(hasher, key), make);
        if new {
            tell(effects, *notify, self.db, key, events::NEW);
        }
        let (at, is_lock) = (EntryId(id), entry.is_lock());
        match T::of_mut(&mut entry.value) {
            None => Err(WrongType),
            Some(value) => Ok(Edit { value, encodings, rng, at, is_lock }),
        }
    }

    /// Sets the key to `value`, whatever it held, and without a deadline unless `keep_deadline`. O(1).
    pub fn set(&mut self, key: &[u8], value: Value, keep_deadline: bool) -> EntryId {
        let hash = self.expire_then_hash(key);
        let Keyspace { databases, hasher, waiters, .. } = &mut *self.keyspace;
        let (id, old) = databases[self.db].set(hash, key, |key| hash_of(hasher, key), value, keep_deadline);
        match old {
            Some((old, is_lock)) => {
                if is_lock || waiters.keys() > 0 {
                    self.overwritten(EntryId(id), key, &old);
                }
                self.keyspace.garbage.add(old);
            }
            None => self.notify(key, events::NEW),
        }
        EntryId(id)
    }

    /// Takes the key away without saying so; its value and deadline (wall milliseconds). O(1).
    pub fn take(&mut self, key: &[u8]) -> Option<(Value, Option<i64>)> {
        let hash = self.expire_then_hash(key);
        let Keyspace { databases, hasher, .. } = &mut *self.keyspace;
        let removed = databases[self.db].remove(hash, key, |key| hash_of(hasher, key))?;
        let Removed { entry, deadline, grant } = removed;
        self.keyspace.gone(self.db, key, &entry.value, grant, End::By(self.actor), self.now);
        Some((entry.value, deadline.map(|(at, _)| at)))
    }

    /// Takes the key away, if it is there, to put another value there. O(1).
    pub fn make_room(&mut self, key: &[u8]) {
        let hash = self.expire_then_hash(key);
        let Keyspace { databases, hasher, .. } = &mut *self.keyspace;
        let Some(removed) = databases[self.db].remove(hash, key, |key| hash_of(hasher, key)) else { return };
        let Removed { entry, grant, .. } = removed;
        let end = End::Of(EndCause::Overwritten);
        self.keyspace.gone(self.db, key, &entry.value, grant, end, self.now);
        self.keyspace.garbage.add(entry.value);
    }

    /// Takes the key away without saying so; whether it was there. O(1): a large value is freed later.
    pub fn discard(&mut self, key: &[u8]) -> bool {
        let Some((value, _)) = self.take(key) else { return false };
        self.free_later(value);
        true
    }

    /// A value that was taken is not needed any more: a large one is freed later. O(1).
    pub fn free_later(&mut self, value: Value) {
        self.keyspace.garbage.add(value);
    }

    /// Takes the key away, with its `del` event; whether it was there. O(1): a large value is freed later.
    pub fn delete(&mut self, key: &[u8]) -> bool {
        let there = self.discard(key);
        if there {
            self.changed(key, events::DEL);
        }
        there
    }

    /// Takes the key away, with its `del` event, when a change has left its value empty.
    pub fn delete_if_empty(&mut self, key: &[u8]) -> bool {
        self.peek(key).is_some_and(Value::is_empty) && self.delete(key)
    }

    /// The deadline of a key, in wall milliseconds since the epoch. O(1).
    pub fn deadline(&self, key: &[u8]) -> Option<i64> {
        let deadline = self.database().deadline(self.hash(key), key)?;
        self.keyspace.expiry_backlog.is_none_or(|until| deadline > until).then_some(deadline)
    }

    /// Sets the deadline of a key, in wall milliseconds; in the past it is due at once, when the command ends (a
    /// command that wants it gone now deletes it). Whether there is such a key. O(1).
    pub fn set_deadline(&mut self, key: &[u8], deadline_ms: i64) -> bool {
        let hash = self.expire_then_hash(key);
        let order = self.keyspace.next_order();
        let Keyspace { databases, overdue, timed, .. } = &mut *self.keyspace;
        let found = databases[self.db].set_deadline(hash, key, deadline_ms, order);
        if found {
            *overdue |= deadline_ms <= self.now.wall_ms();
            *timed = (*timed).max(self.db + 1);
        }
        found
    }

    /// Takes the deadline off a key; whether it had one. O(1).
    pub fn clear_deadline(&mut self, key: &[u8]) -> bool {
        let hash = self.expire_then_hash(key);
        self.keyspace.databases[self.db].clear_deadline(hash, key)
    }

    /// Says that the key has changed: breaks transactions that watch it, wakes who waits for it, tells the event.
    pub fn changed(&mut self, key: &[u8], event: Event) {
        self.touched(key);
        self.notify(key, event);
    }

    /// Says that the key has changed, without an event.
    pub fn touched(&mut self, key: &[u8]) {
        let keyspace = &mut *self.keyspace;
        keyspace.counters.dirty += 1;
        keyspace.watches.changed(self.db, key);
        keyspace.waiters.signal(self.db, key);
    }

    /// Tells an event without saying that the key has changed.
    pub fn notify(&mut self, key: &[u8], event: Event) {
        tell(&mut self.keyspace.effects, self.keyspace.notify, self.db, key, event);
    }

    /// Whether anybody listens to any channel.
    pub fn has_audience(&self) -> bool {
        self.keyspace.audience
    }

    /// Sends a message to a channel when the command ends.
    pub fn publish(&mut self, channel: &[u8], message: &[u8]) {
        self.keyspace.effects.push_back(Effect::Publish { channel: channel.into(), message: message.into() });
    }

    /// The number of keys. O(1), but O(keys with a deadline) while some that are due are left for later.
    pub fn len(&self) -> usize {
        self.database().len() - self.database().count_due(self.keyspace.expiry_backlog)
    }

    /// Whether the database is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All keys with their values, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &Value)> {
        self.database().entries(self.keyspace.expiry_backlog).map(|entry| (entry.key(), &entry.value))
    }

    /// Visits at least `count` keys (fewer only at the end) from `cursor` on; the cursor to go on from, 0 at the end.
    ///
    /// Every key that is there from a scan's start to its end is visited. O(count + keys / 1024).
    pub fn scan<'k>(&'k self, cursor: u64, count: usize, visit: &mut dyn FnMut(&'k [u8], &'k Value)) -> u64 {
        let hasher = &self.keyspace.hasher;
        self.database().scan(
            cursor,
            count,
            self.keyspace.expiry_backlog,
            |key| hash_of(hasher, key),
            &mut |entry| {
                visit(entry.key(), &entry.value);
            },
        )
    }

    /// A random key.
    pub fn random_key(&mut self) -> Option<Box<[u8]>> {
        let Keyspace { databases, rng, expiry_backlog, .. } = &mut *self.keyspace;
        databases[self.db].random_live(rng, *expiry_backlog).map(|entry| entry.key().into())
    }

    /// Takes all keys of the database away, without events, also of those that are due and left for later; how many
    /// there were. The keys are freed later:
    /// O(keys that are watched or waited for).
    pub fn flush(&mut self) -> usize {
        let keyspace = &mut *self.keyspace;
        for key in keyspace.watches.keys(self.db) {
            let hash = hash_of(&keyspace.hasher, &key);
            if keyspace.databases[self.db].find(hash, &key).is_some() {
                keyspace.watches.changed(self.db, &key);
            }
        }
        let gone = keyspace.databases[self.db].take();
        let count = gone.len() - gone.count_due(keyspace.expiry_backlog);
        let waited_for = keyspace.waiters.keys_of(self.db);
        self.flushed(&gone, &waited_for);
        let keyspace = &mut *self.keyspace;
        waited_for.iter().for_each(|key| keyspace.waiters.signal(self.db, key));
        keyspace.counters.dirty += count as u64;
        keyspace.garbage.add_database(gone);
        count
    }

    /// The clients that wait for a key, in order of arrival.
    pub fn waiting(&self, key: &[u8]) -> impl Iterator<Item = &Waiter> {
        self.keyspace.waiters.queue(self.db, key).map(|(_, waiter)| waiter)
    }

    /// The names that clients wait for a key under, in no particular order, and how many there are.
    pub fn names_waiting(&self, key: &[u8]) -> impl ExactSizeIterator<Item = &[u8]> {
        self.keyspace.waiters.labels(self.db, key)
    }

    /// Who waits for a key under this name, each with its arrival, in that order.
    pub fn waiting_as(&self, key: &[u8], name: &[u8]) -> impl Iterator<Item = (u64, WaiterId)> {
        self.keyspace.waiters.labelled(self.db, key, name)
    }
}

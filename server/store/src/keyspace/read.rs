//! Reading of keys by a transaction.

use super::access_clock::AccessClock;
use super::accesses::Accesses;
use super::db_key::hash_of;
use super::effects;
use super::entry::Entry;
use super::event::events;
use super::keyspace::Keyspace;
use super::mark::Mark;
use super::tx::{Tx, WrongType};
use super::typed::Typed;
use crate::values::Value;

impl Tx<'_> {
    fn entry(&self, key: &[u8]) -> Option<&Entry> {
        self.database().find_live(self.hash(key), key, self.keyspace.expiry_backlog)
    }

    /// Whether the key exists, without accessing it. O(1).
    pub fn exists(&self, key: &[u8]) -> bool {
        self.entry(key).is_some()
    }

    /// The value. Neither accesses the key nor counts a hit or a miss. O(1).
    pub fn peek(&self, key: &[u8]) -> Option<&Value> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// Bytes of memory of the key and its value: the entry and its heap memory. O(1).
    pub fn memory(&self, key: &[u8]) -> Option<usize> {
        let entry = self.entry(key)?;
        Some(size_of::<Entry>() + entry.key_bytes() + entry.value.heap_bytes())
    }

    /// Accesses a key, as a command does that looks it up to change it; returns whether it exists. O(1).
    pub fn access(&mut self, key: &[u8]) -> bool {
        let hash = self.expire_then_hash(key);
        let Keyspace { databases, accesses, .. } = &mut *self.keyspace;
        let found = databases[self.db].find(hash, key);
        found.is_some_and(|entry| {
            accesses.note(entry.clock());
            true
        })
    }

    /// Accesses a key even if the client's accesses are ignored, as TOUCH does; returns whether it exists. O(1).
    pub fn touch(&mut self, key: &[u8]) -> bool {
        let ignored = self.keyspace.ignore_accesses(false);
        let found = self.get(key).is_some();
        self.keyspace.ignore_accesses(ignored);
        found
    }

    /// The access clock of a key. O(1).
    pub fn access_clock(&self, key: &[u8]) -> Option<AccessClock> {
        self.entry(key).map(|entry| entry.clock().get())
    }

    /// The value of a key that a command reads, which is an access. A miss emits `keymiss`. O(1).
    pub fn get(&mut self, key: &[u8]) -> Option<&Value> {
        self.look_up(key, |accesses, entry| accesses.note(entry.clock()))
    }

    /// The value of a key that a command inspects without accessing the key. A miss emits `keymiss`. O(1).
    pub fn inspect(&mut self, key: &[u8]) -> Option<&Value> {
        self.look_up(key, |_, _| {})
    }

    /// The value of a key, counted as a hit or a miss; `see` is called with the entry when it is found.
    #[inline(always)]
    fn look_up(&mut self, key: &[u8], see: impl Fn(&mut Accesses, &Entry)) -> Option<&Value> {
        let hash = self.expire_then_hash(key);
        let Keyspace { databases, counters, effects, interests, accesses, .. } = &mut *self.keyspace;
        let found = databases[self.db].find_and(hash, key, |entry| see(accesses, entry));
        match found {
            Some(_) => counters.keyspace_hits += 1,
            None => {
                counters.keyspace_misses += 1;
                effects::notify(effects, *interests, self.db, key, events::KEYMISS);
            }
        }
        found.map(|entry| &entry.value)
    }

    /// The value, to be read as a `T`. Returns `None` if there is no such key. O(1).
    pub fn read<T: Typed>(&mut self, key: &[u8]) -> Result<Option<&T>, WrongType> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => T::of(value).map(Some).ok_or(WrongType),
        }
    }

    /// The values of several keys, to be read as `T`s; `None` for an absent key. Each miss before the first key of
    /// another type emits `keymiss`. O(keys).
    pub fn read_all<T: Typed>(&mut self, keys: &[&[u8]]) -> Result<Vec<Option<&T>>, WrongType> {
        self.read_each(keys, T::of)
    }

    /// The values of several keys, read by `of`, which returns `None` for a value of the wrong type. O(keys).
    pub fn read_each<'s, V>(
        &'s mut self,
        keys: &[&[u8]],
        of: impl Fn(&'s Value) -> Option<V>,
    ) -> Result<Vec<Option<V>>, WrongType> {
        if self.keyspace.expiry_backlog.is_some() {
            keys.iter().for_each(|key| self.keyspace.expire_if_due(self.db, key, self.now));
        }
        let Keyspace { databases, hasher, counters, effects, interests, accesses, expiry_backlog, .. } =
            &mut *self.keyspace;
        let (database, db) = (&databases[self.db], self.db);
        let read = |key: &&[u8]| match database.find_live(hash_of(hasher, key), key, *expiry_backlog) {
            None => {
                counters.keyspace_misses += 1;
                effects::notify(effects, *interests, db, key, events::KEYMISS);
                Ok(None)
            }
            Some(entry) => {
                counters.keyspace_hits += 1;
                accesses.note(entry.clock());
                of(&entry.value).map(Some).ok_or(WrongType)
            }
        };
        keys.iter().map(read).collect()
    }

    /// The value and the mark of a key, if a subscriber has marked it. O(1).
    pub fn marked(&self, key: &[u8]) -> Option<(&Value, Mark)> {
        let database = self.database();
        let id = database.find_marked(self.hash(key), key)?;
        Some((&database.entry(id).value, database.mark(id)?))
    }

    /// The deadline of a key, in wall milliseconds since the epoch. O(1).
    pub fn deadline(&self, key: &[u8]) -> Option<i64> {
        let deadline = self.database().deadline(self.hash(key), key)?;
        self.keyspace.expiry_backlog.is_none_or(|until| deadline > until).then_some(deadline)
    }

    /// The number of keys. O(1), but O(keys with a deadline) while due keys are left in the backlog.
    pub fn len(&self) -> usize {
        let (database, until) = (self.database(), self.keyspace.expiry_backlog);
        database.len() - database.count_due(until) - database.count_over(until)
    }

    /// Whether the database is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All keys with their values, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &Value)> {
        self.database().entries(self.keyspace.expiry_backlog).map(|entry| (entry.key(), &entry.value))
    }

    /// Visits at least `count` keys (fewer only at the end) from `cursor` on; returns the next cursor, 0 at the end.
    /// Visits every key that exists throughout the scan. O(count + keys / 1024).
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
}

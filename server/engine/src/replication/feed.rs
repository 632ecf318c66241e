//! The changes of a command, script or transaction, collected for replicas until it ends.

use foldhash::quality::FixedState;
use lockwheel_resp::{allocation, write_request};
use lockwheel_store::keyspace::{Change, Context, Effect, Interests, Keyspace, Subscriber, What};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;
use std::num::NonZeroU64;

/// The maximum number of bytes around a word of a request.
pub(super) const WORD_FRAME: usize = 32;

/// A change of whole databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Structure {
    /// All keys of a database were deleted.
    Flushed(usize),
    /// All keys of all databases were deleted.
    AllFlushed,
    /// The keys of two databases were swapped.
    Swapped(usize, usize),
}

/// The database and the name of a key.
type Place = (usize, Box<[u8]>);

/// All changes of a command, script or transaction.
///
/// A replica gets the last state of each key. So the changes of whole databases come first, then the keys that have
/// changed since. Keys have the database numbers that hold at the end.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    /// The changes of whole databases, in order.
    pub(crate) structure: Vec<Structure>,
    /// The changed keys, each once, in the order of their first changes.
    pub(crate) keys: Vec<Place>,
    /// Requests that replicas run as they are: messages and function libraries.
    pub(crate) requests: Vec<Vec<u8>>,
    /// The sessions that have caused the changes.
    pub(crate) by: Vec<u64>,
    /// The changed keys with short names, as an index that is built once there are many keys.
    seen: BTreeSet<Place>,
    /// The positions in `keys` of keys with long names, by database and hash. Built once there are many keys.
    long: BTreeMap<(usize, u64), Vec<usize>>,
    /// Whether the name of a changed key found no memory, so that the change cannot be sent.
    pub(crate) is_incomplete: bool,
}

impl Unit {
    /// The maximum number of keys that are compared one by one.
    const FEW: usize = 8;
    /// The maximum length of a short name, in bytes. The index holds hashes of longer names, since copies would take
    /// too much memory.
    const LONG_NAME: usize = 64 << 10;

    /// Whether nothing has changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.structure.is_empty() && self.keys.is_empty() && self.requests.is_empty() && !self.is_incomplete
    }

    fn changed(&mut self, db: usize, key: &[u8]) {
        let is_it = |place: &Place| place.0 == db && *place.1 == *key;
        if self.keys.last().is_some_and(is_it) {
            return;
        }
        if self.keys.len() <= Unit::FEW {
            if !self.keys.iter().any(is_it) {
                self.add(db, key);
            }
            return;
        }
        if key.len() > Unit::LONG_NAME {
            return self.changed_long(db, key);
        }
        if self.seen.is_empty() {
            let short = self.keys.iter().filter(|(_, key)| key.len() <= Unit::LONG_NAME);
            self.seen.extend(short.cloned());
        }
        if self.seen.insert((db, key.into())) {
            self.keys.push((db, key.into()));
        }
    }

    /// Records a key with a long name. Names are compared if their hashes are equal.
    fn changed_long(&mut self, db: usize, key: &[u8]) {
        let hash = |key: &[u8]| FixedState::default().hash_one(key);
        if self.long.is_empty() {
            for (position, (db, key)) in self.keys.iter().enumerate() {
                if key.len() > Unit::LONG_NAME {
                    self.long.entry((*db, hash(key))).or_default().push(position);
                }
            }
        }
        let place = (db, hash(key));
        let is_it = |position: &usize| *self.keys[*position].1 == *key;
        if self.long.get(&place).is_some_and(|positions| positions.iter().any(is_it)) {
            return;
        }
        let position = self.keys.len();
        self.add(db, key);
        if self.keys.len() > position {
            self.long.entry(place).or_default().push(position);
        }
    }

    fn add(&mut self, db: usize, key: &[u8]) {
        match allocation::try_copy(key) {
            Ok(key) => self.keys.push((db, key)),
            Err(_) => self.is_incomplete = true,
        }
    }

    /// Forgets the indexes of the keys.
    fn forget_seen(&mut self) {
        self.seen.clear();
        self.long.clear();
    }

    fn flushed(&mut self, db: usize, is_rest: bool) {
        if is_rest {
            self.keys.clear();
            if let Some(last) = self.structure.last_mut() {
                *last = Structure::AllFlushed;
            }
        } else {
            self.keys.retain(|(of, _)| *of != db);
            self.structure.push(Structure::Flushed(db));
        }
        self.forget_seen();
    }

    fn swapped(&mut self, one: usize, other: usize) {
        for (db, _) in &mut self.keys {
            *db = match *db {
                db if db == one => other,
                db if db == other => one,
                db => db,
            };
        }
        self.forget_seen();
        self.structure.push(Structure::Swapped(one, other));
    }

    fn is_caused_by(&mut self, session: Option<NonZeroU64>) {
        let session = session.map_or(0, NonZeroU64::get);
        if session != 0 && self.by.last() != Some(&session) && !self.by.contains(&session) {
            self.by.push(session);
        }
    }
}

/// The collector of changes for replicas, active while there is a stream.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    is_on: bool,
    unit: Unit,
}

impl Feed {
    /// Takes the changes collected from a keyspace. `None`: none are collected.
    pub(crate) fn take_from(keyspace: &mut Keyspace) -> Option<Unit> {
        keyspace.subscriber_itself::<Feed>().map(Feed::take)
    }

    /// Restores the earlier collection and drops the changes since then, which replicas do not receive.
    pub(crate) fn put_back_into(keyspace: &mut Keyspace, before: Option<Unit>) {
        let feed = keyspace.subscriber_itself::<Feed>();
        feed.zip(before).into_iter().for_each(|(feed, before)| feed.unit = before);
    }

    /// Starts or stops collecting the changes of a keyspace.
    pub(crate) fn turn_on(keyspace: &mut Keyspace, is_on: bool) {
        match keyspace.subscriber_itself::<Feed>() {
            Some(feed) => feed.turn(is_on),
            None if is_on => {
                let mut feed = Feed::default();
                feed.turn(true);
                keyspace.subscribe(Box::new(feed));
            }
            None => return,
        }
        keyspace.renew_interests();
    }

    /// Adds a request of a session that replicas run as it is. Returns false if there is no memory for it.
    pub(crate) fn add_words(keyspace: &mut Keyspace, words: &[&[u8]], session: u64) -> bool {
        let written = allocation::contain(|| {
            let mut request = Vec::new();
            allocation::reserve(&mut request, words.iter().map(|word| word.len() + WORD_FRAME).sum());
            write_request(words, &mut request);
            request
        });
        let Ok(request) = written else { return false };
        let feed = keyspace.subscriber_itself::<Feed>();
        if feed.is_some_and(|feed| feed.add_request(request, session)) {
            keyspace.push_effect(Effect::ReplicationDue);
        }
        true
    }

    /// Starts or stops collecting. The caller must then call
    /// [`Keyspace::renew_interests`](lockwheel_store::keyspace::Keyspace).
    fn turn(&mut self, on: bool) {
        self.is_on = on;
        self.unit = Unit::default();
    }

    /// Adds a request of a session that replicas run as it is. Returns whether it is the first of its unit.
    fn add_request(&mut self, request: Vec<u8>, session: u64) -> bool {
        let is_first = self.unit.is_empty();
        self.unit.requests.push(request);
        self.unit.is_caused_by(NonZeroU64::new(session));
        is_first
    }

    /// Takes the collected changes.
    fn take(&mut self) -> Unit {
        std::mem::take(&mut self.unit)
    }
}

impl Subscriber for Feed {
    fn interests(&self) -> Interests {
        if self.is_on { Interests::EVERY_CHANGE.with(Interests::QUIET) } else { Interests::NONE }
    }

    fn changed(&mut self, change: &Change<'_>, context: &mut Context<'_>) {
        let was_empty = self.unit.is_empty();
        match change.what {
            What::Changed { .. } | What::ChangedQuietly => self.unit.changed(change.db, change.key),
            What::Flushed(flushed) => self.unit.flushed(change.db, flushed.is_rest),
            What::Swapped { one, other } => self.unit.swapped(*one, *other),
            _ => return,
        }
        self.unit.is_caused_by(change.actor.session);
        if was_empty {
            context.push_effect(Effect::ReplicationDue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(unit: &Unit) -> Vec<(usize, &[u8])> {
        unit.keys.iter().map(|(db, key)| (*db, &**key)).collect()
    }

    #[test]
    fn each_key_is_told_once_and_where_it_is_at_the_end() {
        let mut unit = Unit::default();
        for (db, key) in [(0, b"a"), (0, b"b"), (0, b"a"), (1, b"a")] {
            unit.changed(db, key);
        }
        assert_eq!(keys(&unit), [(0, &b"a"[..]), (0, b"b"), (1, b"a")]);
        unit.swapped(0, 1);
        unit.changed(0, b"b");
        assert_eq!(keys(&unit), [(1, &b"a"[..]), (1, b"b"), (0, b"a"), (0, b"b")]);
        unit.flushed(1, false);
        unit.changed(1, b"c");
        assert_eq!(keys(&unit), [(0, &b"a"[..]), (0, b"b"), (1, b"c")]);
        assert_eq!(unit.structure, [Structure::Swapped(0, 1), Structure::Flushed(1)]);
        unit.flushed(0, false);
        unit.flushed(1, true);
        assert!(unit.keys.is_empty() && unit.structure.last() == Some(&Structure::AllFlushed));
    }

    #[test]
    fn many_keys_are_told_once_too() {
        let mut unit = Unit::default();
        for _ in 0..3 {
            (0..100_u32).for_each(|n| unit.changed(0, &n.to_le_bytes()));
        }
        assert_eq!(unit.keys.len(), 100);
        unit.flushed(0, false);
        unit.changed(0, &7_u32.to_le_bytes());
        assert_eq!(unit.keys.len(), 1);
    }

    #[test]
    fn many_keys_with_long_names_are_told_once_too() {
        let name = |n: usize| vec![n as u8; Unit::LONG_NAME + 1];
        let mut unit = Unit::default();
        for _ in 0..2 {
            (0..20).for_each(|n| unit.changed(n % 2, &name(n)));
        }
        assert_eq!(unit.keys.len(), 20);
        unit.flushed(0, false);
        unit.swapped(0, 1);
        (0..20).for_each(|n| unit.changed(0, &name(n)));
        assert_eq!(unit.keys.len(), 20);
        (0..20).for_each(|n| unit.changed(1, &name(n)));
        assert_eq!(unit.keys.len(), 40);
    }
}

//! What replicas are to be told: the changes of a command, script or transaction, collected until it ends.

use foldhash::quality::FixedState;
use lockwheel_resp::{allocation, write_request};
use lockwheel_store::keyspace::{Change, Context, Effect, Interests, Keyspace, Subscriber, What};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;
use std::num::NonZeroU64;

/// Bytes around a word of a request, at most.
pub(super) const WORD_FRAME: usize = 32;

/// What has happened to whole databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Structure {
    /// All keys of a database are gone.
    Flushed(usize),
    /// All keys of all databases are gone.
    AllFlushed,
    /// The keys of two databases have been exchanged.
    Swapped(usize, usize),
}

/// The name of a key.
type Place = (usize, Box<[u8]>);

/// All that a command, script or transaction has changed.
///
/// A replica gets the last state of each key. It therefore may be told of whole databases first, and of the keys that
/// have changed since then, by the numbers that their databases have at the end.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    /// What has happened to whole databases, in order.
    pub(crate) structure: Vec<Structure>,
    /// The keys that have changed, each once, in the order of their first changes.
    pub(crate) keys: Vec<Place>,
    /// Requests that replicas run as they are: messages, libraries of functions.
    pub(crate) requests: Vec<Vec<u8>>,
    /// The sessions that have caused it.
    pub(crate) by: Vec<u64>,
    /// The same keys, when they are many, but for those with long names.
    seen: BTreeSet<Place>,
    /// The places in `keys` of those with long names, by their databases and hashes, when they are many.
    long: BTreeMap<(usize, u64), Vec<usize>>,
    /// A key has changed whose name there was no memory for: replicas cannot be told.
    pub(crate) is_incomplete: bool,
}

impl Unit {
    /// Few keys are compared one by one.
    const FEW: usize = 8;
    /// Names of more bytes are long. A large number of them does not fit into memory.
    const LONG_NAME: usize = 64 << 10;

    /// Whether nothing is in it.
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

    /// Notes a key with a long name. Names are compared if their hashes are equal.
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

    /// Forgets the positions of the keys.
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

/// Collects what replicas are to be told, while there is a stream.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    is_on: bool,
    unit: Unit,
}

impl Feed {
    /// Returns what has been collected from the changes of a keyspace, if that is collected at all.
    pub(crate) fn take_from(keyspace: &mut Keyspace) -> Option<Unit> {
        keyspace.subscriber_itself::<Feed>().map(Feed::take)
    }

    /// Puts back what had been collected, in the place of what has been since: replicas are not told of that.
    pub(crate) fn put_back_into(keyspace: &mut Keyspace, before: Option<Unit>) {
        let feed = keyspace.subscriber_itself::<Feed>();
        feed.zip(before).into_iter().for_each(|(feed, before)| feed.unit = before);
    }

    /// Collects the changes of a keyspace from now on, or no longer.
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

    /// Adds a request that replicas run as it is, by a session. Returns false if there is no memory for it.
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

    /// Whether there is a stream. [`Keyspace::renew_interests`](lockwheel_store::keyspace::Keyspace) must be called
    /// then.
    fn turn(&mut self, on: bool) {
        self.is_on = on;
        self.unit = Unit::default();
    }

    /// A request that replicas run as it is, by a session. Whether it is the first of its unit.
    fn add_request(&mut self, request: Vec<u8>, session: u64) -> bool {
        let is_first = self.unit.is_empty();
        self.unit.requests.push(request);
        self.unit.is_caused_by(NonZeroU64::new(session));
        is_first
    }

    /// What has been collected.
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

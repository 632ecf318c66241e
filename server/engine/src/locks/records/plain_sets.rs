//! Keys that were recently set by a SET without a condition, and keys that were given back as locks by a comparison of
//! their text. A key that is both is a lock which some clients take by a SET that excludes nobody.
//!
//! Names are not kept: a hash stands for each, and a later hash may replace an earlier one.

use foldhash::fast::FixedState;
use lockwheel_resp::number;
use lockwheel_store::keyspace::{Actor, CalledBy};
use std::hash::BuildHasher;

/// The number of slots, a power of two.
const PLACES: usize = 4096;

#[derive(Debug, Default)]
struct Keys {
    places: Vec<u64>,
}

impl Keys {
    fn at(hash: u64) -> usize {
        hash as usize & (PLACES - 1)
    }

    fn add(&mut self, hash: u64) {
        if self.places.is_empty() {
            self.places.resize(PLACES, 0);
        }
        self.places[Keys::at(hash)] = hash;
    }

    fn has(&self, hash: u64) -> bool {
        self.places.get(Keys::at(hash)) == Some(&hash)
    }

    fn remove(&mut self, hash: u64) {
        if self.has(hash) {
            self.places[Keys::at(hash)] = 0;
        }
    }
}

/// The effect of a SET without a condition on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlainSet {
    /// Whether the SET replaced another text, which the request does not name.
    pub(super) overwrites: bool,
}

#[derive(Clone, Copy, Debug)]
struct Replaced {
    hash: u64,
    by: Replacement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replacement {
    /// An unchanged text.
    Same,
    /// Another text, by a request that names the previous one.
    Compared,
    /// Another text, whatever the previous one was.
    Other,
}

/// The keys that were set plainly, and those that were compared.
#[derive(Debug)]
pub(super) struct PlainSets {
    hasher: FixedState,
    set: Keys,
    /// The keys among those set plainly whose text has replaced another one.
    overwritten: Keys,
    compared: Keys,
    /// The last key whose text was replaced, until its change is seen.
    replaced: Option<Replaced>,
}

impl PlainSets {
    /// Creates empty sets. The seed decides the hash of keys, because clients choose their names.
    pub(super) fn new(seed: u64) -> Self {
        PlainSets {
            hasher: FixedState::with_seed(seed),
            set: Keys::default(),
            overwritten: Keys::default(),
            compared: Keys::default(),
            replaced: None,
        }
    }

    /// Returns the hash of a key. A hash is never 0, which stands for an empty slot.
    fn hash_of(&self, db: usize, key: &[u8]) -> u64 {
        self.hasher.hash_one((db, key)) | 1 << 63
    }

    /// Notes that a text has taken the place of another one, before the change of the key is seen.
    pub(super) fn replace(&mut self, db: usize, key: &[u8], by: Replacement) {
        self.replaced = Some(Replaced { hash: self.hash_of(db, key), by });
    }

    /// Notes that an actor has set a key's text. Returns how, if by a plain SET of a lock with comparing releases.
    pub(super) fn set(&mut self, db: usize, key: &[u8], actor: &Actor<'_>) -> Option<PlainSet> {
        let hash = self.hash_of(db, key);
        let replaced = self.replaced.take().filter(|replaced| replaced.hash == hash);
        let overwrites = match replaced.map(|replaced| replaced.by) {
            // The owner of the text remains.
            Some(Replacement::Same) => return None,
            by => by == Some(Replacement::Other),
        };
        self.set.remove(hash);
        self.overwritten.remove(hash);
        if !is_plain(actor, key, overwrites) {
            return None;
        }
        self.set.add(hash);
        if overwrites {
            self.overwritten.add(hash);
        }
        self.compared.has(hash).then_some(PlainSet { overwrites })
    }

    /// Notes an attempt to give a key back by a comparison. Returns how its text was set, if by a plain SET.
    pub(super) fn compare(&mut self, db: usize, key: &[u8]) -> Option<PlainSet> {
        let hash = self.hash_of(db, key);
        self.compared.add(hash);
        self.set.has(hash).then(|| PlainSet { overwrites: self.overwritten.has(hash) })
    }

    /// Returns the bytes of the sets, before an allocator rounds them up. O(1).
    pub(super) fn memory(&self) -> usize {
        let places = [&self.set, &self.overwritten, &self.compared].map(|keys| keys.places.capacity());
        places.iter().sum::<usize>() * size_of::<u64>()
    }
}

/// Whether an actor sets the text of a key without asking what is there. A script, or `SET XX`, may have asked: both
/// count only if they overwrite the text of another owner.
fn is_plain(actor: &Actor<'_>, key: &[u8], overwrites: bool) -> bool {
    const CONDITIONS: [&[u8]; 5] = [b"nx", b"ifeq", b"ifne", b"ifdeq", b"ifdne"];
    const PRESENT: [&[u8]; 2] = [b"xx", b"keepttl"];
    let Some((name, words)) = actor.command.split_first() else { return false };
    let is = |one: &[u8]| name.eq_ignore_ascii_case(one);
    let options = match words.first() {
        _ if is(b"setex") || is(b"psetex") || is(b"getset") || is(b"mset") => &[][..],
        _ if is(b"set") => words.get(2..).unwrap_or_default(),
        Some(count) if is(b"msetex") => {
            let pairs = number::parse_i64(count).and_then(|count| usize::try_from(count).ok());
            let options = pairs.and_then(|pairs| pairs.checked_mul(2)).and_then(|words| words.checked_add(1));
            options.and_then(|from| words.get(from..)).unwrap_or_default()
        }
        _ => return false,
    };
    let has =
        |some: &[&[u8]]| options.iter().any(|word| some.iter().any(|one| word.eq_ignore_ascii_case(one)));
    let is_unasked = !has(&CONDITIONS) && (overwrites || !has(&PRESENT));
    is_unasked
        && match actor.called_by {
            CalledBy::Client => true,
            CalledBy::Transaction(watched) => !watched.has(key),
            CalledBy::Script(_) => overwrites,
            CalledBy::Engine => false,
        }
}

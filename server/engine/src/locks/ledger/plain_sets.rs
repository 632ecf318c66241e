//! Keys that bare SETs without a condition have set lately, and keys that were given back as locks by a comparison of
//! their text. One that is both is a lock which some clients take by a SET that excludes nobody.
//!
//! Names are not kept: a hash stands for each, and a later one takes its place.

use foldhash::fast::FixedState;
use std::hash::BuildHasher;

/// The number of places, a power of two.
const PLACES: usize = 4096;

/// Hashes of keys, each at its place.
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

/// The keys that were set plainly, and those that were compared.
#[derive(Debug)]
pub(super) struct PlainSets {
    hasher: FixedState,
    set: Keys,
    compared: Keys,
}

impl PlainSets {
    /// Nothing yet. The seed decides the hash of keys: clients choose their names.
    pub(super) fn new(seed: u64) -> Self {
        PlainSets { hasher: FixedState::with_seed(seed), set: Keys::default(), compared: Keys::default() }
    }

    /// Never 0, which is an empty place.
    fn hash_of(&self, db: usize, key: &[u8]) -> u64 {
        self.hasher.hash_one((db, key)) | 1 << 63
    }

    /// A key was set by a bare SET. Whether it is a lock that is given back by a comparison.
    pub(super) fn set(&mut self, db: usize, key: &[u8]) -> bool {
        let hash = self.hash_of(db, key);
        self.set.add(hash);
        self.compared.has(hash)
    }

    /// A key was set otherwise.
    pub(super) fn set_otherwise(&mut self, db: usize, key: &[u8]) {
        self.set.remove(self.hash_of(db, key));
    }

    /// A key was given back by a comparison of its text. Whether it was set by a bare SET.
    pub(super) fn compare(&mut self, db: usize, key: &[u8]) -> bool {
        let hash = self.hash_of(db, key);
        self.compared.add(hash);
        self.set.has(hash)
    }

    /// Bytes of all of it, before an allocator rounds them up. O(1).
    pub(super) fn memory(&self) -> usize {
        (self.set.places.capacity() + self.compared.places.capacity()) * size_of::<u64>()
    }
}

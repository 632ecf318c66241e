//! The name of a key among those of all databases, how to look for one without owning it, and its hash.

use foldhash::quality::FixedState;
use hashbrown::Equivalent;
use std::hash::{BuildHasher, Hasher};

/// A database and a key in it.
pub type DbKey = (usize, Box<[u8]>);

/// The same, borrowed: it hashes as a [`DbKey`] does.
#[derive(Clone, Copy, Debug, Hash)]
pub struct DbKeyRef<'a>(pub usize, pub &'a [u8]);

impl Equivalent<DbKey> for DbKeyRef<'_> {
    fn equivalent(&self, place: &DbKey) -> bool {
        self.0 == place.0 && *self.1 == *place.1
    }
}

/// The hash of a key, by the keyspace's seed.
#[inline]
pub(super) fn hash_of(hasher: &FixedState, key: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(key);
    state.finish()
}

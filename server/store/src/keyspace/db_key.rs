//! The name of a key among those of all databases, how to look for one without owning it, and its hash.

use foldhash::quality::FixedState;
use hashbrown::{Equivalent, HashMap};
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

/// Gives back the memory of a table in which nothing is left, unless it is so small that it is soon filled again. O(1).
#[inline]
pub(super) fn give_back<V, S: BuildHasher>(table: &mut HashMap<DbKey, V, S>) {
    /// Places.
    const SMALL: usize = 128;
    if table.is_empty() && table.capacity() > SMALL {
        table.shrink_to_fit();
    }
}

/// The hash of a key, by the keyspace's seed.
#[inline]
pub(super) fn hash_of(hasher: &FixedState, key: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(key);
    state.finish()
}

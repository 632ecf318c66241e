//! The name of a key among those of all databases, a borrowed form for look-ups, and the hash of a key.

use foldhash::quality::FixedState;
use hashbrown::{Equivalent, HashMap};
use std::hash::{BuildHasher, Hasher};

/// A database and a key in it.
pub type DbKey = (usize, Box<[u8]>);

/// A borrowed [`DbKey`], with the same hash.
#[derive(Clone, Copy, Debug, Hash)]
pub struct DbKeyRef<'a>(pub usize, pub &'a [u8]);

impl Equivalent<DbKey> for DbKeyRef<'_> {
    fn equivalent(&self, place: &DbKey) -> bool {
        self.0 == place.0 && *self.1 == *place.1
    }
}

/// Gives back the memory of an empty table, unless it is so small that it is soon filled again. O(1).
#[inline]
pub(super) fn give_back<V, S: BuildHasher>(table: &mut HashMap<DbKey, V, S>) {
    /// The largest capacity that is kept.
    const SMALL: usize = 128;
    if table.is_empty() && table.capacity() > SMALL {
        table.shrink_to_fit();
    }
}

#[inline]
pub(super) fn hash_of(hasher: &FixedState, key: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(key);
    state.finish()
}

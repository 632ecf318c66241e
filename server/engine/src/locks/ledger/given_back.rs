//! Which keys were given back lately by those who hold locks without native commands: that is mostly all that there is
//! to know of them, and not worth a place among the losses.

use crate::memory::block;
use foldhash::fast::FixedState;
use std::hash::{BuildHasher, Hasher};

/// The places; a later key may take that of an earlier one.
const PLACES: usize = 4096;

/// The hashes of such keys.
#[derive(Debug)]
pub(super) struct GivenBack {
    hasher: FixedState,
    /// None until the first.
    places: Option<Box<[u64; PLACES]>>,
}

impl GivenBack {
    /// None. The seed decides the hash of keys: clients choose their names.
    pub(super) fn new(seed: u64) -> Self {
        GivenBack { hasher: FixedState::with_seed(seed), places: None }
    }

    #[inline]
    fn hash(&self, db: usize, key: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(key);
        // Few databases are in use: the same key in two of them has two places beside each other.
        hasher.finish().wrapping_add(db as u64) | 1 << 63
    }

    /// The last hold of a key was given back. O(its length).
    #[inline]
    pub(super) fn remember(&mut self, db: usize, key: &[u8]) {
        let hash = self.hash(db, key);
        let places = self.places.get_or_insert_with(|| Box::new([0; PLACES]));
        places[hash as usize % PLACES] = hash;
    }

    /// The last hold of a key has ended otherwise. O(its length).
    pub(super) fn forget(&mut self, db: usize, key: &[u8]) {
        let hash = self.hash(db, key);
        if let Some(places) = &mut self.places
            && places[hash as usize % PLACES] == hash
        {
            places[hash as usize % PLACES] = 0;
        }
    }

    /// Whether the last hold of a key was given back, as far as it is remembered. O(its length).
    pub(super) fn has(&self, db: usize, key: &[u8]) -> bool {
        self.places.as_ref().is_some_and(|places| {
            let hash = self.hash(db, key);
            places[hash as usize % PLACES] == hash
        })
    }

    /// Nothing is known any more.
    pub(super) fn clear(&mut self) {
        self.places = None;
    }

    /// Bytes of memory. O(1).
    pub(super) fn memory(&self) -> usize {
        if self.places.is_some() { block(size_of::<[u64; PLACES]>()) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_back_is_known_until_it_ends_otherwise() {
        let mut given_back = GivenBack::new(7);
        assert!(!given_back.has(0, b"k"));
        given_back.remember(0, b"k");
        assert!(given_back.has(0, b"k") && !given_back.has(1, b"k") && !given_back.has(0, b"l"));
        given_back.forget(0, b"l");
        assert!(given_back.has(0, b"k"));
        given_back.forget(0, b"k");
        assert!(!given_back.has(0, b"k"));
    }
}

//! Keys whose last holder gave them back lately, as far as the keyspace handled that by itself. Mostly nothing else
//! about such a key needs to be known; each takes eight bytes.

use crate::memory::block;

/// The number of slots. A later key may take the slot of an earlier one.
const PLACES: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct GivenBack {
    /// `None` until the first key.
    places: Option<Box<[u64; PLACES]>>,
}

/// The word for a key of this hash. The same key in two databases, of which few are used, gets neighbouring slots.
#[inline]
fn name(db: usize, hash: u64) -> u64 {
    hash.wrapping_add(db as u64) | 1 << 63
}

impl GivenBack {
    /// Notes that the last hold of a key of this hash was given back. O(1).
    #[inline(always)]
    pub(super) fn remember(&mut self, db: usize, hash: u64) {
        let name = name(db, hash);
        match &mut self.places {
            Some(places) => places[name as usize % PLACES] = name,
            None => self.begin(name),
        }
    }

    #[cold]
    #[inline(never)]
    fn begin(&mut self, name: u64) {
        let mut places = Box::new([0; PLACES]);
        places[name as usize % PLACES] = name;
        self.places = Some(places);
    }

    /// Notes that the last hold of a key of this hash has ended otherwise. O(1).
    pub(super) fn forget(&mut self, db: usize, hash: u64) {
        let name = name(db, hash);
        if let Some(places) = &mut self.places
            && places[name as usize % PLACES] == name
        {
            places[name as usize % PLACES] = 0;
        }
    }

    /// Whether the last hold of a key of this hash was given back, as far as that is remembered. O(1).
    pub(super) fn has(&self, db: usize, hash: u64) -> bool {
        let name = name(db, hash);
        self.places.as_ref().is_some_and(|places| places[name as usize % PLACES] == name)
    }

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
    fn a_released_key_is_remembered_until_it_is_forgotten() {
        let mut given_back = GivenBack::default();
        let (key, other) = (7, 8 << 20);
        assert!(!given_back.has(0, key));
        given_back.remember(0, key);
        assert!(given_back.has(0, key) && !given_back.has(1, key) && !given_back.has(0, other));
        given_back.forget(0, other);
        assert!(given_back.has(0, key));
        given_back.forget(0, key);
        assert!(!given_back.has(0, key));
        given_back.remember(1, other);
        given_back.clear();
        assert!(!given_back.has(1, other) && given_back.memory() == 0);
    }
}

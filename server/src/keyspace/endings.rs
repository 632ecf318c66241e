//! How the last holds of keys ended: as many as fit, the oldest make room.

use super::holds::Ended;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher;

/// The most ends that are remembered.
pub(super) const MOST: usize = 4096;

/// One end that is remembered.
#[derive(Debug)]
struct Ending {
    db: usize,
    key: Box<[u8]>,
    ended: Ended,
}

/// A ring of ends, found by key.
#[derive(Debug)]
pub(super) struct Endings {
    hasher: FixedState,
    /// Up to [`MOST`]. None: a later end of the same key stands elsewhere.
    ring: Vec<Option<Ending>>,
    /// Where the next one goes.
    next: usize,
    /// Places in the ring.
    places: HashTable<u16>,
}

impl Endings {
    /// None yet. The seed decides the hash of keys: clients choose their names.
    pub(super) fn new(seed: u64) -> Self {
        let hasher = FixedState::with_seed(seed);
        Endings { hasher, ring: Vec::new(), next: 0, places: HashTable::new() }
    }

    fn hash_of(&self, db: usize, key: &[u8]) -> u64 {
        self.hasher.hash_one((db, key))
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(super) fn get(&self, db: usize, key: &[u8]) -> Option<&Ended> {
        if self.is_empty() {
            return None;
        }
        let found = self.places.find(self.hash_of(db, key), |&at| is(&self.ring[usize::from(at)], db, key));
        found.and_then(|&at| self.ring[usize::from(at)].as_ref()).map(|ending| &ending.ended)
    }

    pub(super) fn get_mut(&mut self, db: usize, key: &[u8]) -> Option<&mut Ended> {
        if self.is_empty() {
            return None;
        }
        let found = self.places.find(self.hash_of(db, key), |&at| is(&self.ring[usize::from(at)], db, key));
        let at = usize::from(*found?);
        self.ring[at].as_mut().map(|ending| &mut ending.ended)
    }

    /// Remembers the end of a key's hold instead of an earlier one of that key, or of the one that is longest past.
    /// O(1).
    pub(super) fn remember(&mut self, db: usize, key: Box<[u8]>, ended: Ended) {
        let at = self.next;
        self.next = (at + 1) % MOST;
        if at == self.ring.len() {
            self.ring.push(None);
        } else if let Some(oldest) = self.ring[at].take() {
            self.forget(&oldest, at);
        }
        let hash = self.hash_of(db, &key);
        let (ring, hasher) = (&mut self.ring, &self.hasher);
        let rehash =
            |&at: &u16| ring[usize::from(at)].as_ref().map_or(0, |e| hasher.hash_one((e.db, &*e.key)));
        match self.places.entry(hash, |&at| is(&ring[usize::from(at)], db, &key), rehash) {
            Entry::Occupied(mut place) => {
                let before = std::mem::replace(place.get_mut(), at as u16);
                ring[usize::from(before)] = None;
            }
            Entry::Vacant(place) => drop(place.insert(at as u16)),
        }
        self.ring[at] = Some(Ending { db, key, ended });
    }

    fn forget(&mut self, ending: &Ending, at: usize) {
        let hash = self.hash_of(ending.db, &ending.key);
        let found = self.places.find_entry(hash, |&place| usize::from(place) == at);
        if let Ok(place) = found {
            place.remove();
        }
    }
}

fn is(ending: &Option<Ending>, db: usize, key: &[u8]) -> bool {
    ending.as_ref().is_some_and(|ending| *ending.key == *key && ending.db == db)
}

#[cfg(test)]
mod tests {
    use super::super::holds::EndCause;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn ended(wall_ms: i64) -> Ended {
        Ended { cause: EndCause::Released, wall_ms, grant: None }
    }

    #[test]
    fn the_oldest_make_room() {
        let mut endings = Endings::new(7);
        for n in 0..MOST + 10 {
            endings.remember(0, format!("k{n}").into_bytes().into(), ended(n as i64));
        }
        assert_eq!(endings.get(0, b"k9"), None);
        assert_eq!(endings.get(0, b"k10").map(|ended| ended.wall_ms), Some(10));
        assert_eq!(endings.get(1, b"k10"), None);
        assert_eq!(endings.places.len(), MOST);
    }

    #[test]
    fn the_seed_decides_the_hash_of_keys() {
        let [first, same, other] = [1, 1, 2].map(|seed| Endings::new(seed).hash_of(0, b"key"));
        assert_eq!(first, same);
        assert_ne!(first, other);
    }

    proptest! {
        #[test]
        fn the_last_end_of_a_key_is_the_one_that_counts(keys in prop::collection::vec((0_usize..2, 0_u8..40), 1..300)) {
            let (mut endings, mut model) = (Endings::new(7), BTreeMap::new());
            for (at, (db, key)) in keys.into_iter().enumerate() {
                endings.remember(db, [key].into(), ended(at as i64));
                model.insert((db, key), at as i64);
                for (&(db, key), &at) in &model {
                    prop_assert_eq!(endings.get(db, &[key]).map(|ended| ended.wall_ms), Some(at));
                }
                prop_assert_eq!(endings.places.len(), model.len());
            }
        }
    }
}

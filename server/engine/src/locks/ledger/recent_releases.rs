//! Recent releases by key, or by key and owner. A full store drops the oldest release.

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher;

/// The largest number of releases that are remembered.
pub(in crate::locks) const MAX_RELEASES: usize = 4096;

/// The largest number of bytes of keys and owners that are remembered.
pub(in crate::locks) const MAX_NAME_BYTES: usize = 1 << 20;

#[derive(Debug)]
struct Memory<T> {
    db: usize,
    key: Box<[u8]>,
    /// Empty where owners do not matter.
    owner: Box<[u8]>,
    what: T,
}

/// A ring of the last releases, found by key and owner.
#[derive(Debug)]
pub(in crate::locks) struct RecentReleases<T> {
    hasher: FixedState,
    /// Up to [`MAX_RELEASES`] releases. `None`: forgotten, or a later one of this key and owner is elsewhere.
    ring: Vec<Option<Memory<T>>>,
    /// The slot of the next release.
    next: usize,
    /// The slot of the oldest release that may be remembered.
    oldest: usize,
    /// Slots in the ring.
    places: HashTable<u16>,
    /// Bytes of keys and owners.
    names: usize,
}

impl<T> RecentReleases<T> {
    /// Creates an empty store. The seed decides the hash of keys and owners, because clients choose their names.
    pub(in crate::locks) fn new(seed: u64) -> Self {
        let hasher = FixedState::with_seed(seed);
        RecentReleases { hasher, ring: Vec::new(), next: 0, oldest: 0, places: HashTable::new(), names: 0 }
    }

    fn hash_of(&self, db: usize, key: &[u8], owner: &[u8]) -> u64 {
        self.hasher.hash_one((db, key, owner))
    }

    #[inline]
    pub(in crate::locks) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn find(&self, db: usize, key: &[u8], owner: &[u8]) -> Option<usize> {
        if self.is_empty() {
            return None;
        }
        let is = |&at: &u16| is(&self.ring[usize::from(at)], db, key, owner);
        self.places.find(self.hash_of(db, key, owner), is).map(|&at| usize::from(at))
    }

    pub(in crate::locks) fn get(&self, db: usize, key: &[u8], owner: &[u8]) -> Option<&T> {
        self.ring[self.find(db, key, owner)?].as_ref().map(|memory| &memory.what)
    }

    pub(in crate::locks) fn get_mut(&mut self, db: usize, key: &[u8], owner: &[u8]) -> Option<&mut T> {
        let at = self.find(db, key, owner)?;
        self.ring[at].as_mut().map(|memory| &mut memory.what)
    }

    /// Remembers a release of a key and owner. It replaces their former release, or the oldest of all. O(1).
    pub(in crate::locks) fn remember(&mut self, db: usize, key: &[u8], owner: &[u8], what: T) {
        let at = self.next;
        self.next = (at + 1) % MAX_RELEASES;
        if at == self.ring.len() {
            self.ring.push(None);
        } else {
            self.oldest = self.next;
            if let Some(oldest) = self.ring[at].take() {
                self.take_place(&oldest, at);
            }
        }
        let hash = self.hash_of(db, key, owner);
        let (ring, hasher) = (&mut self.ring, &self.hasher);
        let rehash = |&at: &u16| ring[usize::from(at)].as_ref().map_or(0, |memory| memory.hash(hasher));
        let is = |&at: &u16| is(&ring[usize::from(at)], db, key, owner);
        let key = match self.places.entry(hash, is, rehash) {
            Entry::Occupied(mut place) => {
                let before = std::mem::replace(place.get_mut(), at as u16);
                ring[usize::from(before)].take().map_or_else(|| key.into(), |memory| memory.key)
            }
            Entry::Vacant(place) => {
                place.insert(at as u16);
                self.names += key.len() + owner.len();
                key.into()
            }
        };
        self.ring[at] = Some(Memory { db, key, owner: owner.into(), what });
        if self.names > MAX_NAME_BYTES {
            self.forget_oldest();
        }
    }

    /// Forgets the oldest releases until the names take no more than [`MAX_NAME_BYTES`]. O(1) for each.
    #[cold]
    fn forget_oldest(&mut self) {
        for _ in 0..self.ring.len() {
            let at = self.oldest;
            if self.names <= MAX_NAME_BYTES || at >= self.ring.len() {
                break;
            }
            self.oldest = (at + 1) % MAX_RELEASES;
            if let Some(memory) = self.ring[at].take() {
                self.take_place(&memory, at);
            }
        }
    }

    /// Forgets all releases, and frees their memory. O(n).
    pub(in crate::locks) fn clear(&mut self) {
        (self.ring, self.places, self.next, self.oldest, self.names) =
            (Vec::new(), HashTable::new(), 0, 0, 0);
    }

    /// Forgets the release of a key and owner.
    pub(in crate::locks) fn forget(&mut self, db: usize, key: &[u8], owner: &[u8]) {
        if let Some(at) = self.find(db, key, owner)
            && let Some(memory) = self.ring[at].take()
        {
            self.take_place(&memory, at);
        }
    }

    /// Forgets the releases of a database's keys. O(n), n all releases.
    pub(in crate::locks) fn flushed(&mut self, db: usize) {
        for at in 0..self.ring.len() {
            if let Some(memory) = self.ring[at].take_if(|memory| memory.db == db) {
                self.take_place(&memory, at);
            }
        }
    }

    /// Exchanges the releases of two databases. O(n), n all releases.
    pub(in crate::locks) fn swap(&mut self, one: usize, other: usize) {
        for memory in self.ring.iter_mut().flatten() {
            match memory.db {
                db if db == one => memory.db = other,
                db if db == other => memory.db = one,
                _ => {}
            }
        }
        self.places.clear();
        let (ring, hasher) = (&self.ring, &self.hasher);
        let hash = |at: usize| ring[at].as_ref().map_or(0, |memory| memory.hash(hasher));
        for at in (0..ring.len()).filter(|&at| ring[at].is_some()) {
            self.places.insert_unique(hash(at), at as u16, |&at| hash(usize::from(at)));
        }
    }

    /// Returns the bytes of the store, before an allocator rounds them up. O(1).
    pub(in crate::locks) fn memory(&self) -> usize {
        self.ring.capacity() * size_of::<Option<Memory<T>>>() + self.places.allocation_size() + self.names
    }

    fn take_place(&mut self, memory: &Memory<T>, at: usize) {
        self.names -= memory.key.len() + memory.owner.len();
        let found = self.places.find_entry(memory.hash(&self.hasher), |&place| usize::from(place) == at);
        if let Ok(place) = found {
            place.remove();
        }
    }
}

impl<T> Memory<T> {
    fn hash(&self, hasher: &FixedState) -> u64 {
        hasher.hash_one((self.db, &*self.key, &*self.owner))
    }
}

fn is<T>(memory: &Option<Memory<T>>, db: usize, key: &[u8], owner: &[u8]) -> bool {
    let same = |memory: &Memory<T>| *memory.key == *key && *memory.owner == *owner && memory.db == db;
    memory.as_ref().is_some_and(same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_oldest_release_is_evicted() {
        let mut recent = RecentReleases::new(7);
        for n in 0..MAX_RELEASES + 10 {
            recent.remember(0, format!("k{n}").as_bytes(), b"", n);
        }
        assert_eq!(recent.get(0, b"k9", b""), None);
        assert_eq!(recent.get(0, b"k10", b""), Some(&10));
        assert_eq!((recent.get(1, b"k10", b""), recent.get(0, b"k10", b"o")), (None, None));
        assert_eq!(recent.places.len(), MAX_RELEASES);
    }

    #[test]
    fn the_seed_decides_the_hash_of_keys() {
        let [first, same, other] =
            [1, 1, 2].map(|seed| RecentReleases::<()>::new(seed).hash_of(0, b"key", b"owner"));
        assert_eq!(first, same);
        assert_ne!(first, other);
    }

    proptest! {
        #[test]
        fn the_last_release_of_a_key_and_owner_counts(
            steps in prop::collection::vec((0_usize..2, 0_u8..20, 0_u8..3, 0_u8..5), 1..300),
        ) {
            let (mut recent, mut model) = (RecentReleases::new(7), BTreeMap::new());
            for (at, (db, key, owner, op)) in steps.into_iter().enumerate() {
                if op == 0 {
                    recent.forget(db, &[key], &[owner]);
                    model.remove(&(db, key, owner));
                } else {
                    recent.remember(db, &[key], &[owner], at);
                    model.insert((db, key, owner), at);
                }
                prop_assert_eq!(recent.get(db, &[key], &[owner]), model.get(&(db, key, owner)));
                for (&(db, key, owner), at) in &model {
                    prop_assert_eq!(recent.get(db, &[key], &[owner]), Some(at));
                }
                prop_assert_eq!(recent.places.len(), model.len());
                prop_assert_eq!(recent.names, model.len() * 2);
            }
        }
    }
}

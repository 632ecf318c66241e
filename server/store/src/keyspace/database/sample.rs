//! Random choices among the keys that may be evicted.

use super::Database;
use crate::keyspace::entry::Entry;
use crate::keyspace::rng::Rng;

/// The number of random slots that are tried. A slot may be free, or hold a key that may not go.
const TRIES: usize = 32;

impl Database {
    /// The number of a random key's entry, only of those with a deadline if `volatile`. The choice is even, or nearly
    /// so if most slots hold no such key. O(1) expected; O(pages) if few keys have deadlines.
    pub(in crate::keyspace) fn choose(
        &self,
        rng: &mut Rng,
        volatile: bool,
        hash_of: impl Fn(&[u8]) -> u64,
    ) -> Option<u32> {
        if (if volatile { self.with_deadline() } else { self.len() }) == 0 {
            return None;
        }
        let end = u64::from(self.entries.end());
        let at_random = (0..TRIES).map(|_| rng.below(end) as u32);
        let may_go =
            |id: &u32| self.used(*id, &hash_of).is_some_and(|entry| !volatile || entry.has_deadline());
        let found = at_random.into_iter().find(may_go);
        found.or_else(|| if volatile { self.choose_timed(rng) } else { self.random(rng) })
    }

    /// A key with a deadline, from a page that has one.
    fn choose_timed(&self, rng: &mut Rng) -> Option<u32> {
        let page = self.deadlines.page_with_timers(rng.next_u64() as u32)?;
        let from = page.start + rng.below(u64::from(page.end - page.start)) as u32;
        let has_deadline = |id: &u32| self.entries.find(*id).is_some_and(Entry::has_deadline);
        (from..page.end).chain(page.start..from).find(has_deadline)
    }

    /// The entry of a number, if it is in use. A free slot looks like an entry of the empty key.
    fn used(&self, id: u32, hash_of: impl Fn(&[u8]) -> u64) -> Option<&Entry> {
        let entry = self.entries.find(id)?;
        (!entry.key().is_empty() || self.id(hash_of(b""), b"") == Some(id)).then_some(entry)
    }

    /// The entry of a number, if it is in use and its key has this hash.
    pub(in crate::keyspace) fn still_there(
        &self,
        id: u32,
        hash: u64,
        hash_of: impl Fn(&[u8]) -> u64,
    ) -> Option<&Entry> {
        self.used(id, &hash_of).filter(|entry| hash_of(entry.key()) == hash)
    }
}

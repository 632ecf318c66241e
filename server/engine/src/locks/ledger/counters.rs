//! The tokens of fenced locks: numbers of Redisson's counter, and not of the grant.

use std::collections::BTreeMap;

/// The tokens of fenced holds, by the number of their grant.
#[derive(Debug, Default)]
pub(super) struct Counters {
    tokens: BTreeMap<u64, (usize, u64)>,
}

impl Counters {
    /// A hold in a database that began with this grant has this token. O(log n).
    pub(super) fn insert(&mut self, db: usize, grant: u64, token: u64) {
        self.tokens.insert(grant, (db, token));
    }

    /// The token of a hold: that of its grant, if it is not fenced. O(log n).
    pub(super) fn token_of(&self, grant: u64) -> u64 {
        if self.tokens.is_empty() {
            return grant;
        }
        self.tokens.get(&grant).map_or(grant, |(_, token)| *token)
    }

    /// A hold has ended. O(log n).
    #[inline]
    pub(super) fn remove(&mut self, grant: u64) {
        if !self.tokens.is_empty() {
            self.tokens.remove(&grant);
        }
    }

    /// All keys of a database are gone. O(n).
    pub(super) fn flushed(&mut self, gone: usize) {
        self.tokens.retain(|_, (db, _)| *db != gone);
    }

    /// The keys of two databases have been exchanged. O(n).
    pub(super) fn swap(&mut self, one: usize, other: usize) {
        for (db, _) in self.tokens.values_mut().filter(|(db, _)| *db == one || *db == other) {
            *db = if *db == one { other } else { one };
        }
    }

    /// Bytes of all of it, of the nodes of its tree about. O(1).
    pub(super) fn memory(&self) -> usize {
        self.tokens.len() * size_of::<(u64, (usize, u64))>()
    }
}

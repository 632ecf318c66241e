//! Details that few holds have: the token of a fenced lock, the holder's own data, and the delay after a loss.

use super::super::snapshot::{LockLayout, LockMode};
use lockwheel_store::memory::block;
use std::collections::BTreeMap;

/// The time for which nobody else gets a lock after its loss, and how the lock was held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::locks) struct Delay {
    pub(in crate::locks) ms: i64,
    pub(in crate::locks) layout: LockLayout,
    pub(in crate::locks) mode: LockMode,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::locks) struct Detail {
    /// The number from Redisson's counter, which replaces the number of the grant.
    pub(in crate::locks) token: Option<u64>,
    pub(in crate::locks) data: Option<Box<[u8]>>,
    pub(in crate::locks) delay: Option<Delay>,
}

/// The details of holds by the number of their grant, each with its database.
#[derive(Debug, Default)]
pub(in crate::locks) struct Details {
    by_grant: BTreeMap<u64, (usize, Detail)>,
    data_bytes: usize,
}

impl Details {
    /// Adds details to the hold in a database that began with this grant. Details that are not given stay. O(log n).
    pub(in crate::locks) fn add(&mut self, db: usize, grant: u64, detail: Detail) {
        let (_, known) = self.by_grant.entry(grant).or_insert_with(|| (db, Detail::default()));
        known.token = detail.token.or(known.token);
        known.delay = detail.delay.or(known.delay);
        if detail.data.is_some() {
            self.data_bytes += data_bytes(&detail);
            self.data_bytes -= data_bytes(known);
            known.data = detail.data;
        }
    }

    pub(in crate::locks) fn is_empty(&self) -> bool {
        self.by_grant.is_empty()
    }

    /// Returns the details of a hold. O(log n).
    pub(in crate::locks) fn get(&self, grant: u64) -> Option<&Detail> {
        if self.by_grant.is_empty() {
            return None;
        }
        self.by_grant.get(&grant).map(|(_, detail)| detail)
    }

    /// Returns the token of a hold. Without a token of its own, the number of its grant is the token. O(log n).
    pub(in crate::locks) fn token_of(&self, grant: u64) -> u64 {
        self.get(grant).and_then(|detail| detail.token).unwrap_or(grant)
    }

    /// Removes and returns the details of a hold that has ended. O(log n).
    #[inline]
    pub(in crate::locks) fn remove(&mut self, grant: u64) -> Option<Detail> {
        if self.by_grant.is_empty() { None } else { self.take(grant) }
    }

    #[cold]
    fn take(&mut self, grant: u64) -> Option<Detail> {
        let (_, detail) = self.by_grant.remove(&grant)?;
        self.data_bytes -= data_bytes(&detail);
        Some(detail)
    }

    /// Removes the details of all holds in a database. O(n).
    pub(in crate::locks) fn flushed(&mut self, gone: usize) {
        let gone = self.by_grant.extract_if(.., |_, (db, _)| *db == gone);
        self.data_bytes -= gone.map(|(_, (_, detail))| data_bytes(&detail)).sum::<usize>();
    }

    /// Exchanges the details of two databases, as their keys have been exchanged. O(n).
    pub(in crate::locks) fn swap(&mut self, one: usize, other: usize) {
        for (db, _) in self.by_grant.values_mut().filter(|(db, _)| *db == one || *db == other) {
            *db = if *db == one { other } else { one };
        }
    }

    /// Returns the bytes of all details; the part of the tree nodes is approximate. O(1).
    pub(in crate::locks) fn memory(&self) -> usize {
        self.by_grant.len() * size_of::<(u64, (usize, Detail))>() + self.data_bytes
    }
}

fn data_bytes(detail: &Detail) -> usize {
    detail.data.as_ref().map_or(0, |data| block(data.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_kept_until_replaced_and_removed_with_their_hold() {
        let mut details = Details::default();
        let data = |text: &[u8]| Detail { data: Some(text.into()), ..Detail::default() };
        details.add(0, 1, Detail { token: Some(9), ..data(b"one") });
        details.add(0, 1, data(b"another"));
        details.add(1, 2, data(b"x"));
        assert_eq!(details.get(1), Some(&Detail { token: Some(9), ..data(b"another") }));
        assert_eq!((details.token_of(1), details.token_of(2)), (9, 2));
        details.swap(0, 1);
        details.flushed(0);
        assert_eq!(details.get(2), None);
        assert_eq!(details.remove(1), Some(Detail { token: Some(9), ..data(b"another") }));
        assert_eq!((details.memory(), details.data_bytes), (0, 0));
    }
}

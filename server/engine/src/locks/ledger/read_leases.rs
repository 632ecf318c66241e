//! The keys that hold the leases of native read holds: whose each is, so that a hold ends when its last lease does.

use super::grant::Marked;
use crate::keyspace::{Context, EntryId};
use std::collections::BTreeMap;

/// A lock, and one of its readers.
#[derive(Debug)]
pub(super) struct ReadLease {
    pub(super) key: Box<[u8]>,
    pub(super) owner: Box<[u8]>,
}

/// All such leases, by the number in the mark beside their keys.
#[derive(Debug, Default)]
pub(super) struct ReadLeases {
    leases: BTreeMap<u64, (usize, ReadLease)>,
    last: u64,
    /// Bytes of the names.
    names: usize,
}

impl ReadLeases {
    /// The key of this entry holds the lease of a reader of a lock. O(log n).
    pub(super) fn add(
        &mut self,
        (db, key, at): (usize, &[u8], EntryId),
        owner: &[u8],
        context: &mut Context<'_>,
    ) {
        if let Some(Marked::ReadLease(earlier)) = context.mark(at).map(Marked::read) {
            self.take(earlier);
        }
        self.last += 1;
        self.names += key.len() + owner.len();
        self.leases.insert(self.last, (db, ReadLease { key: key.into(), owner: owner.into() }));
        context.set_mark(at, Marked::ReadLease(self.last).mark());
    }

    /// The key with this number is gone, or holds something else. O(log n).
    pub(super) fn take(&mut self, number: u64) -> Option<ReadLease> {
        let (_, lease) = self.leases.remove(&number)?;
        self.names -= lease.key.len() + lease.owner.len();
        Some(lease)
    }

    /// All keys of a database are gone. O(n).
    pub(super) fn flushed(&mut self, gone: usize) {
        let gone = self.leases.extract_if(.., |_, (db, _)| *db == gone);
        self.names -= gone.map(|(_, (_, lease))| lease.key.len() + lease.owner.len()).sum::<usize>();
    }

    /// The keys of two databases have been exchanged. O(n).
    pub(super) fn swap(&mut self, one: usize, other: usize) {
        for (db, _) in self.leases.values_mut().filter(|(db, _)| *db == one || *db == other) {
            *db = if *db == one { other } else { one };
        }
    }

    /// Bytes of all of it, before an allocator rounds them up; of the nodes of its tree about. O(1).
    pub(super) fn memory(&self) -> usize {
        self.names + self.leases.len() * size_of::<(u64, (usize, ReadLease))>()
    }
}

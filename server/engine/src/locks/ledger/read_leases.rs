//! The keys that hold the leases of native read holds.
//!
//! Each key has its owner, so that a hold ends when its last lease does. The leases of a lock are ordered by their end,
//! so that the last is found at once, however many clients read.

use super::super::redisson::{MAX_READ_LEASES, MODE_FIELD, read_lease_key};
use super::grant::Marked;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use lockwheel_resp::number;
use lockwheel_store::keyspace::{Context, DbKey, DbKeyRef, EntryId};
use lockwheel_store::values::{Hash, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A lock, one of its readers, and the number of the hold among those of the reader.
#[derive(Clone, Debug)]
pub(in crate::locks) struct ReadLease {
    pub(in crate::locks) key: Box<[u8]>,
    pub(in crate::locks) owner: Box<[u8]>,
    hold: i64,
    /// The end of the lease, in wall milliseconds.
    ends_ms: i64,
}

#[derive(Debug)]
struct LockLeases {
    /// The end of each lease, and its number.
    by_end: BTreeSet<(i64, u64)>,
    /// Owners that may have further leases, since a script or a bare command may have taken holds for them.
    others: Others,
}

#[derive(Debug, Default)]
struct Others {
    names: BTreeSet<Box<[u8]>>,
    /// Whether every owner of the lock may have further leases.
    are_all: bool,
}

/// The most other owners whose leases are looked up again and again; those of more are listed with the native ones.
const MAX_OTHER_OWNERS: usize = 64;

impl Others {
    /// Returns all owners of a lock except the one whose holds are known.
    fn beside(hash: &Hash, known: Option<&[u8]>) -> Self {
        // Besides the owners, the hash has the field of the mode.
        if hash.len() > MAX_OTHER_OWNERS + 2 {
            return Others { are_all: true, ..Others::default() };
        }
        let owners = hash.iter().map(|(field, _)| field);
        let names = owners.filter(|&owner| owner != MODE_FIELD && Some(owner) != known).map(Box::from);
        Others { names: names.collect(), are_all: false }
    }

    fn add(&mut self, owner: &[u8]) {
        if !self.are_all && !self.names.contains(owner) {
            self.names.insert(owner.into());
        }
    }

    /// Whether the owners are too many to look up their leases again and again.
    fn are_many(&self) -> bool {
        self.are_all || self.names.len() > MAX_OTHER_OWNERS
    }

    /// Returns the bytes of the names. O(names).
    fn bytes(&self) -> usize {
        self.names.iter().map(|owner| owner.len()).sum()
    }
}

/// All leases of native read holds, by the number in the mark beside their keys.
#[derive(Debug)]
pub(in crate::locks) struct ReadLeases {
    leases: BTreeMap<u64, (usize, ReadLease)>,
    by_lock: HashMap<DbKey, LockLeases, FixedState>,
    last: u64,
    /// Bytes of the names.
    names: usize,
}

impl ReadLeases {
    /// Creates an empty table. The seed decides the hash of keys, because clients choose their names.
    pub(in crate::locks) fn new(seed: u64) -> Self {
        let by_lock = HashMap::with_hasher(FixedState::with_seed(seed));
        ReadLeases { leases: BTreeMap::new(), by_lock, last: 0, names: 0 }
    }

    #[inline]
    pub(in crate::locks) fn is_empty(&self) -> bool {
        self.leases.is_empty()
    }

    /// Adds the lease in the key of this entry: `hold` numbers the hold among those of its reader. O(log n).
    pub(in crate::locks) fn add(
        &mut self,
        (db, key, at): (usize, &[u8], EntryId),
        (owner, hold): (&[u8], i64),
        context: &mut Context<'_>,
    ) {
        if let Some(Marked::ReadLease(earlier)) = context.mark(at).map(Marked::read) {
            self.take(earlier);
        }
        let known = (hold == 1).then_some(owner);
        let others = || match context.peek(key) {
            Some(Value::Hash(hash)) => Others::beside(hash, known),
            _ => Others { are_all: true, ..Others::default() },
        };
        if !self.by_lock.contains_key(&DbKeyRef(db, key)) {
            let others = others();
            self.names += others.bytes();
            self.by_lock.insert((db, key.into()), LockLeases { by_end: BTreeSet::new(), others });
        }
        self.list((db, key, at), (owner, hold), context);
    }

    /// Lists the lease in the key of this entry, for a lock that has leases. O(log n).
    fn list(
        &mut self,
        (db, key, at): (usize, &[u8], EntryId),
        (owner, hold): (&[u8], i64),
        context: &mut Context<'_>,
    ) {
        self.last += 1;
        self.names += key.len() + owner.len();
        let ends_ms = context.deadline(at).unwrap_or(i64::MAX);
        let lease = ReadLease { key: key.into(), owner: owner.into(), hold, ends_ms };
        self.leases.insert(self.last, (db, lease));
        if let Some(of_lock) = self.by_lock.get_mut(&DbKeyRef(db, key)) {
            of_lock.by_end.insert((ends_ms, self.last));
        }
        context.set_mark(at, Marked::ReadLease(self.last).mark());
    }

    /// Removes and returns the lease with this number: its key is gone, or holds something else. O(log n).
    pub(in crate::locks) fn take(&mut self, number: u64) -> Option<ReadLease> {
        let (db, lease) = self.leases.remove(&number)?;
        self.names -= lease.key.len() + lease.owner.len();
        self.unlist(db, &lease, number);
        Some(lease)
    }

    /// Returns the lease with this number. O(log n).
    pub(in crate::locks) fn get(&self, number: u64) -> Option<&ReadLease> {
        self.leases.get(&number).map(|(_, lease)| lease)
    }

    fn unlist(&mut self, db: usize, lease: &ReadLease, number: u64) {
        if let Some(of_lock) = self.by_lock.get_mut(&DbKeyRef(db, &lease.key)) {
            of_lock.by_end.remove(&(lease.ends_ms, number));
            if of_lock.by_end.is_empty() {
                self.names -= of_lock.others.bytes();
                self.by_lock.remove(&DbKeyRef(db, &lease.key));
            }
        }
    }

    /// Changes the end of the lease with this number, as its key has another deadline. O(log n).
    pub(in crate::locks) fn redate(&mut self, number: u64, ends_ms: i64) {
        let Some((db, lease)) = self.leases.get_mut(&number) else { return };
        let before = std::mem::replace(&mut lease.ends_ms, ends_ms);
        if let Some(of_lock) = self.by_lock.get_mut(&DbKeyRef(*db, &lease.key))
            && of_lock.by_end.remove(&(before, number))
        {
            of_lock.by_end.insert((ends_ms, number));
        }
    }

    /// Notes that a script or a bare command has taken a hold of a lock for an owner, perhaps as a reader.
    pub(in crate::locks) fn mix(&mut self, db: usize, key: &[u8], owner: &[u8]) {
        if let Some(of_lock) = self.by_lock.get_mut(&DbKeyRef(db, key)) {
            let before = of_lock.others.names.len();
            of_lock.others.add(owner);
            self.names += (of_lock.others.names.len() - before) * owner.len();
        }
    }

    /// Returns the end of the last listed lease of a lock, and the owners that may have others. Returns `None` if no
    /// lease is listed. O(log n), plus the leases that have become void or that others have added since.
    pub(in crate::locks) fn last_end(
        &mut self,
        db: usize,
        key: &[u8],
        context: &mut Context<'_>,
    ) -> Option<(i64, Vec<Box<[u8]>>)> {
        if self.by_lock.get(&DbKeyRef(db, key))?.others.are_many() {
            self.list_others(db, key, context);
        }
        let Some(Value::Hash(hash)) = context.peek(key) else { return None };
        let others = &mut self.by_lock.get_mut(&DbKeyRef(db, key))?.others.names;
        self.names -=
            others.extract_if(.., |owner| !hash.contains(owner)).map(|owner| owner.len()).sum::<usize>();
        let others = others.iter().cloned().collect();
        let listed = |leases: &Self| leases.by_lock.get(&DbKeyRef(db, key))?.by_end.last().copied();
        let mut last = listed(self);
        while let Some((ends_ms, number)) = last {
            let (_, lease) = self.leases.get(&number)?;
            let name = read_lease_key(key, &lease.owner, lease.hold);
            let is_kept = context.entry(&name).and_then(|at| context.deadline(at)) == Some(ends_ms);
            if is_kept && is_held(hash, lease) {
                return Some((ends_ms, others));
            }
            let lease = lease.clone();
            self.unlist(db, &lease, number);
            last = listed(self);
        }
        None
    }

    /// Lists the leases of a lock that others have made, so that each is looked up once. O(their holds).
    fn list_others(&mut self, db: usize, key: &[u8], context: &mut Context<'_>) {
        let Some(of_lock) = self.by_lock.get_mut(&DbKeyRef(db, key)) else { return };
        self.names -= of_lock.others.bytes();
        let others = std::mem::take(&mut of_lock.others);
        let Some(Value::Hash(hash)) = context.peek(key) else { return };
        let is_other = |owner: &[u8]| owner != MODE_FIELD && (others.are_all || others.names.contains(owner));
        let owners = hash.iter().filter(|(owner, _)| is_other(owner));
        let counted = owners.filter_map(|(owner, holds)| Some((Box::from(owner), number::parse_i64(holds)?)));
        let counted: Vec<(Box<[u8]>, i64)> = counted.collect();
        for (owner, holds) in counted {
            for hold in (1..=holds).rev().take(MAX_READ_LEASES as usize) {
                let at = context.entry(&read_lease_key(key, &owner, hold));
                if let Some(at) = at.filter(|&at| context.mark(at).is_none() && context.has_deadline(at)) {
                    self.list((db, key, at), (&owner, hold), context);
                }
            }
        }
    }

    /// Removes all leases of a database. O(n).
    pub(in crate::locks) fn flushed(&mut self, gone: usize) {
        let locks = self.by_lock.extract_if(|(db, _), _| *db == gone);
        self.names -= locks.map(|(_, of_lock)| of_lock.others.bytes()).sum::<usize>();
        let gone = self.leases.extract_if(.., |_, (db, _)| *db == gone);
        self.names -= gone.map(|(_, (_, lease))| lease.key.len() + lease.owner.len()).sum::<usize>();
    }

    /// Exchanges the leases of two databases. O(n).
    pub(in crate::locks) fn swap(&mut self, one: usize, other: usize) {
        for (db, _) in self.leases.values_mut().filter(|(db, _)| *db == one || *db == other) {
            *db = if *db == one { other } else { one };
        }
        let moved: Vec<(DbKey, LockLeases)> =
            self.by_lock.extract_if(|(db, _), _| *db == one || *db == other).collect();
        for ((db, key), of_lock) in moved {
            self.by_lock.insert((if db == one { other } else { one }, key), of_lock);
        }
    }

    /// Returns the bytes of the table, before an allocator rounds them up; tree nodes are approximate. O(1).
    pub(in crate::locks) fn memory(&self) -> usize {
        let of_lease = size_of::<(u64, (usize, ReadLease))>() + size_of::<(i64, u64)>();
        self.by_lock.allocation_size() + self.names + self.leases.len() * of_lease
    }
}

/// Whether the owner of a lease still has the hold of this lease.
fn is_held(hash: &Hash, lease: &ReadLease) -> bool {
    hash.get(&lease.owner).and_then(number::parse_i64).is_some_and(|holds| holds >= lease.hold)
}

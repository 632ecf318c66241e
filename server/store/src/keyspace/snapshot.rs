//! A snapshot: all databases as they were at one instant, written into a file piece by piece while they change.
//!
//! A walk in SCAN's order writes the keys. A key that is about to change before that is written out of turn, and the
//! walk skips it. So no client waits for longer than a piece takes.

use super::access_clock::AccessClock;
use super::accesses::Accesses;
use super::database::Database;
use super::db_key::hash_of;
use super::entry::Entry;
use crate::memory::{block, tree_heap_bytes};
use crate::values::Value;
use foldhash::quality::FixedState;
use std::collections::BTreeSet;
use std::fmt::Debug;

/// The destination of a snapshot.
pub trait KeyWriter: Debug + Send {
    /// Begins a database with `keys` keys, `with_deadline` of them with a deadline. Most of its keys follow.
    fn database(&mut self, db: usize, keys: usize, with_deadline: usize);

    /// Writes a key of a database, with its deadline in wall milliseconds and its access clock.
    fn key(
        &mut self,
        key: (usize, &[u8]),
        deadline_ms: Option<i64>,
        accessed: (AccessClock, &Accesses),
        value: &Value,
    );

    /// The number of bytes written so far.
    fn written(&self) -> usize;

    /// Returns all bytes, after the last key has been written.
    fn finish(self: Box<Self>) -> Vec<u8>;
}

/// The cost of a key beside its bytes in the file, as a number of bytes that take as long.
const KEY_COST: usize = 64;

/// The number of keys that are written before the cost is looked at again: they may be larger than those before.
const KEYS_AT_ONCE: usize = 64;

/// The parts of a keyspace that a snapshot sees.
#[derive(Clone, Copy, Debug)]
pub(super) struct SnapshotView<'a> {
    pub(super) databases: &'a [Database],
    pub(super) hasher: &'a FixedState,
    pub(super) accesses: &'a Accesses,
}

/// The treatment of keys that are flushed before a snapshot has come to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushedKeys {
    /// They are written at once, as they were when the snapshot began.
    Written,
    /// They are left out: the reader of the snapshot is told of the flush.
    LeftOut,
}

/// The progress of a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotProgress {
    /// Keys written.
    pub written: u64,
    /// Keys at its start.
    pub total: u64,
}

#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) file: Box<dyn KeyWriter>,
    /// The database that the walk has reached; those before are written, as is this one before the cursor.
    db: usize,
    cursor: u64,
    /// The number of keys that the walk has passed.
    seen: usize,
    /// Keys ahead of the walk that were written out of turn, or are new.
    passed_over: BTreeSet<(usize, Box<[u8]>)>,
    names_bytes: usize,
    pub(super) flushed: FlushedKeys,
    /// The databases whose keys are left out from now on.
    left_out: BTreeSet<usize>,
    /// The instant until which keys are due, in wall milliseconds, when the snapshot began: it is of that instant.
    due: Option<i64>,
    pub(super) progress: SnapshotProgress,
}

impl Snapshot {
    /// A snapshot of the present instant. Keys that are due at `due`, in wall milliseconds, count as gone.
    pub(super) fn new(
        file: Box<dyn KeyWriter>,
        flushed: FlushedKeys,
        view: &SnapshotView<'_>,
        due: Option<i64>,
    ) -> Self {
        let total = view.databases.iter().map(|database| database.len() as u64).sum();
        Snapshot {
            file,
            db: 0,
            cursor: 0,
            seen: 0,
            passed_over: BTreeSet::new(),
            names_bytes: 0,
            flushed,
            left_out: BTreeSet::new(),
            due,
            progress: SnapshotProgress { written: 0, total },
        }
    }

    /// Bytes of the snapshot, approximately. O(1).
    pub(super) fn memory(&self) -> usize {
        let names = &self.passed_over;
        let entry_bytes = size_of::<(usize, Box<[u8]>)>();
        self.file.written()
            + self.names_bytes
            + tree_heap_bytes(usize::from(!names.is_empty()), names.len(), entry_bytes)
    }

    /// Writes keys until that has cost `most_cost`, or to the last key; returns whether that was reached. A key costs
    /// its bytes in the file, and [`KEY_COST`].
    pub(super) fn go_on(&mut self, view: &SnapshotView<'_>, most_cost: usize) -> bool {
        let start = self.cost();
        while self.db < view.databases.len() {
            if view.databases[self.db].len() == 0 || self.left_out.contains(&self.db) {
                (self.db, self.cursor) = (self.db + 1, 0);
                continue;
            }
            let left = most_cost.saturating_sub(self.cost() - start);
            if left == 0 {
                return false;
            }
            // A file without a header begins with no bytes.
            let of_one = (self.cost() / (self.seen + 1)).max(1);
            self.write_some(view, left.div_ceil(of_one).min(KEYS_AT_ONCE));
        }
        true
    }

    /// Writes all keys of these databases, which are about to be written, unless they are flushed and left out.
    pub(super) fn before_all(&mut self, view: &SnapshotView<'_>, databases: &[usize], are_flushed: bool) {
        if are_flushed && self.flushed == FlushedKeys::LeftOut {
            databases.iter().for_each(|db| self.leave_out(*db));
        } else if databases.iter().any(|db| view.databases[*db].len() > 0) {
            self.go_on(view, usize::MAX);
        }
    }

    /// Leaves the keys of a database out from now on. O(keys of it that the walk passes over).
    fn leave_out(&mut self, db: usize) {
        self.left_out.insert(db);
        let of_db = (db, Box::default())..(db + 1, Box::default());
        let gone = self.passed_over.extract_if(of_db, |_| true);
        self.names_bytes -= gone.map(|(_, key)| block(key.len())).sum::<usize>();
    }

    fn cost(&self) -> usize {
        self.file.written() + KEY_COST * self.seen
    }

    /// Writes up to `keys` keys of the present database.
    fn write_some(&mut self, view: &SnapshotView<'_>, keys: usize) {
        let (db, database) = (self.db, &view.databases[self.db]);
        let hash = |key: &[u8]| hash_of(view.hasher, key);
        if self.cursor == 0 {
            self.file.database(db, database.len(), database.with_deadline());
        }
        let cursor = database.scan(self.cursor, keys, self.due, hash, &mut |entry| {
            self.seen += 1;
            if !self.has_passed_over(db, entry.key()) {
                self.write(view, db, entry);
            }
        });
        (self.db, self.cursor) = if cursor == 0 { (db + 1, 0) } else { (db, cursor) };
    }

    fn has_passed_over(&mut self, db: usize, key: &[u8]) -> bool {
        !self.passed_over.is_empty() && {
            let is_there = self.passed_over.remove(&(db, key.into()));
            self.names_bytes -= if is_there { block(key.len()) } else { 0 };
            is_there
        }
    }

    /// Writes a key that is about to be changed, if the file is to have it and the walk has not reached it.
    pub(super) fn before_write(&mut self, view: &SnapshotView<'_>, db: usize, key: &[u8]) {
        if self.left_out.contains(&db) {
            return;
        }
        let hash = hash_of(view.hasher, key);
        let is_behind = db < self.db || (db == self.db && Database::position(hash) < self.cursor);
        if is_behind || !self.passed_over.insert((db, key.into())) {
            return;
        }
        self.names_bytes += block(key.len());
        if let Some(entry) = view.databases[db].find_live(hash, key, self.due) {
            self.write(view, db, entry);
        }
    }

    fn write(&mut self, view: &SnapshotView<'_>, db: usize, entry: &Entry) {
        let accessed = (entry.clock().get(), view.accesses);
        let key = entry.key();
        let deadline_ms = match entry.has_deadline() {
            true => view.databases[db].deadline(hash_of(view.hasher, key), key),
            false => None,
        };
        self.file.key((db, key), deadline_ms, accessed, &entry.value);
        self.progress.written += 1;
    }
}

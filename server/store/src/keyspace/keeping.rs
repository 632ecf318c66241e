//! Preservation of keys before they are written, and the making of snapshots.

use super::keeper::Keeper;
use super::keyspace::Keyspace;
use super::lag::Lag;
use super::snapshot::{FlushedKeys, KeyWriter, Snapshot, SnapshotProgress, SnapshotView};
use super::tx::Tx;

impl Keyspace {
    /// The keeper, made if there is none yet, for a component that is to be added.
    pub(super) fn keeper(&mut self) -> &mut Keeper {
        self.keeper.get_or_insert_default()
    }

    /// Drops the keeper if no component is left in it.
    pub(super) fn release_keeper(&mut self) {
        if self.keeper.as_ref().is_some_and(|keeper| keeper.lag.is_none() && keeper.snapshot.is_none()) {
            self.keeper = None;
        }
    }

    /// Bytes of the preserved data. O(1).
    pub fn kept_bytes(&self) -> usize {
        let of_lag = self.keeper.as_ref().and_then(|keeper| keeper.lag.as_ref()).map_or(0, Lag::memory);
        of_lag + self.snapshot_bytes()
    }

    /// Bytes of the snapshot that is being made. O(1).
    pub fn snapshot_bytes(&self) -> usize {
        self.keeper.as_ref().and_then(|keeper| keeper.snapshot.as_ref()).map_or(0, Snapshot::memory)
    }

    pub(super) fn view(&self) -> SnapshotView<'_> {
        SnapshotView { databases: &self.databases, hasher: &self.hasher, accesses: &self.accesses }
    }
}

impl Tx<'_> {
    /// Shows a key that is about to be written to the keeper's components.
    #[cold]
    #[inline(never)]
    pub(super) fn keep(&mut self, key: &[u8]) {
        let Some(mut keeper) = self.keyspace.keeper.take() else { return };
        if let Some(lag) = &mut keeper.lag {
            self.keep_in(lag, key);
        }
        keeper.show(|snapshot| snapshot.before_write(&self.keyspace.view(), self.db, key));
        self.keyspace.keeper = Some(keeper);
    }

    /// Shows all keys of these databases, which are about to be written, to the keeper's components. O(keys and their
    /// values); if the keys are flushed and a snapshot leaves such keys out, O(those that it passes over).
    #[cold]
    pub(super) fn keep_all(&mut self, databases: &[usize], are_flushed: bool) {
        let Some(mut keeper) = self.keyspace.keeper.take() else { return };
        if let Some(lag) = &mut keeper.lag {
            self.keep_all_in(lag, databases);
        }
        keeper.show(|snapshot| snapshot.before_all(&self.keyspace.view(), databases, are_flushed));
        self.keyspace.keeper = Some(keeper);
    }
}

impl Keyspace {
    /// Begins a snapshot of the present instant, into this file. One that has begun before is given up.
    pub fn begin_snapshot(&mut self, file: Box<dyn KeyWriter>, flushed: FlushedKeys) {
        let snapshot = Snapshot::new(file, flushed, &self.view(), self.expiry_backlog);
        self.keeper().snapshot = Some(snapshot);
    }

    /// Lets the snapshot that is being made have the keys that are flushed from now on: its reader is not told.
    pub fn keep_flushed_keys(&mut self) {
        if let Some(snapshot) = self.keeper.as_mut().and_then(|keeper| keeper.snapshot.as_mut()) {
            snapshot.flushed = FlushedKeys::Written;
        }
    }

    /// Writes keys at a cost of so many bytes; the file after the last. O(keys and values, and part of the table).
    pub fn go_on_with_snapshot(&mut self, most_cost: usize) -> Option<Vec<u8>> {
        let mut snapshot = self.keeper.as_mut()?.snapshot.take()?;
        let is_at_end = snapshot.go_on(&self.view(), most_cost);
        if is_at_end {
            self.release_keeper();
            return Some(snapshot.file.finish());
        }
        self.keeper().snapshot = Some(snapshot);
        None
    }

    /// Abandons the snapshot.
    pub fn end_snapshot(&mut self) {
        if let Some(keeper) = &mut self.keeper {
            keeper.snapshot = None;
            self.release_keeper();
        }
    }

    /// The progress of the snapshot, if there is one.
    pub fn snapshot_progress(&self) -> Option<SnapshotProgress> {
        Some(self.keeper.as_ref()?.snapshot.as_ref()?.progress)
    }

    /// A file of all keys, as they are now. O(keys and their values).
    pub fn write_all(&self, file: Box<dyn KeyWriter>) -> Vec<u8> {
        let mut snapshot = Snapshot::new(file, FlushedKeys::Written, &self.view(), self.expiry_backlog);
        snapshot.go_on(&self.view(), usize::MAX);
        snapshot.file.finish()
    }
}

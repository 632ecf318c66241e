//! Who is shown keys before they are written: what a replica has that lags, and a snapshot that is being made. While
//! there is neither, one test tells so.

use super::database::Database;
use super::keyspace::Keyspace;
use super::lag::Lag;
use super::snapshot::{Snapshot, View};
use super::tx::Tx;

/// Those who are shown keys before they are written.
#[derive(Debug, Default)]
pub(super) struct Keeper {
    pub(super) lag: Option<Lag>,
    pub(super) snapshot: Option<Snapshot>,
}

impl Keyspace {
    /// Those who are shown keys, among whom there will be one.
    pub(super) fn keeper(&mut self) -> &mut Keeper {
        self.keeper.get_or_insert_default()
    }

    /// One of them may have gone.
    pub(super) fn release_keeper(&mut self) {
        if self.keeper.as_ref().is_some_and(|keeper| keeper.lag.is_none() && keeper.snapshot.is_none()) {
            self.keeper = None;
        }
    }

    /// Bytes of what is kept. O(1).
    pub fn kept_bytes(&self) -> usize {
        let Some(keeper) = &self.keeper else { return 0 };
        let of_lag = keeper.lag.as_ref().map_or(0, Lag::memory);
        of_lag + keeper.snapshot.as_ref().map_or(0, Snapshot::memory)
    }

    /// What a snapshot sees.
    pub(super) fn view(&self) -> View<'_> {
        View {
            databases: &self.databases,
            hasher: &self.hasher,
            accesses: &self.accesses,
            due: self.expiry_backlog,
        }
    }
}

impl Tx<'_> {
    /// A key is about to be written, while somebody is shown that.
    #[cold]
    #[inline(never)]
    pub(super) fn keep(&mut self, key: &[u8]) {
        let Some(mut keeper) = self.keyspace.keeper.take() else { return };
        if let Some(lag) = &mut keeper.lag {
            self.keep_in(lag, key);
        }
        if let Some(snapshot) = &mut keeper.snapshot {
            snapshot.before_write(&self.keyspace.view(), self.db, key);
        }
        self.keyspace.keeper = Some(keeper);
    }

    /// All keys of these databases are about to be written. O(keys and their values).
    #[cold]
    pub(super) fn keep_all(&mut self, databases: &[usize]) {
        let Some(mut keeper) = self.keyspace.keeper.take() else { return };
        if let Some(lag) = &mut keeper.lag {
            self.keep_all_in(lag, databases);
        }
        if let Some(snapshot) = &mut keeper.snapshot {
            let is_empty = |db: &usize| Database::len(&self.keyspace.databases[*db]) == 0;
            if !databases.iter().all(is_empty) {
                snapshot.go_on(&self.keyspace.view(), usize::MAX);
            }
        }
        self.keyspace.keeper = Some(keeper);
    }
}

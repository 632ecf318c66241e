//! How keys are kept as they are while a replica lags, and put back when it takes over.

use super::actor::Actor;
use super::change::EntryId;
use super::event::events;
use super::keyspace::Keyspace;
use super::lag::{Kept, Lag};
use super::mark::Mark;
use super::tx::Tx;
use crate::time::Now;
use crate::values::Value;
use std::collections::BTreeSet;

impl Keyspace {
    /// From now on keys that match the pattern, or all, are kept as they are before they are written.
    pub fn begin_lag(&mut self, pattern: Option<&[u8]>) {
        self.lag = Some(Box::new(Lag::new(pattern)));
    }

    /// Nothing is kept any more.
    pub fn end_lag(&mut self) {
        self.lag = None;
    }

    /// Bytes of what is kept. O(1).
    pub fn lag_bytes(&self) -> usize {
        self.lag.as_deref().map_or(0, Lag::memory)
    }

    /// Makes what has been written what it was, as this actor, and keeps nothing any more: what has come since is
    /// deleted, what has gone or changed is restored, unless its deadline is over. Keys that are as they were, as far
    /// as `is_same` sees, stay untouched. O(keys written since, and their values).
    pub fn go_back(&mut self, is_same: impl Fn(&Value, &Value) -> bool, actor: &Actor<'_>, now: Now) {
        let Some(lag) = self.lag.take() else { return };
        let mut tx = self.tx_by(actor, 0, now);
        for ((db, key), kept) in lag.into_kept() {
            tx.select(db);
            let over_ms = tx.over_until_ms();
            match kept.filter(|kept| kept.deadline_ms.is_none_or(|deadline_ms| deadline_ms > over_ms)) {
                Some(kept) => tx.put_back(&key, kept, &is_same),
                None => drop(tx.delete(&key)),
            }
        }
    }
}

impl Tx<'_> {
    /// A key is about to be written, while a replica lags.
    #[cold]
    #[inline(never)]
    pub(super) fn keep(&mut self, key: &[u8]) {
        let (db, lag) = (self.db, self.keyspace.lag.take());
        let Some(mut lag) = lag else { return };
        if lag.wants(db, key) {
            let kept = self.peek(key).cloned().map(|value| Kept {
                value,
                deadline_ms: self.deadline(key),
                mark: self.marked(key).map(|(_, mark)| mark),
            });
            // Before this key, which is not there yet.
            if lag.has_many_new() {
                self.forget_gone(&mut lag);
            }
            lag.keep(db, key, kept);
        }
        self.keyspace.lag = Some(lag);
    }

    fn forget_gone(&mut self, lag: &mut Lag) {
        let hash = |key: &[u8]| self.hash(key);
        let databases = &self.keyspace.databases;
        lag.forget_gone(|db, key| databases[db].find(hash(key), key).is_some());
    }

    /// All keys of these databases are about to be written. O(keys and their values).
    #[cold]
    pub(super) fn keep_all(&mut self, databases: &[usize]) {
        let before = self.db;
        let mut keys = BTreeSet::new();
        for &db in databases {
            self.db = db;
            keys.extend(self.iter().map(|(key, _)| Box::<[u8]>::from(key)));
        }
        for &db in databases {
            self.db = db;
            keys.iter().for_each(|key| self.keep(key));
        }
        self.db = before;
    }

    /// Makes a key what it was.
    fn put_back(&mut self, key: &[u8], kept: Kept, is_same: impl Fn(&Value, &Value) -> bool) {
        let Kept { value, deadline_ms, mark } = kept;
        if !self.peek(key).is_some_and(|present| is_same(present, &value)) {
            self.restore_held(key, value, deadline_ms, mark);
        } else if self.deadline(key) != deadline_ms {
            match deadline_ms {
                Some(deadline_ms) => drop(self.set_deadline(key, deadline_ms)),
                None => drop(self.clear_deadline(key)),
            }
            self.changed(key, if deadline_ms.is_some() { events::EXPIRE } else { events::PERSIST });
        }
    }

    /// Makes a key with a value that it had, in place of what it holds; this mark stood beside it.
    fn restore_held(
        &mut self,
        key: &[u8],
        value: Value,
        deadline_ms: Option<i64>,
        mark: Option<Mark>,
    ) -> EntryId {
        let at = self.put(key, value, deadline_ms);
        self.restored(at, key, mark);
        self.changed(key, events::RESTORE);
        at
    }
}

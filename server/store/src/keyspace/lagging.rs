//! Recording of keys while a replica lags, and their restoration when it takes over.

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
    /// Begins to record keys that match the pattern, or all keys, before they are written.
    pub fn begin_lag(&mut self, pattern: Option<&[u8]>) {
        self.keeper().lag = Some(Lag::new(pattern));
    }

    /// Stops recording, and forgets the recorded keys.
    pub fn end_lag(&mut self) {
        self.take_lag();
    }

    fn take_lag(&mut self) -> Option<Lag> {
        let lag = self.keeper.as_mut()?.lag.take();
        self.release_keeper();
        lag
    }

    /// Restores the state at the start of the lag, as this actor, and stops recording. New keys are deleted. Gone or
    /// changed keys are restored, unless they are due or `is_same`. O(keys written since, and their values).
    pub fn go_back(&mut self, is_same: impl Fn(&Value, &Value) -> bool, actor: &Actor<'_>, now: Now) {
        let Some(lag) = self.take_lag() else { return };
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
    /// Keeps the state of a key, if it is written for the first time.
    pub(super) fn keep_in(&mut self, lag: &mut Lag, key: &[u8]) {
        let db = self.db;
        if lag.wants(db, key) {
            let kept = self.peek(key).cloned().map(|value| Kept {
                value,
                deadline_ms: self.deadline(key),
                mark: self.marked(key).map(|(_, mark)| mark),
            });
            // Called before this key is recorded, since a new key does not exist yet.
            if lag.has_many_new() {
                self.forget_gone(lag);
            }
            lag.keep(db, key, kept);
        }
    }

    fn forget_gone(&mut self, lag: &mut Lag) {
        let hash = |key: &[u8]| self.hash(key);
        let databases = &self.keyspace.databases;
        lag.forget_gone(|db, key| databases[db].find(hash(key), key).is_some());
    }

    /// Keeps the states of all keys of these databases. O(keys and their values).
    pub(super) fn keep_all_in(&mut self, lag: &mut Lag, databases: &[usize]) {
        let before = self.db;
        let mut keys = BTreeSet::new();
        for &db in databases {
            self.db = db;
            keys.extend(self.iter().map(|(key, _)| Box::<[u8]>::from(key)));
        }
        for &db in databases {
            self.db = db;
            keys.iter().for_each(|key| self.keep_in(lag, key));
        }
        self.db = before;
    }

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

    /// Replaces a key by an earlier value of it, with the mark that it had then.
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

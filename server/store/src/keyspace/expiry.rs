//! Expiry of keys, in the order of their deadlines.

use super::actor::Actor;
use super::change::{Cause, Change, Removal, What};
use super::database::{Database, Removed};
use super::db_key::hash_of;
use super::event::events;
use super::interests::Interests;
use super::keyspace::Keyspace;
use super::order::Order;
use crate::time::{ExpiryRule, Now};

impl Keyspace {
    /// The earliest deadline of a key, in wall milliseconds.
    pub fn next_deadline(&mut self) -> Option<i64> {
        self.next_expiry().map(|(deadline, _)| deadline)
    }

    /// The earliest deadline of a key, in wall milliseconds, and the order in which it was made.
    #[inline]
    pub fn next_expiry(&mut self) -> Option<(i64, Order)> {
        self.first_to_expire().map(|(first, _)| first)
    }

    /// The earliest deadline, the order in which it was made, and its database. O(databases that have had a deadline).
    #[inline]
    pub(super) fn first_to_expire(&mut self) -> Option<((i64, Order), usize)> {
        let mut first: Option<((i64, Order), usize)> = None;
        for (db, database) in self.databases[..self.timed].iter_mut().enumerate() {
            let Some((at, order)) = database.next_expiry() else { continue };
            let earlier =
                first.is_none_or(|((least, made), _)| at < least || (at == least && order.is_before(made)));
            if earlier {
                first = Some(((at, order), db));
            }
        }
        first
    }

    /// The number of keys with a deadline and of other timers of keys, in all databases.
    pub fn timers(&self) -> usize {
        let keys: usize = self.databases[..self.timed].iter().map(Database::with_deadline).sum();
        keys + self.key_timers.len() + self.field_timers()
    }

    /// Removes the key with the earliest deadline, if due at `now`, with its `expired` event. Whether it was. O(1).
    pub fn expire_next(&mut self, now: Now, rule: ExpiryRule) -> bool {
        self.expire_next_with(now, rule, |_| ())
    }

    /// Does the same as [`Keyspace::expire_next`], and calls `see` with the key before it goes.
    pub fn expire_next_with(&mut self, now: Now, rule: ExpiryRule, see: impl FnOnce(&[u8])) -> bool {
        let Some((_, db)) = self.first_to_expire() else { return false };
        let Keyspace { databases, hasher, .. } = self;
        let until = rule.until_ms(now.wall_ms());
        let Some(removed) = databases[db].remove_due(until, |key| hash_of(hasher, key)) else {
            return false;
        };
        see(removed.entry.key());
        self.expired(db, removed, now);
        true
    }

    fn expired(&mut self, db: usize, removed: Removed, now: Now) {
        let Removed { entry, mark, deadline } = removed;
        let turned = deadline.is_some_and(|(_, made)| self.is_turned(made));
        self.counters.expired_keys += 1;
        self.counters.dirty += 1;
        let actor = &Actor::ENGINE;
        if self.interests.any(Interests::KEYS.with(Interests::of_event(events::EXPIRED))) {
            let what = &What::Changed { event: Some(events::EXPIRED) };
            self.report(&Change { db, key: entry.key(), what, actor, now });
        }
        self.propagate_own_removal(db, entry.key(), self.lazy_removals.expire);
        if mark.is_some() || turned || self.interests.any(Interests::VALUES) {
            let what =
                &What::Removed(Removal { value: &entry.value, mark, cause: Cause::Deadline { turned } });
            self.report(&Change { db, key: entry.key(), what, actor, now });
        }
        self.garbage.add(entry.value);
    }

    /// Notes that the clock was advanced, which has brought all existing deadlines nearer.
    pub fn note_advance(&mut self) {
        if !self.quiet {
            self.turned = Some(self.last_order);
        }
    }

    /// Sets whether advances of the clock publish no unlock messages from now on.
    pub fn advance_quietly(&mut self, quiet: bool) {
        self.quiet = quiet;
    }

    /// Whether an advance of the clock that was not a quiet one has brought a deadline made at `made` nearer.
    pub(super) fn is_turned(&self, made: Order) -> bool {
        !self.quiet && self.turned.is_some_and(|turned| made == turned || made.is_before(turned))
    }

    /// Sets the expiry backlog; returns the one before. With a backlog, keys that are due up to this deadline (wall
    /// milliseconds) may not have been removed yet: they are too many to remove at once. `None`: no such key is left.
    /// Transactions never see these keys: the first look-up of one removes it, with its event.
    pub fn set_expiry_backlog(&mut self, until_ms: Option<i64>) -> Option<i64> {
        std::mem::replace(&mut self.expiry_backlog, until_ms)
    }

    /// Pauses or resumes expiry with the clients. During a pause, due keys are hidden, and go only if written.
    pub fn pause_expiry(&mut self, paused: bool) {
        self.expiry_paused = paused;
    }

    /// Whether due keys may not have been removed yet.
    #[inline]
    pub fn has_expiry_backlog(&self) -> bool {
        self.expiry_backlog.is_some()
    }

    /// Removes a due key of the backlog, with its `expired` event. O(1).
    pub fn expire_if_due(&mut self, db: usize, key: &[u8], now: Now) {
        if !self.expiry_paused {
            self.remove_if_due(db, key, now);
        }
    }

    /// Does the same as [`Keyspace::expire_if_due`], even while expiry is paused.
    pub(super) fn remove_if_due(&mut self, db: usize, key: &[u8], now: Now) {
        let Keyspace { databases, hasher, expiry_backlog, .. } = self;
        let Some(until) = *expiry_backlog else { return };
        let hash = hash_of(hasher, key);
        if databases[db].deadline(hash, key).is_none_or(|deadline| deadline > until) {
            if self.fields_timed > db {
                self.expire_fields_if_due(db, key, until, now);
            }
            return;
        }
        if let Some(removed) = databases[db].remove(hash, key, |key| hash_of(hasher, key)) {
            self.expired(db, removed, now);
        }
    }

    /// Removes a key as if its deadline had passed, with its `expired` event. O(1).
    pub fn expire_now(&mut self, db: usize, key: &[u8], now: Now) {
        if self.keeper.is_some() {
            self.tx(db, now).keep(key);
        }
        let Keyspace { databases, hasher, .. } = self;
        let hash = hash_of(hasher, key);
        if let Some(removed) = databases[db].remove(hash, key, |key| hash_of(hasher, key)) {
            self.expired(db, removed, now);
        }
    }

    /// Whether a deadline in the past has been set since the last call of [`Keyspace::expire_overdue`].
    #[inline]
    pub fn has_overdue(&self) -> bool {
        self.overdue
    }

    /// Removes the keys whose deadlines have been set in the past since the last call. So even the next command of the
    /// same transaction or script does not see them. O(1) if there are none.
    #[cold]
    pub fn expire_overdue(&mut self, now: Now, rule: ExpiryRule) {
        // With a backlog, transactions skip due keys, which expire in its order. While expiry is paused they stay.
        if std::mem::take(&mut self.overdue) && self.expiry_backlog.is_none() && !self.expiry_paused {
            while self.expire_next(now, rule) {}
            while self.expire_next_fields(now, rule, usize::MAX, |_| ()) > 0 {}
        }
    }
}

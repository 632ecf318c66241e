//! Expiry of fields of hashes, in the order of their deadlines.

use super::actor::Actor;
use super::change::{Cause, Change, EntryId, Removal, What};
use super::database::{Database, Removed};
use super::db_key::hash_of;
use super::event::events;
use super::interests::Interests;
use super::keyspace::Keyspace;
use super::order::Order;
use super::tx::Tx;
use crate::time::{ExpiryRule, Now};
use crate::values::Value;

impl Keyspace {
    /// The earliest deadline of a field, in wall milliseconds, and its order. O(databases that have had one).
    #[inline]
    pub fn next_field_expiry(&mut self) -> Option<(i64, Order)> {
        self.first_field_to_expire().map(|(first, _)| first)
    }

    #[inline]
    fn first_field_to_expire(&mut self) -> Option<((i64, Order), usize)> {
        let mut first: Option<((i64, Order), usize)> = None;
        for (db, database) in self.databases[..self.fields_timed].iter_mut().enumerate() {
            let Some((at, order)) = database.next_field_expiry() else { continue };
            let earlier =
                first.is_none_or(|((least, made), _)| at < least || (at == least && order.is_before(made)));
            if earlier {
                first = Some(((at, order), db));
            }
        }
        first
    }

    /// The number of hashes whose fields have deadlines, in all databases. O(databases).
    pub(super) fn field_timers(&self) -> usize {
        self.databases[..self.fields_timed].iter().map(Database::with_timed_fields).sum()
    }

    /// The number of a database's hashes whose fields have deadlines. O(1).
    pub fn with_timed_fields(&self, db: usize) -> usize {
        self.databases[db].with_timed_fields()
    }

    /// Removes up to `most` fields due at `now` from the hash with the earliest deadline, with their event. Calls `see`
    /// with the key before; returns their number. O(log fields) each, O(fields) for all of a hash.
    pub fn expire_next_fields(
        &mut self,
        now: Now,
        rule: ExpiryRule,
        most: usize,
        see: impl FnOnce(&[u8]),
    ) -> usize {
        let Some((_, db)) = self.first_field_to_expire() else { return 0 };
        let until_ms = rule.until_ms(now.wall_ms());
        let Some(id) = self.databases[db].first_with_due_field(until_ms) else { return 0 };
        let key: Box<[u8]> = self.databases[db].entry(id).key().into();
        see(&key);
        self.expire_fields(db, id, &key, until_ms, most, now)
    }

    /// Removes a key's due fields that are left in the backlog, with their event. O(log fields) each.
    pub(super) fn expire_fields_if_due(&mut self, db: usize, key: &[u8], until_ms: i64, now: Now) {
        let hash = hash_of(&self.hasher, key);
        if let Some(id) = self.databases[db].find_with_due_field(hash, key, until_ms) {
            self.expire_fields(db, id, key, until_ms, usize::MAX, now);
        }
    }

    fn expire_fields(
        &mut self,
        db: usize,
        id: u32,
        key: &[u8],
        until_ms: i64,
        most: usize,
        now: Now,
    ) -> usize {
        let Value::Hash(hash) = &self.databases[db].entry(id).value else { return 0 };
        let turned = hash.first_deadline().is_some_and(|(_, made)| self.is_turned(Order::of(made)));
        let cause = Cause::Deadline { turned };
        let is_over = hash.is_over(until_ms);
        let expired =
            if is_over { hash.len() } else { self.remove_due_fields(db, id, key, until_ms, most, now) };
        self.counters.expired_fields += expired as u64;
        self.counters.dirty += expired as u64;
        if self.interests.any(Interests::KEYS.with(Interests::of_event(events::HEXPIRED))) {
            let what = &What::Changed { event: Some(events::HEXPIRED) };
            self.report(&Change { db, key, what, actor: &Actor::ENGINE, now });
        }
        if is_over {
            self.remove_over(db, key, cause, now);
        } else {
            self.databases[db].set_field_timer(id);
        }
        expired
    }

    /// Removes up to `most` due fields of a hash that keeps at least one field.
    fn remove_due_fields(
        &mut self,
        db: usize,
        id: u32,
        key: &[u8],
        until_ms: i64,
        most: usize,
        now: Now,
    ) -> usize {
        for removed in 0..most {
            self.report_due_field(db, id, key, until_ms, now);
            self.propagate_due_field(db, id, key, until_ms);
            let Value::Hash(hash) = &mut self.databases[db].edit_entry(id).value else { return removed };
            if !hash.remove_first_over(until_ms) {
                return removed;
            }
        }
        most
    }

    fn report_due_field(&mut self, db: usize, id: u32, key: &[u8], until_ms: i64, now: Now) {
        let entry = self.databases[db].entry(id);
        let Value::Hash(hash) = &entry.value else { return };
        if !entry.is_marked() {
            return;
        }
        let Some(field) = hash.first_over(until_ms).map(Box::<[u8]>::from) else { return };
        let turned = hash.first_deadline().is_some_and(|(_, made)| self.is_turned(Order::of(made)));
        let cause = Cause::Deadline { turned };
        let what = &What::FieldRemoved { at: EntryId(id), field: &field, cause };
        self.report(&Change { db, key, what, actor: &Actor::ENGINE, now });
    }

    /// Propagates the removal of the next due field.
    fn propagate_due_field(&mut self, db: usize, id: u32, key: &[u8], until_ms: i64) {
        if !self.interests.any(Interests::PROPAGATION) {
            return;
        }
        let Value::Hash(hash) = &self.databases[db].entry(id).value else { return };
        if let Some(field) = hash.first_over(until_ms).map(Box::<[u8]>::from) {
            self.report_own_request(db, &[b"HDEL", key, &field]);
        }
    }

    /// Removes a hash whose fields are all over.
    fn remove_over(&mut self, db: usize, key: &[u8], cause: Cause, now: Now) {
        let Keyspace { databases, hasher, .. } = self;
        let hash = hash_of(hasher, key);
        let Some(removed) = databases[db].remove(hash, key, |key| hash_of(hasher, key)) else { return };
        let Removed { entry, mark, .. } = removed;
        let actor = &Actor::ENGINE;
        let turned = cause == (Cause::Deadline { turned: true });
        if mark.is_some() || turned || self.interests.any(Interests::VALUES) {
            let what = &What::Removed(Removal { value: &entry.value, mark, cause });
            self.report(&Change { db, key, what, actor, now });
        }
        if self.interests.any(Interests::KEYS.with(Interests::of_event(events::DEL))) {
            let what = &What::Changed { event: Some(events::DEL) };
            self.report(&Change { db, key, what, actor, now });
        }
        self.propagate_own_removal(db, key, self.lazy_removals.expire);
        self.garbage.add(entry.value);
    }
}

impl Tx<'_> {
    /// Sets the deadline of a hash's field, in wall milliseconds; returns whether the field exists. A field whose
    /// deadline is in the past is due when the command ends. O(log fields).
    pub fn set_field_deadline(&mut self, key: &[u8], field: &[u8], deadline_ms: i64) -> bool {
        let hash = self.hash_to_write(key);
        let order = self.keyspace.next_order();
        let Keyspace { databases, encodings, .. } = &mut *self.keyspace;
        let Some((id, entry)) = databases[self.db].find_mut(hash, key) else { return false };
        let Value::Hash(value) = &mut entry.value else { return false };
        let is_set = value.set_deadline(field, deadline_ms, order.number(), encodings);
        self.note_fields(EntryId(id));
        is_set
    }

    /// Removes a field as if its deadline had passed; returns whether it existed. The caller reports the event, and
    /// removes the key when no field is left. O(log fields).
    pub fn expire_field(&mut self, key: &[u8], field: &[u8]) -> bool {
        let hash = self.hash_to_write(key);
        let database = &self.keyspace.databases[self.db];
        let Some(id) = database.find_id(hash, key) else { return false };
        let entry = database.entry(id);
        let is_there = matches!(&entry.value, Value::Hash(hash) if hash.contains(field));
        if is_there && entry.is_marked() {
            let what =
                &What::FieldRemoved { at: EntryId(id), field, cause: Cause::Deadline { turned: false } };
            let (db, actor, now) = (self.db, self.actor, self.now);
            self.keyspace.report(&Change { db, key, what, actor, now });
        }
        let entry = self.keyspace.databases[self.db].edit_entry(id);
        let Value::Hash(hash) = &mut entry.value else { return false };
        let removed = hash.remove(field);
        self.keyspace.counters.expired_fields += u64::from(removed);
        removed
    }

    pub(super) fn note_fields(&mut self, at: EntryId) {
        let Keyspace { databases, fields_timed, overdue, .. } = &mut *self.keyspace;
        let first = match &databases[self.db].entry(at.0).value {
            Value::Hash(hash) => hash.first_deadline(),
            _ => None,
        };
        if let Some((first_ms, _)) = first {
            *overdue |= first_ms <= self.now.wall_ms();
            *fields_timed = (*fields_timed).max(self.db + 1);
            databases[self.db].set_field_timer(at.0);
        }
    }
}

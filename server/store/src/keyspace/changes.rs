//! Reports of a transaction's changes: the only source of [`Change`]s, except for deadlines. Only the check is inlined.

use super::change::{Cause, Change, EntryId, Flushed, Removal, What};
use super::database::{Database, Removed};
use super::effects;
use super::event::Event;
use super::interests::Interests;
use super::keyspace::Keyspace;
use super::mark::Mark;
use super::tx::Tx;
use super::waiters::Signal;
use crate::values::Value;

impl Tx<'_> {
    /// Reports that the key has changed: breaks transactions that watch it, wakes its waiters, publishes the event.
    #[inline]
    pub fn changed(&mut self, key: &[u8], event: Event) {
        self.keyspace.counters.dirty += 1;
        if self.keyspace.interests.any(Interests::KEYS.with(Interests::of_event(event))) {
            self.report_changed(key, Some(event));
        }
    }

    /// Reports `times` changes of one kind at once, each with its event.
    pub fn changed_times(&mut self, key: &[u8], event: Event, times: usize) {
        if let Some(more) = times.checked_sub(1) {
            self.changed(key, event);
            self.keyspace.counters.dirty += more as u64;
            if self.keyspace.interests.any(Interests::of_event(event)) {
                (0..more).for_each(|_| self.notify(key, event));
            }
        }
    }

    /// Reports a change that the owner of the marks knows already, and that the caller propagates by
    /// [`Tx::propagate_key`]. Only waiters, watchers and the subscribers of the event or of every change are notified.
    #[inline]
    pub fn changed_as_known(&mut self, key: &[u8], event: Event) {
        self.keyspace.counters.dirty += 1;
        if self.keyspace.interests.any(Interests::QUEUES.with(Interests::of_event(event))) {
            self.report_changed(key, Some(event));
        }
    }

    /// Reports that the key has changed, without an event.
    #[inline]
    pub fn touched(&mut self, key: &[u8]) {
        self.keyspace.counters.dirty += 1;
        if self.keyspace.interests.any(Interests::KEYS) {
            self.report_changed(key, None);
        }
    }

    /// Counts a change and publishes its event, without breaking transactions or waking waiters. Read positions of a
    /// stream's groups are no part of its content.
    pub fn changed_quietly(&mut self, key: &[u8], event: Event) {
        self.count_quiet_changes(key, 1);
        self.notify(key, event);
    }

    /// Counts quiet changes that have no event.
    #[inline]
    pub fn count_quiet_changes(&mut self, key: &[u8], changes: usize) {
        self.count_changes(changes);
        if changes > 0 && self.keyspace.interests.any(Interests::QUIET) {
            self.report_quiet_change(key);
        }
    }

    #[inline(never)]
    fn report_quiet_change(&mut self, key: &[u8]) {
        self.report(key, &What::ChangedQuietly);
    }

    /// Counts changes that are not reported otherwise.
    #[inline]
    pub fn count_changes(&mut self, changes: usize) {
        self.keyspace.counters.dirty += changes as u64;
    }

    /// Lets the waiters on a key check it again, though its content has not changed.
    pub fn wake_waiters(&mut self, key: &[u8]) {
        self.keyspace.waiters.signal(self.db, key, Signal::Changed);
    }

    #[inline(never)]
    fn report_changed(&mut self, key: &[u8], event: Option<Event>) {
        self.report(key, &What::Changed { event });
    }

    /// Publishes an event without reporting that the key has changed.
    #[inline]
    pub fn notify(&mut self, key: &[u8], event: Event) {
        let Keyspace { effects, interests, .. } = &mut *self.keyspace;
        effects::notify(effects, *interests, self.db, key, event);
    }

    /// Reports that a field has been added to the hash of a key.
    #[inline]
    pub fn field_added(&mut self, at: EntryId, key: &[u8], field: &[u8]) {
        if self.keyspace.interests.any(Interests::ADDED) && !self.keyspace.mark_for_thread(self.db, at, field)
        {
            self.report_field_added(at, key, field);
        }
    }

    #[inline(never)]
    pub(super) fn report_field_added(&mut self, at: EntryId, key: &[u8], field: &[u8]) {
        self.report(key, &What::FieldAdded { at, field });
    }

    /// Reports that a field of the hash of a key has a greater number than before. Only needed for marked keys.
    #[cold]
    #[inline(never)]
    pub fn field_raised(&mut self, key: &[u8], field: &[u8]) {
        self.report(key, &What::FieldRaised { field });
    }

    /// Reports that a marked string has another deadline.
    #[cold]
    #[inline(never)]
    pub(super) fn redated(&mut self, key: &[u8]) {
        self.report(key, &What::Redated);
    }

    /// Reports that an existing field is about to be removed from the hash of a key. Only needed for marked keys.
    pub fn field_removed(&mut self, at: EntryId, key: &[u8], field: &[u8]) {
        if self.database().entry(at.0).is_marked() {
            self.report(key, &What::FieldRemoved { at, field, cause: Cause::Command });
        }
    }

    /// Reports that a key has been set to a string because it was absent. A deadline must have been set before.
    #[inline]
    pub fn set_if_absent(&mut self, at: EntryId, key: &[u8], text: &[u8]) {
        if self.keyspace.interests.any(Interests::ADDED) {
            self.report_set_if_absent(at, key, text);
        }
    }

    #[inline(never)]
    fn report_set_if_absent(&mut self, at: EntryId, key: &[u8], text: &[u8]) {
        self.report(key, &What::SetIfAbsent { at, text });
    }

    /// Reports that a key has another value and has kept its mark. Called if it is marked or values are wanted.
    #[cold]
    #[inline(never)]
    pub(super) fn replaced(&mut self, at: EntryId, key: &[u8], before: &Value) {
        self.report(key, &What::Replaced { at, before });
    }

    #[inline(always)]
    pub(super) fn removed(&mut self, key: &[u8], removed: &Removed, cause: Cause) {
        if removed.mark.is_some() || self.keyspace.interests.any(Interests::VALUES) {
            self.report_removed(key, removed, cause);
        }
    }

    #[inline(always)]
    pub(super) fn removed_by_command(&mut self, hash: u64, key: &[u8], removed: &Removed) {
        if !self.keyspace.take_from_thread((self.db, hash), removed, self.actor) {
            self.removed(key, removed, Cause::Command);
        }
    }

    #[inline(never)]
    fn report_removed(&mut self, key: &[u8], removed: &Removed, cause: Cause) {
        let Removed { entry, mark, .. } = removed;
        self.report(key, &What::Removed(Removal { value: &entry.value, mark: *mark, cause }));
    }

    /// Reports that a key has been given the value of another key, which is gone if it was `moved`.
    pub(super) fn copied(
        &mut self,
        (at, key): (EntryId, &[u8]),
        (from_db, from): (usize, &[u8]),
        mark: Option<Mark>,
        moved: bool,
    ) {
        let is_of_interest = || moved || self.keyspace.waiters.waits_for(self.db, key);
        if mark.is_some() || (self.keyspace.interests.any(Interests::VALUES) && is_of_interest()) {
            self.report(key, &What::Copied { at, from_db, from, mark, moved });
        }
    }

    /// Reports a new key whose value another server has written, or whose earlier value is restored with this mark.
    pub(super) fn restored(&mut self, at: EntryId, key: &[u8], mark: Option<Mark>) {
        if self.keyspace.interests.any(Interests::ADDED) {
            self.report(key, &What::Restored { at, mark });
        }
    }

    pub(super) fn flushed(&mut self, gone: &Database, waited_for: &[Box<[u8]>], is_rest: bool) {
        let hasher = self.keyspace.hasher.clone();
        self.report(b"", &What::Flushed(Flushed { gone, hasher: &hasher, waited_for, is_rest }));
    }

    /// Reports that the keys of a database are about to be exchanged with those of another, or have been.
    pub(super) fn exchanging(&mut self, db: usize, what: &What<'_>) {
        if self.keyspace.interests.any(Interests::EXCHANGES) {
            self.keyspace.report(&Change { db, key: b"", what, actor: self.actor, now: self.now });
        }
    }

    /// Reports that the keys of two databases have been exchanged.
    pub(super) fn swapped(&mut self, one: usize, other: usize) {
        self.report(b"", &What::Swapped { one, other });
    }

    #[inline(always)]
    pub(super) fn report(&mut self, key: &[u8], what: &What<'_>) {
        self.keyspace.report(&Change { db: self.db, key, what, actor: self.actor, now: self.now });
    }
}

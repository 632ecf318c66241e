//! Subscribers of changes, which live above the keyspace, and their access to the keyspace during a change.

use super::change::{Change, EntryId};
use super::database::Database;
use super::db_key::hash_of;
use super::effects::Effect;
use super::event::Event;
use super::interests::Interests;
use super::key_timers::{KeyTimer, KeyTimers};
use super::listeners::Listeners;
use super::mark::Mark;
use super::marking::Marking;
use super::order::Order;
use super::propagated::Propagated;
use super::waiters::Waiters;
use crate::values::Value;
use foldhash::quality::FixedState;
use lockwheel_resp::allocation;
use std::any::Any;
use std::collections::VecDeque;
use std::fmt::Debug;

/// A subscriber of changes: called for each change, within the command.
pub trait Subscriber: Any + Debug + Send {
    /// The kinds of change that the subscriber wants.
    fn interests(&self) -> Interests;

    /// Handles a change of a key. Must not take longer than the command that made the change.
    fn changed(&mut self, change: &Change<'_>, context: &mut Context<'_>);

    /// Whether the subscriber collects what is propagated.
    fn is_propagator(&self) -> bool {
        false
    }

    /// Handles what a command propagates in its place. Returns whether it must also be told of the end of the command.
    fn propagated(&mut self, _what: &Propagated<'_>) -> bool {
        false
    }

    /// Bytes of memory that the subscriber takes. O(1).
    fn memory(&self) -> usize {
        0
    }

    /// Whether the subscriber owns the marks beside entries. While the owner is idle, the keyspace marks a thread's
    /// hash by itself, and drops the mark when the thread gives the hash back.
    fn is_marker(&self) -> bool {
        false
    }
}

/// A subscriber's view of the keyspace during a callback, or when a command calls it.
#[derive(Debug)]
pub struct Context<'a> {
    pub(super) database: &'a mut Database,
    pub(super) hasher: &'a FixedState,
    pub(super) waiters: &'a Waiters,
    pub(super) effects: &'a mut VecDeque<Effect>,
    pub(super) is_propagation_due: &'a mut bool,
    pub(super) is_command_unpropagated: &'a mut bool,
    pub(super) key_timers: &'a mut KeyTimers,
    pub(super) marking: &'a mut Marking,
    pub(super) db: usize,
    pub(super) listeners: Listeners,
    pub(super) server_audience: bool,
    pub(super) expiry_backlog: Option<i64>,
}

impl Context<'_> {
    /// The value of an entry.
    pub fn value(&self, at: EntryId) -> &Value {
        &self.database.entry(at.0).value
    }

    /// Whether the key of an entry has a deadline.
    pub fn has_deadline(&self, at: EntryId) -> bool {
        self.database.entry(at.0).has_deadline()
    }

    /// The value of another key of the same database. O(1).
    pub fn peek(&self, key: &[u8]) -> Option<&Value> {
        let live = self.database.find_live(hash_of(self.hasher, key), key, self.expiry_backlog);
        live.map(|entry| &entry.value)
    }

    /// The entry of a key of the same database. O(1).
    pub fn entry(&self, key: &[u8]) -> Option<EntryId> {
        self.database.find_id(hash_of(self.hasher, key), key).map(EntryId)
    }

    /// Returns [`Context::entry`], with a fast path for a likely entry of the same database. O(length of the key).
    #[inline]
    pub fn entry_like(&self, likely: EntryId, key: &[u8]) -> Option<EntryId> {
        if self.database.is_entry_of(likely.0, key) { Some(likely) } else { self.entry(key) }
    }

    /// The deadline of an entry, in wall milliseconds. O(1).
    pub fn deadline(&self, at: EntryId) -> Option<i64> {
        self.database.deadline_of(at.0)
    }

    /// The mark beside an entry.
    #[inline]
    pub fn mark(&self, at: EntryId) -> Option<Mark> {
        self.database.mark(at.0)
    }

    /// The marked keys of the database, with their entries, in an order that depends only on the insertions. O(keys).
    pub fn marked(&self) -> Vec<(Box<[u8]>, EntryId)> {
        let keys: Vec<Box<[u8]>> = self.database.marked().map(|(entry, _)| entry.key().into()).collect();
        keys.into_iter().filter_map(|key| self.entry(&key).map(|at| (key, at))).collect()
    }

    /// Puts a mark beside an entry, replacing any other. The owner of all marks gets the entry's value when it goes.
    #[inline(always)]
    pub fn set_mark(&mut self, at: EntryId, mark: Mark) {
        self.database.set_mark(at.0, mark);
    }

    /// Removes the mark beside an entry.
    #[inline]
    pub fn take_mark(&mut self, at: EntryId) -> Option<Mark> {
        self.database.take_mark(at.0)
    }

    /// The number of a new mark, or of another object that shares the numbering.
    #[inline]
    pub fn next_number(&mut self) -> u64 {
        self.marking.next_number()
    }

    /// Sets whether the owner of the marks has nobody to notify. Reset when the owner is accessed again.
    #[inline]
    pub fn set_idle(&mut self, is_idle: bool) {
        self.marking.set_idle(is_idle);
    }

    /// Notes that the last hold of a key was given back. O(1).
    pub fn remember_given_back(&mut self, db: usize, key: &[u8]) {
        self.marking.given_back.remember(db, hash_of(self.hasher, key));
    }

    /// Notes that the last hold of a key has ended otherwise. O(1).
    pub fn forget_given_back(&mut self, db: usize, key: &[u8]) {
        self.marking.given_back.forget(db, hash_of(self.hasher, key));
    }

    /// Whether the last hold of a key was given back, as far as that is remembered. O(1).
    pub fn was_given_back(&self, db: usize, key: &[u8]) -> bool {
        self.marking.given_back.has(db, hash_of(self.hasher, key))
    }

    /// Whether a key of the same database has waiters.
    pub fn is_waited_for(&self, key: &[u8]) -> bool {
        self.waiters.waits_for(self.db, key)
    }

    /// Whether a key of the same database has a waiter in a line. O(log n).
    pub fn is_waited_for_in_line(&self, key: &[u8], line: &str) -> bool {
        self.waiters.first_in_line(self.db, key, line).is_some()
    }

    /// The labels of a database's waiters, each with one of the keys waited for. O(n).
    pub fn labels_in(&self, db: usize) -> impl Iterator<Item = (&[u8], &[u8])> {
        let by_label = self.waiters.by_label();
        by_label.labels().filter_map(move |label| Some((label, by_label.of(db, label).next()?)))
    }

    /// Whether a database has a waiter with this label. O(log n).
    pub fn waits_as(&self, db: usize, label: &[u8]) -> bool {
        self.waiters.by_label().of(db, label).next().is_some()
    }

    /// Whether a key of any database has waiters.
    pub fn is_waited_for_in(&self, db: usize, key: &[u8]) -> bool {
        self.waiters.waits_for(db, key)
    }

    /// Sets a timer of a key of this database, in wall milliseconds, instead of its last of this kind. O(log n).
    pub fn set_key_timer(&mut self, key: &[u8], timer: KeyTimer, at_ms: i64) {
        self.key_timers.set((self.db, key.into(), timer), at_ms, Order::default());
    }

    /// Cancels the timer of a key of any database, if there is one. O(log n).
    pub fn cancel_key_timer(&mut self, db: usize, key: &[u8], timer: KeyTimer) {
        self.key_timers.cancel(&(db, key.into(), timer));
    }

    /// Whether messages may have receivers.
    pub fn has_audience(&self) -> bool {
        self.listeners != Listeners::None
    }

    /// Whether a client is subscribed to one of the server's own channels.
    #[inline]
    pub fn has_server_audience(&self) -> bool {
        self.server_audience
    }

    /// Has an effect delivered when the command ends.
    pub fn push_effect(&mut self, effect: Effect) {
        self.effects.push_back(effect);
    }

    /// Has changes collected when the command ends, and propagated when the command, script or transaction ends.
    #[inline]
    pub fn set_propagation_due(&mut self) {
        *self.is_propagation_due = true;
        *self.is_command_unpropagated = true;
    }

    /// Has an effect delivered before the event of this key's change, just reported: Redis notifies of the key first.
    pub fn push_before_event(&mut self, effect: Effect, key: &[u8], of: Event) {
        let is_it = |last: &Effect| match last {
            Effect::Notify { db, event, key: its } => (*db, *event, &**its) == (self.db, of, key),
            _ => false,
        };
        let at = self.effects.len() - usize::from(self.effects.back().is_some_and(is_it));
        self.effects.insert(at, effect);
    }

    /// Notes that the next of a client's leases to be renewed has changed: the engine sets its timer.
    pub fn leases_changed(&mut self, session: u64) {
        self.effects.push_back(Effect::LeasesChanged { session });
    }

    /// Asks for follow-up work on a field of a key when the command ends, in a transaction of the engine itself.
    pub fn follow_up(&mut self, key: Box<[u8]>, field: Box<[u8]>) {
        self.effects.push_back(Effect::FollowUp { db: self.db, key, field });
    }

    /// Sends a message to a channel when the command ends.
    pub fn publish(&mut self, channel: &[u8], message: &[u8]) {
        let [channel, message] = [channel, message].map(allocation::copy);
        self.effects.push_back(Effect::Publish { channel, message });
    }
}

#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) interests: Interests,
    pub(super) subscriber: Box<dyn Subscriber>,
}

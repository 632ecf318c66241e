//! The transaction: the only way to access keys.

use super::accesses::Accesses;
use super::actor::{Actor, CalledBy};
use super::database::Database;
use super::db_key::hash_of;
use super::effects::Effect;
use super::key_timers::KeyTimer;
use super::keyspace::Keyspace;
use super::listeners::Listeners;
use super::order::Order;
use super::propagated::PropagatedForm;
use super::rng::Rng;
use super::subscriber::{Context, Subscriber};
use super::waiters::{Place, Waiter, WaiterId};
use crate::time::Now;
use crate::values::Encodings;
use lockwheel_resp::allocation;
use std::num::NonZeroU64;
use std::ops::Bound;

/// The error of a key that holds another kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongType;

impl Keyspace {
    /// Begins a transaction of the engine itself on database `db` at the instant `now`.
    pub fn tx(&mut self, db: usize, now: Now) -> Tx<'_> {
        self.tx_by(&Actor::ENGINE, db, now)
    }

    /// Begins a transaction of this actor, to whom its changes are attributed.
    #[inline(always)]
    pub fn tx_by<'a>(&'a mut self, actor: &'a Actor<'a>, db: usize, now: Now) -> Tx<'a> {
        Tx { keyspace: self, db, now, actor }
    }
}

/// One command's view of one database at one instant, in which due keys are gone. A handler changes values through the
/// transaction and then calls [`Tx::changed`]; all notifications follow from that.
#[derive(Debug)]
pub struct Tx<'a> {
    pub(super) keyspace: &'a mut Keyspace,
    pub(super) db: usize,
    pub(super) now: Now,
    pub(super) actor: &'a Actor<'a>,
}

impl Tx<'_> {
    /// The number of the database.
    pub fn db(&self) -> usize {
        self.db
    }

    /// Switches to another database, which must exist.
    pub fn select(&mut self, db: usize) {
        assert!(db < self.keyspace.databases.len(), "the command has checked the number of the database");
        self.db = db;
    }

    /// The number of databases.
    pub fn databases(&self) -> usize {
        self.keyspace.databases.len()
    }

    /// The instant, the same from the start of a command or script to its end.
    pub fn now(&self) -> Now {
        self.now
    }

    /// The client that sent the command. `None` if a deadline or the engine itself acts.
    pub fn client(&self) -> Option<u64> {
        self.actor.session.map(NonZeroU64::get)
    }

    /// The caller of the command.
    pub fn called_by(&self) -> CalledBy<'_> {
        self.actor.called_by
    }

    /// Whether a deadline that is to be set (wall milliseconds) has passed, so that the key goes at once. A replica
    /// keeps the key until its master reports the end.
    pub fn has_passed(&self, deadline_ms: i64) -> bool {
        let by_master = self.keyspace.expiry_paused && self.keyspace.expiry_backlog.is_none();
        deadline_ms <= self.now.wall_ms() && !by_master
    }

    /// The limits at which values change their encoding.
    pub fn encodings(&self) -> &Encodings {
        &self.keyspace.encodings
    }

    /// Whether a wait may end after the last instant that the wall clock can represent.
    pub fn takes_far_timeouts(&self) -> bool {
        self.keyspace.far_timeouts
    }

    /// The longest string value, in bytes.
    pub fn max_string(&self) -> usize {
        self.keyspace.max_string
    }

    /// Whether all keys are in one database, as in a cluster.
    pub fn in_cluster(&self) -> bool {
        self.keyspace.in_cluster
    }

    /// Whether small integers count as shared.
    pub fn shares_integers(&self) -> bool {
        self.keyspace.shares_integers
    }

    /// The effect of accesses at the present instant.
    pub fn accesses(&self) -> &Accesses {
        &self.keyspace.accesses
    }

    /// The generator of random choices, from the engine's seed.
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.keyspace.rng
    }

    pub(super) fn hash(&self, key: &[u8]) -> u64 {
        hash_of(&self.keyspace.hasher, key)
    }

    /// The hash of a key that is to be looked up. A due key of the backlog expires first.
    #[inline]
    pub(super) fn expire_then_hash(&mut self, key: &[u8]) -> u64 {
        if self.keyspace.expiry_backlog.is_some() {
            return self.hash_in_backlog(key);
        }
        self.hash(key)
    }

    /// Returns the hash of a key that is to be looked up during a backlog. While expiry is paused, due keys stay, and
    /// must not be found: for these the result is a hash that does not match.
    #[cold]
    fn hash_in_backlog(&mut self, key: &[u8]) -> u64 {
        self.keyspace.expire_if_due(self.db, key, self.now);
        let (hash, until_ms) = (self.hash(key), self.keyspace.expiry_backlog);
        let is_due =
            |until_ms| self.database().deadline(hash, key).is_some_and(|deadline_ms| deadline_ms <= until_ms);
        if self.keyspace.expiry_paused && until_ms.is_some_and(is_due) { !hash } else { hash }
    }

    /// The hash of a key to be written, which the keeper sees first. Inlined, since it is a good part of a write.
    #[inline(always)]
    pub(super) fn hash_to_write(&mut self, key: &[u8]) -> u64 {
        if self.keyspace.expiry_backlog.is_some() {
            self.expire_to_write(key);
        }
        if self.keyspace.keeper.is_some() {
            self.keep(key);
        }
        self.hash(key)
    }

    /// Removes a due key of the backlog that is to be written, even while expiry is paused.
    #[cold]
    #[inline(never)]
    fn expire_to_write(&mut self, key: &[u8]) {
        self.keyspace.remove_if_due(self.db, key, self.now);
    }

    pub(super) fn database(&self) -> &Database {
        &self.keyspace.databases[self.db]
    }

    /// Whether messages may have receivers.
    #[inline]
    pub fn has_audience(&self) -> bool {
        self.keyspace.listeners != Listeners::None
    }

    /// Whether a client is subscribed to one of the server's own channels.
    pub fn has_server_audience(&self) -> bool {
        self.keyspace.has_server_audience()
    }

    /// Has an effect delivered when the command ends.
    pub fn push_effect(&mut self, effect: Effect) {
        self.keyspace.effects.push_back(effect);
    }

    /// Sends a message to a channel when the command ends, unless nobody can receive it.
    pub fn publish(&mut self, channel: &[u8], message: &[u8]) {
        match self.keyspace.listeners {
            Listeners::None => {}
            Listeners::Propagated => self.report_form(PropagatedForm::Message(channel, message)),
            Listeners::Any => {
                let [channel, message] = [channel, message].map(allocation::copy);
                self.keyspace.effects.push_back(Effect::Publish { channel, message });
            }
        }
    }

    /// The subscriber of this type, if there is one. O(subscribers).
    pub fn subscriber<T: Subscriber>(&self) -> Option<&T> {
        self.keyspace.subscriber()
    }

    /// The subscriber of this type, for details that changes lack, and its view of the database. O(subscribers).
    #[inline]
    pub fn subscriber_mut<T: Subscriber>(&mut self) -> Option<(&mut T, Context<'_>)> {
        self.keyspace.subscriber_mut(self.db)
    }

    /// The owner of the marks, if it is of this type. O(1).
    #[inline]
    pub fn marker<T: Subscriber>(&self) -> Option<&T> {
        self.keyspace.marker()
    }

    /// The owner of the marks, to be changed, with its view of the database. O(1).
    #[inline]
    pub fn marker_mut<T: Subscriber>(&mut self) -> Option<(&mut T, Context<'_>)> {
        self.keyspace.marker_mut(self.db)
    }

    /// The clients that wait for a key, in the order of their places.
    pub fn waiting(&self, key: &[u8]) -> impl Iterator<Item = &Waiter> {
        self.keyspace.waiters.queue(self.db, key).map(|(_, waiter)| waiter)
    }

    /// The client that waits, directly or by a ticket. O(log n).
    pub fn client_of(&self, waiter: WaiterId) -> u64 {
        self.keyspace.waiters.tickets.client_of(waiter)
    }

    /// The first client that waits for a key in a line, and its place. O(log n).
    pub fn first_in_line(&self, key: &[u8], line: &str) -> Option<(Place, &Waiter)> {
        self.keyspace.waiters.first_in_line(self.db, key, line)
    }

    /// Whether the waiters on a key are held back, though it is ready. O(log n).
    pub fn is_held_back(&self, key: &[u8]) -> bool {
        self.keyspace.waiters.held_back.until_ms(self.db, key).is_some()
    }

    /// The clients of a class that wait for a key, in the order of their places.
    pub fn waiting_of_class(&self, key: &[u8], class: &str) -> impl Iterator<Item = (Place, &Waiter)> {
        self.keyspace.waiters.of_class(self.db, key, class)
    }

    /// The waiters of a class whose places are within these bounds, with their places, in order. O(log n).
    pub fn waiting_between(
        &self,
        key: &[u8],
        class: &str,
        places: (Bound<Place>, Bound<Place>),
    ) -> impl DoubleEndedIterator<Item = (Place, &Waiter)> {
        self.keyspace.waiters.between(self.db, key, class, places)
    }

    /// The keys that waiters with this label wait for, in order. O(log n).
    pub fn waited_for_as(&self, label: &[u8]) -> impl Iterator<Item = &[u8]> {
        self.keyspace.waiters.by_label().of(self.db, label)
    }

    /// The labels of all waiters, in order.
    pub fn all_labels(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.keyspace.waiters.by_label().labels()
    }

    /// The keys that have waiters, in the order of their first waiters' places.
    pub fn waited_for(&self) -> Vec<Box<[u8]>> {
        self.keyspace.waiters.keys_of(self.db)
    }

    /// The keys that have waiters, in no particular order. O(1), but for keys of other databases.
    pub fn all_waited_for(&self) -> impl Iterator<Item = &[u8]> {
        self.keyspace.waiters.all_keys_of(self.db)
    }

    /// The number of keys that have waiters, in all databases.
    pub fn keys_waited_for(&self) -> usize {
        self.keyspace.waiters.keys()
    }

    /// The place of the first client of a class that waits for a key. O(log n).
    pub fn first_waiting(&self, key: &[u8], class: &str) -> Option<Place> {
        self.keyspace.waiters.first_of(self.db, key, class)
    }

    /// The place of the last client that waits for a key. O(log n).
    pub fn last_waiting(&self, key: &[u8]) -> Option<Place> {
        self.keyspace.waiters.last_of(self.db, key)
    }

    /// The labels of the clients that wait for a key, in no particular order. Their number is known.
    pub fn names_waiting(&self, key: &[u8]) -> impl ExactSizeIterator<Item = &[u8]> {
        self.keyspace.waiters.labels(self.db, key)
    }

    /// The waiters on a key with this label, each with its place, in order.
    pub fn waiting_as(&self, key: &[u8], name: &[u8]) -> impl Iterator<Item = (Place, WaiterId)> {
        self.keyspace.waiters.labelled(self.db, key, name)
    }

    /// Whether a client of this class waits for a key with this label.
    pub fn waits_as(&self, key: &[u8], name: &[u8], class: &str) -> bool {
        self.first_waiting_as(key, name, class).is_some()
    }

    /// The first place of the clients of this class that wait for a key with this label.
    pub fn first_waiting_as(&self, key: &[u8], name: &[u8], class: &str) -> Option<Place> {
        self.first_wait_as(key, name, |found| found == class).map(|(place, _)| place)
    }

    /// The first place of a waiter on a key with this label, of a class that `asked` accepts, and the name of the
    /// class. O(log n), but for waits of other classes with the same label.
    pub fn first_wait_as(
        &self,
        key: &[u8],
        name: &[u8],
        asked: impl Fn(&str) -> bool,
    ) -> Option<(Place, &'static str)> {
        self.keyspace.waiters.first_wait_as(self.db, key, name, asked)
    }

    /// Notes that findings about a key hold until it changes, if any key has waiters. O(1).
    pub fn note_unchanged(&mut self, key: &[u8]) {
        if self.keyspace.waiters.keys() > 0 && self.exists(key) {
            self.keyspace.unchanged.note(self.db, key);
        }
    }

    /// Whether a key has been noted as unchanged, and has not changed since. O(1).
    pub fn is_unchanged(&self, key: &[u8]) -> bool {
        self.keyspace.unchanged.has(self.db, key)
    }

    /// The order of a deadline that is made now.
    pub fn next_order(&mut self) -> Order {
        self.keyspace.next_order()
    }

    /// Sets the timer of a key to an instant in wall milliseconds and an order, replacing the one of this kind that it
    /// has. `None` cancels the timer. The key need not exist. O(log n).
    pub fn set_key_timer(&mut self, key: &[u8], timer: KeyTimer, at: Option<(i64, Order)>) {
        let name = (self.db, key.into(), timer);
        match at {
            Some((at_ms, order)) => self.keyspace.key_timers.set(name, at_ms, order),
            None => self.keyspace.key_timers.cancel(&name),
        }
    }

    /// When the waiters on a key check it again though it has not changed, in wall milliseconds. O(log n).
    pub fn retry_at_ms(&self, key: &[u8]) -> Option<i64> {
        self.keyspace.key_timers.at_ms(&(self.db, key.into(), KeyTimer::Retry))
    }

    /// The latest deadline that is over, in wall milliseconds.
    pub fn over_until_ms(&self) -> i64 {
        self.keyspace.over_until_ms(self.now)
    }

    /// Asks all subscribers for their present interests, since those of one have changed. O(subscribers).
    pub fn renew_interests(&mut self) {
        self.keyspace.renew_interests();
    }
}

//! Change subscriptions; free without subscribers.
//!
//! Every subscription adds to `Keyspace::interests`; a transaction tests only these before it builds a [`Change`].
//! Watchers, waiters and published events belong to the keyspace itself. All other recipients implement [`Subscriber`].

use super::change::{Change, What};
use super::effects;
use super::event::{Event, EventClasses};
use super::interests::Interests;
use super::keyspace::Keyspace;
use super::listeners::Listeners;
use super::subscriber::{Context, Subscriber, Subscription};
use super::waiters::{Place, Signal, Waiter};
use std::any::Any;

impl Keyspace {
    /// Notifies this subscriber of the changes that it wants from now on.
    pub fn subscribe(&mut self, subscriber: Box<dyn Subscriber>) {
        if subscriber.is_marker() {
            self.marking.set_marker(self.subscriptions.len());
        }
        if subscriber.is_propagator() {
            self.propagator = Some(self.subscriptions.len());
        }
        self.subscriptions.push(Subscription { interests: subscriber.interests(), subscriber });
        self.note_interests();
    }

    /// Lets `watcher` watch `key` of database `db`. O(log watchers).
    pub fn watch(&mut self, db: usize, key: &[u8], watcher: u64) {
        self.watches.add(db, key, watcher);
        self.note_interests();
    }

    /// Ends the watch of a key.
    pub fn unwatch(&mut self, db: usize, key: &[u8], watcher: u64) {
        self.watches.remove(db, key, watcher);
        self.note_interests();
    }

    /// Puts a waiter at its place in the queue of a key. `line` is the line of its class. O(log n).
    pub fn add_waiter(&mut self, db: usize, key: &[u8], line: &'static str, place: Place, waiter: Waiter) {
        self.waiters.add(db, key, line, place, waiter);
        self.note_interests();
    }

    /// Removes the waiter at a place from the queue of a key. O(log n).
    pub fn remove_waiter(&mut self, db: usize, key: &[u8], place: Place) {
        self.waiters.remove(db, key, place);
        if !self.waiters.waits_for(db, key) {
            self.key_timers.cancel_retry(db, key);
        }
        self.note_interests();
    }

    /// The classes of events that are published.
    pub fn published(&self) -> EventClasses {
        self.published
    }

    /// Publishes events of these classes from now on.
    pub fn set_published(&mut self, classes: EventClasses) {
        self.published = classes;
        self.note_interests();
    }

    /// Whether a client is subscribed to one of the server's own channels.
    pub fn has_server_audience(&self) -> bool {
        self.server_audience
    }

    /// Sets the receivers that messages may have, and whether one of the server's own channels has a subscriber.
    pub fn set_audience(&mut self, listeners: Listeners, of_server: bool) {
        (self.listeners, self.server_audience) = (listeners, of_server);
        self.note_interests();
    }

    /// Asks all subscribers for their present interests. O(subscribers).
    pub fn renew_interests(&mut self) {
        self.marking.set_idle(false);
        for one in &mut self.subscriptions {
            one.interests = one.subscriber.interests();
        }
        self.note_interests();
    }

    fn note_interests(&mut self) {
        let of_subscribers =
            self.subscriptions.iter().fold(Interests::NONE, |all, one| all.with(one.interests));
        // Values are reported for the sake of waiters. Changes of marked keys are reported because of their marks.
        let mut all =
            of_subscribers.without(Interests::ALL_VALUES).with(Interests::of_published(self.published));
        if self.watches.keys_watched() > 0 {
            all = all.with(Interests::QUEUED_KEYS);
        }
        if of_subscribers.all(Interests::ALL_VALUES) {
            all = all.with(Interests::VALUES);
        }
        if self.waiters.keys() == 0 {
            // Changes may go unreported from now on.
            self.unchanged.clear();
        } else {
            all = all.with(Interests::QUEUED_KEYS).with(Interests::VALUES);
        }
        self.interests = all;
        self.marking
            .set_private(self.waiters.keys() == 0 && !self.server_audience && self.only_marker_looks());
    }

    /// Whether only the owner of the marks wants changes of marked keys.
    fn only_marker_looks(&self) -> bool {
        let of_marks = Interests::ADDED.with(Interests::VALUES);
        let marker = self.marking.marker();
        let mut all = self.subscriptions.iter().enumerate();
        all.all(|(at, one)| marker == Some(at) || !one.interests.any(of_marks))
    }

    /// Reports a change that is wanted, or whose key is marked.
    #[inline(always)]
    pub(super) fn report(&mut self, change: &Change<'_>) {
        if let What::Changed { event } = change.what
            && self.interests.any(event.map_or(Interests::NONE, Interests::of_event).with(Interests::QUEUES))
        {
            self.report_to_queues(change, *event);
        }
        let wanted = change.what.interests();
        let (subscriptions, mut context) = self.parts(change.db);
        for one in subscriptions.iter_mut().filter(|one| one.interests.any(wanted)) {
            one.subscriber.changed(change, &mut context);
        }
    }

    /// Notifies watchers, waiters, and the subscribers of events.
    #[inline]
    fn report_to_queues(&mut self, change: &Change<'_>, event: Option<Event>) {
        let &Change { db, key, .. } = change;
        self.watches.changed(db, key);
        self.unchanged.changed(db, key);
        if self.waiters.keys() > 0 && event.is_none_or(Event::wakes_waiters) {
            self.waiters.signal(db, key, event.map_or(Signal::Changed, Event::signal));
        }
        if let Some(event) = event.filter(|event| self.published.wants(event.class)) {
            effects::push_event(&mut self.effects, db, key, event);
        }
    }

    /// The subscribers, and their view of a database.
    #[inline]
    fn parts(&mut self, db: usize) -> (&mut [Subscription], Context<'_>) {
        let Keyspace { listeners, server_audience, expiry_backlog, .. } = *self;
        let Keyspace { databases, hasher, waiters, effects, subscriptions, key_timers, marking, .. } = self;
        let is_propagation_due = &mut self.is_propagation_due;
        let is_command_unpropagated = &mut self.is_command_unpropagated;
        let database = &mut databases[db];
        (
            subscriptions,
            Context {
                database,
                hasher,
                waiters,
                effects,
                is_propagation_due,
                is_command_unpropagated,
                key_timers,
                marking,
                db,
                listeners,
                server_audience,
                expiry_backlog,
            },
        )
    }

    /// The subscriber of this type.
    pub fn subscriber<T: Subscriber>(&self) -> Option<&T> {
        let mut all = self.subscriptions.iter().map(|one| &*one.subscriber as &dyn Any);
        all.find_map(|one| one.downcast_ref())
    }

    /// The owner of the marks, if it is of this type. O(1).
    #[inline]
    pub fn marker<T: Subscriber>(&self) -> Option<&T> {
        let one = self.subscriptions.get(self.marking.marker()?)?;
        (&*one.subscriber as &dyn Any).downcast_ref()
    }

    /// The owner of the marks, to be changed, with its view of a database. O(1).
    #[inline]
    pub fn marker_mut<T: Subscriber>(&mut self, db: usize) -> Option<(&mut T, Context<'_>)> {
        self.marking.set_idle(false);
        let at = self.marking.marker()?;
        let (subscriptions, context) = self.parts(db);
        let one = subscriptions.get_mut(at)?;
        Some(((&mut *one.subscriber as &mut dyn Any).downcast_mut()?, context))
    }

    /// The owner of the marks, to be changed, without a view of a database. O(1).
    #[inline]
    pub fn marker_itself<T: Subscriber>(&mut self) -> Option<&mut T> {
        self.marking.set_idle(false);
        let one = self.subscriptions.get_mut(self.marking.marker()?)?;
        (&mut *one.subscriber as &mut dyn Any).downcast_mut()
    }

    /// The subscriber of this type, to be changed. The last one is found first.
    #[inline]
    pub fn subscriber_itself<T: Subscriber>(&mut self) -> Option<&mut T> {
        let (at, found) = self.subscriptions.iter_mut().enumerate().rev().find_map(|(at, one)| {
            let one = &mut *one.subscriber as &mut dyn Any;
            Some((at, one.downcast_mut()?))
        })?;
        if self.marking.marker() == Some(at) {
            self.marking.set_idle(false);
        }
        Some(found)
    }

    /// Restarts the numbering of marks.
    pub fn restart_numbers(&mut self) {
        self.marking.restart_numbers();
    }

    /// Lets the numbering of marks go on after this number at least. Ignores a number that leaves no room for others.
    pub fn numbers_go_on_after(&mut self, last: u64) {
        const MAX: u64 = 1 << 62;
        if last <= MAX {
            self.marking.last = self.marking.last.max(last);
        }
    }

    /// The number of the last mark. O(1).
    pub fn last_number(&self) -> u64 {
        self.marking.last
    }

    /// The subscriber of this type, and its view of a database.
    #[inline]
    pub fn subscriber_mut<T: Subscriber>(&mut self, db: usize) -> Option<(&mut T, Context<'_>)> {
        self.marking.set_idle(false);
        let (subscriptions, context) = self.parts(db);
        let mut all = subscriptions.iter_mut().map(|one| &mut *one.subscriber as &mut dyn Any);
        Some((all.find_map(|one| one.downcast_mut())?, context))
    }
}

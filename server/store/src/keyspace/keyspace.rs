//! All databases of an engine, and their shared data.

use super::accesses::{AccessRules, Accesses};
use super::database::{Database, DatabaseBytes};
use super::db_key::hash_of;
use super::effects::Effect;
use super::event::EventClasses;
use super::eviction::Eviction;
use super::garbage::{Garbage, LazyFree};
use super::interests::Interests;
use super::keeper::Keeper;
use super::key_timers::{KeyTimer, KeyTimers};
use super::lazy_removals::LazyRemovals;
use super::listeners::Listeners;
use super::marking::Marking;
use super::order::Order;
use super::prefetch::Prefetch;
use super::rng::Rng;
use super::subscriber::Subscription;
use super::unchanged::Unchanged;
use super::waiters::Waiters;
use super::watches::Watches;
use crate::time::{ExpiryRule, Now};
use crate::values::Encodings;
use foldhash::quality::FixedState;
use std::collections::VecDeque;
use std::sync::Arc;

/// Counters that INFO shows.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Keys gone at their deadline.
    pub expired_keys: u64,
    /// Keys gone because of `maxmemory`.
    pub evicted_keys: u64,
    /// Fields of hashes gone at their deadline.
    pub expired_fields: u64,
    /// Look-ups that found a key.
    pub keyspace_hits: u64,
    /// Look-ups that found no key.
    pub keyspace_misses: u64,
    /// Changes since the start.
    pub dirty: u64,
    /// The objects that were left to be freed later.
    pub lazy_free: Arc<LazyFree>,
}

impl Counters {
    /// Restarts all counters except the changes (CONFIG RESETSTAT).
    pub fn reset(&mut self) {
        self.lazy_free.reset();
        let (dirty, lazy_free) = (self.dirty, Arc::clone(&self.lazy_free));
        *self = Counters { dirty, lazy_free, ..Counters::default() };
    }
}

/// All databases of an engine.
#[derive(Debug)]
pub struct Keyspace {
    pub(super) databases: Vec<Database>,
    /// The number of databases up to the last one that ever had a deadline: mostly one, not sixteen.
    pub(super) timed: usize,
    /// The number of databases up to the last one that has ever had a deadline of a field.
    pub(super) fields_timed: usize,
    pub(super) garbage: Garbage,
    prefetch: Prefetch,
    pub(super) hasher: FixedState,
    pub(super) rng: Rng,
    /// The effect of an access on a key's clock.
    pub(super) accesses: Accesses,
    /// The combined interests of watches, waiters, notifications and subscribers.
    pub(super) interests: Interests,
    /// The waiters on keys.
    pub waiters: Waiters,
    /// The watchers of keys.
    pub watches: Watches,
    pub(super) unchanged: Unchanged,
    pub(super) published: EventClasses,
    pub(super) subscriptions: Vec<Subscription>,
    /// The index of the subscriber that collects what is propagated.
    pub(super) propagator: Option<usize>,
    /// Marks beside entries.
    pub(super) marking: Marking,
    /// The limits at which values change their encoding.
    pub encodings: Encodings,
    /// The receivers that messages may have.
    pub(super) listeners: Listeners,
    /// Whether a subscribed channel is one of the server's own, or a pattern may match such a channel.
    pub(super) server_audience: bool,
    /// The longest string value, in bytes (`proto-max-bulk-len`).
    pub max_string: usize,
    /// The kinds of removals that are propagated as UNLINK.
    pub lazy_removals: LazyRemovals,
    /// Whether a wait may end after the last instant that the wall clock can represent.
    pub far_timeouts: bool,
    /// Whether the node belongs to a cluster: all keys are then in one database.
    pub in_cluster: bool,
    /// Whether small integers count as shared. Not while eviction depends on the access clocks of keys.
    pub shares_integers: bool,
    /// Whether a flush of all keys leaves no changes to be saved, because there are save points.
    pub flush_saves: bool,
    /// Counters for INFO.
    pub counters: Counters,
    pub(super) effects: VecDeque<Effect>,
    /// Whether a subscriber has changes to be propagated.
    pub(super) is_propagation_due: bool,
    /// Whether the running command has made changes that are to be propagated when it has ended.
    pub(super) is_command_unpropagated: bool,
    pub(super) last_order: Order,
    /// Deadlines made up to this order have been brought nearer by an advance of the clock.
    pub(super) turned: Option<Order>,
    /// Whether the present advance of the clock publishes no unlock messages.
    pub(super) quiet: bool,
    /// Whether a deadline has been set in the past.
    pub(super) overdue: bool,
    /// Keys that are due at this instant (wall milliseconds) may not have been removed yet.
    pub(super) expiry_backlog: Option<i64>,
    /// Whether due keys are hidden, but stay until they are written.
    pub(super) expiry_paused: bool,
    pub(super) keeper: Option<Box<Keeper>>,
    pub(super) key_timers: KeyTimers,
    pub(super) eviction: Eviction,
    rule: ExpiryRule,
    /// The latest deadline that an advance of the clock has ended, in wall milliseconds.
    reached_ms: i64,
}

impl Keyspace {
    /// Makes `databases` empty databases. The seed determines the hashes of keys and every random choice.
    pub fn new(databases: usize, seed: u64) -> Self {
        let counters = Counters::default();
        Keyspace {
            databases: (0..databases).map(|_| Database::default()).collect(),
            timed: 0,
            fields_timed: 0,
            garbage: Garbage::counted_by(&counters.lazy_free),
            prefetch: Prefetch::default(),
            hasher: FixedState::with_seed(seed),
            rng: Rng::new(seed),
            accesses: Accesses::new(seed),
            interests: Interests::NONE,
            waiters: Waiters::new(seed),
            watches: Watches::new(seed),
            unchanged: Unchanged::new(seed),
            published: EventClasses::NONE,
            subscriptions: Vec::new(),
            propagator: None,
            marking: Marking::default(),
            encodings: Encodings { seed, ..Encodings::default() },
            listeners: Listeners::None,
            server_audience: false,
            max_string: 512 << 20,
            lazy_removals: LazyRemovals::default(),
            far_timeouts: false,
            in_cluster: false,
            shares_integers: true,
            flush_saves: false,
            counters,
            effects: VecDeque::new(),
            is_propagation_due: false,
            is_command_unpropagated: false,
            last_order: Order::default(),
            turned: None,
            quiet: false,
            overdue: false,
            expiry_backlog: None,
            expiry_paused: false,
            keeper: None,
            key_timers: KeyTimers::default(),
            eviction: Eviction::new(seed),
            rule: ExpiryRule::Past,
            reached_ms: i64::MIN,
        }
    }

    /// Returns to the state of [`Keyspace::new`]. The keys are freed later. O(databases), and the data of subscribers.
    pub fn reset(&mut self, seed: u64) {
        let mut fresh = Keyspace::new(self.databases(), seed);
        fresh.in_cluster = self.in_cluster;
        let mut garbage = self.replace_garbage();
        self.databases.iter_mut().for_each(|database| garbage.add_database(database.take()));
        fresh.garbage = garbage;
        *self = fresh;
    }

    /// The number of databases.
    pub fn databases(&self) -> usize {
        self.databases.len()
    }

    /// Whether database `db` has a key; does not access it. O(1).
    pub fn has_key(&self, db: usize, key: &[u8]) -> bool {
        let hash = hash_of(&self.hasher, key);
        self.databases[db].find_live(hash, key, self.expiry_backlog).is_some()
    }

    /// The number of keys in database `db`, and the number of them that have a deadline.
    pub fn sizes(&self, db: usize) -> (usize, usize) {
        let database = &self.databases[db];
        let due = database.count_due(self.expiry_backlog);
        let over = database.count_over(self.expiry_backlog);
        (database.len() - due - over, database.with_deadline() - due)
    }

    /// The average remaining time of a database's keys with a deadline, in milliseconds. O(1).
    pub fn average_ttl_ms(&self, db: usize, now: Now) -> i64 {
        let mean_ms = self.databases[db].mean_deadline();
        mean_ms.map_or(0, |mean_ms| mean_ms.saturating_sub(now.wall_ms()).max(0))
    }

    /// Sets how accesses of keys are measured from now on.
    pub fn set_access_rules(&mut self, rules: AccessRules) {
        self.accesses.set_rules(rules);
    }

    /// Moves to an instant of the clocks. `rule` decides which deadlines are over at that instant.
    #[inline]
    pub fn go_on_at(&mut self, now: Now, rule: ExpiryRule) {
        self.accesses.go_on_at(now);
        self.rule = rule;
        let now_ms = now.wall_ms();
        if rule == ExpiryRule::Reached || now_ms < self.reached_ms {
            self.reached_ms = rule.until_ms(now_ms);
        }
    }

    /// The latest deadline that is over at `now`, in wall milliseconds.
    pub(super) fn over_until_ms(&self, now: Now) -> i64 {
        self.rule.until_ms(now.wall_ms()).max(self.reached_ms)
    }

    /// A key's first timer: its instant, in wall milliseconds, and its order, none if first of that instant. O(log n).
    #[inline]
    pub fn next_key_timer(&self) -> Option<(i64, Option<Order>)> {
        self.key_timers.first()
    }

    /// Removes the first timer that is due at `now`; returns its database, key and kind. O(log n).
    pub fn pop_key_timer(&mut self, now: Now, rule: ExpiryRule) -> Option<(usize, Box<[u8]>, KeyTimer)> {
        self.key_timers.pop_due(rule.until_ms(now.wall_ms()))
    }

    /// Sets whether commands from now on leave the access clocks of existing keys alone; returns the setting before.
    #[inline]
    pub fn ignore_accesses(&mut self, ignored: bool) -> bool {
        self.accesses.ignore(ignored)
    }

    /// The order of a deadline that is made now.
    pub fn next_order(&mut self) -> Order {
        self.last_order = self.last_order.next();
        self.last_order
    }

    /// Has an effect delivered when the command ends.
    pub fn push_effect(&mut self, effect: Effect) {
        self.effects.push_back(effect);
    }

    /// Sets whether changes are to be propagated when the command, script or transaction ends.
    #[inline]
    pub fn set_propagation_due(&mut self, is_due: bool) {
        self.is_propagation_due = is_due;
    }

    /// Whether changes are to be propagated when the command, script or transaction ends.
    #[inline]
    pub fn is_propagation_due(&self) -> bool {
        self.is_propagation_due
    }

    /// Whether the running command has made changes that are to be propagated when it has ended.
    #[inline]
    pub fn is_command_unpropagated(&self) -> bool {
        self.is_command_unpropagated
    }

    /// Records that a request was collected. `is_command`: in place of the running command.
    pub fn request_propagated(&mut self, is_command: bool) {
        self.is_propagation_due = true;
        self.is_command_unpropagated |= is_command;
    }

    /// Records that the changes of the running command have been collected.
    pub fn set_command_propagated(&mut self) {
        self.is_command_unpropagated = false;
    }

    /// Takes the oldest effect. O(1).
    pub fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Whether effects can be delivered without running waiters: messages, broken transactions.
    #[inline]
    pub fn has_messages(&self) -> bool {
        !self.effects.is_empty() || self.watches.has_broken()
    }

    /// Whether there are effects for the engine to deliver.
    pub fn has_effects(&self) -> bool {
        self.has_messages() || self.waiters.has_ready()
    }

    /// Whether a database is so large that fetching keys beforehand is worthwhile. O(1).
    pub fn is_large(&self, db: usize) -> bool {
        Prefetch::is_worthwhile(&self.databases[db])
    }

    /// Notes a key that is about to be looked up. No visible effect.
    #[inline]
    pub fn prefetch(&mut self, db: usize, key: &[u8]) {
        self.prefetch.note(db, hash_of(&self.hasher, key));
    }

    /// Brings the data that the look-ups of the noted keys will touch into the processor's caches. O(noted keys).
    pub fn fetch(&mut self) {
        self.prefetch.fetch(&self.databases);
    }

    /// The memory of keys, values, watchers, waiters and subscribers, without garbage. O(databases).
    pub fn bytes(&self) -> DatabaseBytes {
        let subscribers: usize = self.subscriptions.iter().map(|one| one.subscriber.memory()).sum();
        let subscribers = subscribers + self.marking.given_back.memory();
        let of_waits = self.waiters.memory() + self.unchanged.memory();
        let overhead = of_waits + self.watches.memory() + self.key_timers.memory() + subscribers;
        self.databases.iter().map(Database::bytes).fold(DatabaseBytes { data: 0, overhead }, |sum, one| {
            DatabaseBytes { data: sum.data + one.data, overhead: sum.overhead + one.overhead }
        })
    }

    /// Bytes of memory of database `db`'s key index, and of its deadlines. O(1).
    pub fn overhead(&self, db: usize) -> (usize, usize) {
        self.databases[db].overhead()
    }

    /// The part of [`Keyspace::bytes`] that removed keys have left free for new ones. O(databases).
    pub fn free_bytes(&self) -> usize {
        self.databases.iter().map(Database::free_bytes).sum()
    }

    /// The generator of random choices, from the engine's seed.
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// Takes the garbage to be freed after the batch: see [`Garbage::takes_long`]. Garbage that is not taken is freed
    /// by [`Keyspace::drop_garbage`].
    #[inline]
    pub fn take_garbage(&mut self) -> Option<Garbage> {
        (!self.garbage.is_empty()).then(|| self.replace_garbage())
    }

    #[cold]
    fn replace_garbage(&mut self) -> Garbage {
        let none = Garbage::counted_by(&self.counters.lazy_free);
        std::mem::replace(&mut self.garbage, none)
    }

    /// Frees the garbage that was not taken.
    pub fn drop_garbage(&mut self) {
        drop(self.take_garbage());
    }
}

//! Databases, the table of keys, expiry, waiters on keys, watch; and [`Tx`], the only way to them.
//!
//! It knows values and time, and neither commands nor clients: whoever waits or watches is a number to it. What a
//! command's changes cause (notifications, messages, woken waiters, broken transactions) is collected here and
//! taken by the engine when the command, script or transaction ends.

mod actor;
mod database;
mod effects;
mod endings;
mod entry;
mod event;
mod garbage;
pub mod glob;
mod grants;
mod holds;
mod observe;
mod owners;
mod place;
mod prefetch;
mod rng;
mod tx;
mod typed;
mod waiters;
mod watches;

pub use actor::Actor;
pub use database::DatabaseBytes;
pub use effects::Effect;
pub use event::{Event, EventClasses, events};
pub use garbage::Garbage;
pub use grants::Grant;
pub use holds::{EndCause, Loss};
pub use owners::{MODE_FIELD, WRITE_SUFFIX};
pub use rng::Rng;
pub use tx::{Edit, EntryId, Tx, WrongType};
pub use typed::Typed;
pub use waiters::{ReadyKey, Waiter, WaiterId, Waiters};
pub use watches::Watches;

use crate::time::{Now, Over};
use crate::values::{Encodings, Value};
use database::{Database, Removed};
use foldhash::quality::FixedState;
use holds::Holds;
use observe::End;
use prefetch::Prefetch;
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher};

/// When a deadline was made, among all deadlines on either hand: of two at one instant, the earlier made fires first.
///
/// It wraps around; two are told apart as long as fewer than 2³¹ were made between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order(u32);

impl Order {
    /// Whether this one was made before `other`.
    pub fn is_before(self, other: Order) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }
}

/// Counters that INFO shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Keys gone at their deadline.
    pub expired_keys: u64,
    /// Look-ups that found a key.
    pub keyspace_hits: u64,
    /// Look-ups that found none.
    pub keyspace_misses: u64,
    /// Changes since the start.
    pub dirty: u64,
}

/// All databases of an engine.
#[derive(Debug)]
pub struct Keyspace {
    databases: Vec<Database>,
    /// No database from this one on has ever had a deadline: most servers use one, and need not ask sixteen.
    timed: usize,
    /// What is to be freed, but not now.
    garbage: Garbage,
    prefetch: Prefetch,
    hasher: FixedState,
    rng: Rng,
    /// Who waits for keys.
    pub waiters: Waiters,
    /// Who watches keys.
    pub watches: Watches,
    /// What native locks know of keys beyond their values.
    holds: Holds,
    /// The limits at which values change their encoding.
    pub encodings: Encodings,
    /// The classes of events that are published.
    pub notify: EventClasses,
    /// Whether anybody listens to any channel: messages to nobody need not be made.
    pub audience: bool,
    /// The longest string value, in bytes (`proto-max-bulk-len`).
    pub max_string: usize,
    /// Counters for INFO.
    pub counters: Counters,
    effects: VecDeque<Effect>,
    last_order: Order,
    /// Deadlines made up to this one have been brought nearer by a turn of the clock.
    turned: Option<Order>,
    /// Whether nobody is to be told of what the present turn ends.
    quiet: bool,
    /// Whether a deadline has been set that was past already.
    overdue: bool,
    /// Keys that are due at this instant, in wall milliseconds, may not have been removed yet.
    expiry_backlog: Option<i64>,
}

impl Keyspace {
    /// `databases` empty databases. The seed drives the hash of keys and every random choice.
    pub fn new(databases: usize, seed: u64) -> Self {
        Keyspace {
            databases: (0..databases).map(|_| Database::default()).collect(),
            timed: 0,
            garbage: Garbage::default(),
            prefetch: Prefetch::default(),
            hasher: FixedState::with_seed(seed),
            rng: Rng::new(seed),
            waiters: Waiters::new(seed),
            watches: Watches::new(seed),
            holds: Holds::new(seed),
            encodings: Encodings { seed, ..Encodings::default() },
            notify: EventClasses::NONE,
            audience: false,
            max_string: 512 << 20,
            counters: Counters::default(),
            effects: VecDeque::new(),
            last_order: Order::default(),
            turned: None,
            quiet: false,
            overdue: false,
            expiry_backlog: None,
        }
    }

    /// The number of databases.
    pub fn databases(&self) -> usize {
        self.databases.len()
    }

    /// Keys in database `db`, and how many of them have a deadline.
    pub fn sizes(&self, db: usize) -> (usize, usize) {
        let database = &self.databases[db];
        let due = database.count_due(self.expiry_backlog);
        (database.len() - due, database.with_deadline() - due)
    }

    /// A transaction on database `db` at the instant `now`.
    pub fn tx(&mut self, db: usize, now: Now) -> Tx<'_> {
        Tx::new(self, db, now)
    }

    /// The earliest deadline of a key, in wall milliseconds.
    pub fn next_deadline(&mut self) -> Option<i64> {
        self.next_expiry().map(|(deadline, _)| deadline)
    }

    /// The earliest deadline of a key, in wall milliseconds, and when it was made.
    #[inline]
    pub fn next_expiry(&mut self) -> Option<(i64, Order)> {
        self.first_to_expire().map(|(first, _)| first)
    }

    /// The earliest deadline, when it was made, and its database. O(databases that have had one).
    #[inline]
    fn first_to_expire(&mut self) -> Option<((i64, Order), usize)> {
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

    /// The order of a deadline that is made now.
    pub fn next_order(&mut self) -> Order {
        self.last_order = Order(self.last_order.0.wrapping_add(1));
        self.last_order
    }

    /// The number of keys with a deadline, in all databases.
    pub fn timers(&self) -> usize {
        self.databases[..self.timed].iter().map(Database::with_deadline).sum()
    }

    /// Removes the earliest key whose deadline is over at `now`, with its `expired` event. False when none is. O(1).
    pub fn expire_next(&mut self, now: Now, over: Over) -> bool {
        let Some((_, db)) = self.first_to_expire() else { return false };
        let Keyspace { databases, hasher, .. } = self;
        let until = over.until_ms(now.wall_ms());
        let Some(removed) = databases[db].remove_due(until, |key| hash_of(hasher, key)) else {
            return false;
        };
        self.expired(db, removed, now);
        true
    }

    fn expired(&mut self, db: usize, removed: Removed, now: Now) {
        let Removed { entry, grant, deadline } = removed;
        self.counters.expired_keys += 1;
        self.gone(db, entry.key(), &entry.value, grant, End::Of(EndCause::Expired), now);
        Tx::new(self, db, now).changed(entry.key(), events::EXPIRED);
        if self.audience
            && let Value::Hash(hash) = &entry.value
            && deadline.is_some_and(|(_, made)| self.is_turned(made))
        {
            let mode = hash.get(MODE_FIELD).map(Box::from);
            self.effects.push_back(Effect::LeaseTurned { db, key: entry.key().into(), mode });
        }
        self.garbage.add(entry.value);
    }

    /// The clock was turned forward: all deadlines that there are have come nearer by that.
    pub fn note_turn(&mut self) {
        if !self.quiet {
            self.turned = Some(self.last_order);
        }
    }

    /// Whether turns of the clock are to wake nobody by message from now on.
    pub fn turn_quietly(&mut self, quiet: bool) {
        self.quiet = quiet;
    }

    /// Whether a deadline that was made then is over earlier than it would be had nobody turned the clock.
    fn is_turned(&self, made: Order) -> bool {
        !self.quiet && self.turned.is_some_and(|turned| made == turned || made.is_before(turned))
    }

    /// Says up to which deadline, in wall milliseconds, keys have been left for later, because they are too many to be
    /// removed at once; `None` when all are gone that are due. Until they are, no transaction finds them: the first
    /// that looks for one removes it, with its event.
    pub fn set_expiry_backlog(&mut self, until_ms: Option<i64>) {
        self.expiry_backlog = until_ms;
    }

    /// Whether keys that are due have been left for later.
    #[inline]
    pub fn has_expiry_backlog(&self) -> bool {
        self.expiry_backlog.is_some()
    }

    /// Removes a key that is due and was left for later, with its `expired` event. O(1).
    pub fn expire_if_due(&mut self, db: usize, key: &[u8], now: Now) {
        let Keyspace { databases, hasher, expiry_backlog, .. } = self;
        let Some(until) = *expiry_backlog else { return };
        let hash = hash_of(hasher, key);
        if databases[db].deadline(hash, key).is_none_or(|deadline| deadline > until) {
            return;
        }
        if let Some(removed) = databases[db].remove(hash, key, |key| hash_of(hasher, key)) {
            self.expired(db, removed, now);
        }
    }

    /// Whether a deadline in the past has been set since the last call of [`Keyspace::expire_overdue`].
    #[inline]
    pub fn has_overdue(&self) -> bool {
        self.overdue
    }

    /// Removes the keys whose deadlines were set in the past since the last call, so that not even the next command of
    /// the same transaction or script finds them. O(1) when there are none.
    #[cold]
    pub fn expire_overdue(&mut self, now: Now, over: Over) {
        // While keys are left for later no transaction finds one that is due, and these have their turn among them.
        if std::mem::take(&mut self.overdue) && self.expiry_backlog.is_none() {
            while self.expire_next(now, over) {}
        }
    }

    /// Takes what was caused first and has not been taken. O(1).
    pub fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Whether anything has been caused that needs nobody's turn: messages, broken transactions.
    #[inline]
    pub fn has_messages(&self) -> bool {
        !self.effects.is_empty() || self.watches.has_broken()
    }

    /// Whether anything has been caused that the engine must see to.
    pub fn has_effects(&self) -> bool {
        self.has_messages() || self.waiters.has_ready()
    }

    /// Whether a database is so large that fetching keys beforehand is worth its while. O(1).
    pub fn is_large(&self, db: usize) -> bool {
        Prefetch::is_worthwhile(&self.databases[db])
    }

    /// Notes a key that is about to be looked up. Changes nothing that a command could tell.
    #[inline]
    pub fn prefetch(&mut self, db: usize, key: &[u8]) {
        self.prefetch.note(db, hash_of(&self.hasher, key));
    }

    /// Brings what the look-ups of the noted keys will touch into the processor's caches. O(noted keys).
    pub fn fetch(&mut self) {
        self.prefetch.fetch(&self.databases);
    }

    /// What the keys and values of all databases take; what waits to be freed is none of them any more.
    /// O(databases).
    pub fn bytes(&self) -> DatabaseBytes {
        self.databases.iter().map(Database::bytes).fold(DatabaseBytes::default(), |sum, one| DatabaseBytes {
            data: sum.data + one.data,
            overhead: sum.overhead + one.overhead,
        })
    }

    /// Random choices, from the engine's seed.
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// What took long enough to fill that freeing it would be felt: for another thread to drop. What is not taken is
    /// dropped by [`Keyspace::drop_garbage`].
    pub fn take_garbage(&mut self) -> Option<Garbage> {
        (!self.garbage.is_empty()).then(|| std::mem::take(&mut self.garbage))
    }

    /// Frees what nobody has taken.
    pub fn drop_garbage(&mut self) {
        if !self.garbage.is_empty() {
            self.garbage = Garbage::default();
        }
    }
}

/// The hash of a key, by the keyspace's seed.
#[inline]
fn hash_of(hasher: &FixedState, key: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(key);
    state.finish()
}

#[cfg(test)]
mod memory_tests;
#[cfg(test)]
mod tests;

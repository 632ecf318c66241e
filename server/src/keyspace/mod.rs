//! Databases, the table of keys, expiry, waiters on keys, watch; and [`Tx`], the only way to them.
//!
//! It knows values and time, and neither commands nor clients: whoever waits or watches is a number to it. What a
//! command's changes cause (notifications, messages, woken waiters, broken transactions) is collected here and
//! taken by the engine when the command, script or transaction ends.

mod database;
mod effects;
mod entry;
mod event;
pub mod glob;
mod holds;
mod rng;
mod tx;
mod typed;
mod waiters;
mod watches;

pub use effects::Effect;
pub use event::{Event, EventClasses, events};
pub use holds::{EndCause, Ended, Grant, Holds};
pub use rng::Rng;
pub use tx::{Edit, Tx, WrongType};
pub use typed::Typed;
pub use waiters::{ReadyKey, Waiter, WaiterId, Waiters};
pub use watches::Watches;

use crate::time::{Now, TimerId, Wheel};
use crate::values::Encodings;
use database::Database;
use foldhash::quality::FixedState;

/// What a timer on the wall's wheel stands for: one key with a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KeyTimer {
    db: u32,
    order: Order,
    /// The hash of the key; the entry is the one there that has this timer.
    hash: u64,
}

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
    deadlines: Wheel<KeyTimer>,
    hasher: FixedState,
    rng: Rng,
    /// Who waits for keys.
    pub waiters: Waiters,
    /// Who watches keys.
    pub watches: Watches,
    /// What native locks know of keys beyond their values.
    pub holds: Holds,
    /// The limits at which values change their encoding.
    pub encodings: Encodings,
    /// The classes of events that are published.
    pub notify: EventClasses,
    /// The longest string value, in bytes (`proto-max-bulk-len`).
    pub max_string: usize,
    /// Counters for INFO.
    pub counters: Counters,
    effects: Vec<Effect>,
    last_order: Order,
    /// Whether a deadline has been set that was past already.
    overdue: bool,
}

impl Keyspace {
    /// `databases` empty databases. The seed drives the hash of keys and every random choice.
    pub fn new(databases: usize, seed: u64) -> Self {
        Keyspace {
            databases: (0..databases).map(|_| Database::default()).collect(),
            deadlines: Wheel::new(),
            hasher: FixedState::with_seed(seed),
            rng: Rng::new(seed),
            waiters: Waiters::default(),
            watches: Watches::default(),
            holds: Holds::default(),
            encodings: Encodings { seed, ..Encodings::default() },
            notify: EventClasses::NONE,
            max_string: 512 << 20,
            counters: Counters::default(),
            effects: Vec::new(),
            last_order: Order::default(),
            overdue: false,
        }
    }

    /// The number of databases.
    pub fn databases(&self) -> usize {
        self.databases.len()
    }

    /// Keys in database `db`, and how many of them have a deadline.
    pub fn sizes(&self, db: usize) -> (usize, usize) {
        let database = &self.databases[db];
        (database.len(), database.with_deadline())
    }

    /// A transaction on database `db` at the instant `now`.
    pub fn tx(&mut self, db: usize, now: Now) -> Tx<'_> {
        Tx::new(self, db, now)
    }

    /// The earliest deadline of a key, in wall milliseconds.
    pub fn next_deadline(&mut self) -> Option<i64> {
        self.deadlines.next_deadline()
    }

    /// The earliest deadline of a key, in wall milliseconds, and when it was made.
    pub fn next_expiry(&mut self) -> Option<(i64, Order)> {
        self.deadlines.peek().map(|(deadline, timer)| (deadline, timer.order))
    }

    /// The order of a deadline that is made now.
    pub fn next_order(&mut self) -> Order {
        self.last_order = Order(self.last_order.0.wrapping_add(1));
        self.last_order
    }

    /// The number of keys with a deadline, in all databases.
    pub fn timers(&self) -> usize {
        self.deadlines.len()
    }

    /// Removes the earliest key that is due at `now`, with its `expired` event. False when none is due. O(1).
    pub fn expire_next(&mut self, now: Now) -> bool {
        let Some(fired) = self.deadlines.pop_due(now.wall_ms()) else { return false };
        let (id, timer) = (fired.id, fired.payload);
        let db = timer.db as usize;
        let Some(entry) = self.databases[db].remove_by_timer(timer.hash, id) else { return true };
        self.counters.expired_keys += 1;
        self.gone(db, &entry.key, EndCause::Expired, now);
        Tx::new(self, db, now).changed(&entry.key, events::EXPIRED);
        true
    }

    /// Removes the keys whose deadlines were set in the past since the last call, so that not even the next command of
    /// the same transaction or script finds them. O(1) when there are none.
    pub fn expire_overdue(&mut self, now: Now) {
        if std::mem::take(&mut self.overdue) {
            while self.expire_next(now) {}
        }
    }

    /// Takes what has been caused since the last call, in its order.
    pub fn take_effects(&mut self, into: &mut Vec<Effect>) {
        into.append(&mut self.effects);
    }

    /// Whether anything has been caused that the engine must see to.
    pub fn has_effects(&self) -> bool {
        !self.effects.is_empty() || self.waiters.has_ready() || self.watches.has_broken()
    }

    /// Random choices, from the engine's seed.
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// A key is no longer there: whoever held it as a lock has lost it.
    fn gone(&mut self, db: usize, key: &[u8], cause: EndCause, now: Now) {
        let waited_for = self.waiters.waits_for(db, key);
        self.holds.gone(db, key, cause, now.wall_ms(), waited_for);
    }

    fn cancel(&mut self, timer: Option<TimerId>) -> Option<i64> {
        let id = timer?;
        let deadline = self.deadlines.deadline(id);
        self.deadlines.cancel(id);
        Some(deadline)
    }
}

#[cfg(test)]
mod tests;

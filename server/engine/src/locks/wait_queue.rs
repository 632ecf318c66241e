//! The queue of waiters for a lock: by priority, then in order of arrival, whatever their mode.

use super::history::Mode;
use super::snapshot::LockMode;
use crate::spec::WaitClass;
use lockwheel_store::keyspace::{Place, Tx};
use std::ops::Bound::{Excluded, Unbounded};

pub(crate) const LOCK_LINE: &str = "lock";

/// The wait classes of waiters for one lock.
pub(super) const PLAIN_NAME: &str = "lock";
pub(super) const FAIR_NAME: &str = "fair lock";
pub(super) const SHARED_NAME: &str = "shared lock";
pub(super) const EXCLUSIVE_NAME: &str = "exclusive lock";
/// The class of readers that wait until they can write.
pub(super) const CONVERSION_NAME: &str = "conversion";

/// The classes of waiters for several locks: to hold them alone, and to share them.
pub(crate) const SEVERAL: [&str; 2] = ["locks", "shared locks"];

const SHARERS: [&str; 2] = [SHARED_NAME, SEVERAL[1]];
const ALONE: [&str; 5] = [PLAIN_NAME, FAIR_NAME, EXCLUSIVE_NAME, CONVERSION_NAME, SEVERAL[0]];

/// The rank of conversions, which are served before all others.
pub(super) const FIRST: i64 = i64::MIN;

/// Returns the mode in which waiters of this class will hold the lock. `None`: they wait for something else.
pub(super) fn mode_of(class: &str) -> Option<LockMode> {
    if shares(class) {
        return Some(LockMode::Shared);
    }
    ALONE.contains(&class).then_some(LockMode::Exclusive)
}

pub(crate) fn shares(class: &str) -> bool {
    SHARERS.contains(&class)
}

/// Returns the mode that the history notes for a wait of this class. Only a waiter that would share several locks has
/// one: it may really wait for some of these locks only.
pub(crate) fn noted_mode(class: &WaitClass) -> Mode {
    if class.name == SEVERAL[1] { Mode::Shared } else { Mode::None }
}

/// Returns the first wait of an owner for a lock: its place, and the name of its class. O(log n), n the waiters.
pub(super) fn first_wait(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> Option<(Place, &'static str)> {
    tx.first_wait_as(key, owner, |class| mode_of(class).is_some())
}

/// Returns the last place before this one of a waiter that wants to hold a lock alone. O(log n), n the waiters.
pub(super) fn last_alone(tx: &Tx<'_>, key: &[u8], before: Option<Place>) -> Option<Place> {
    let places = (Unbounded, before.map_or(Unbounded, Excluded));
    let last = |class: &&str| tx.waiting_between(key, class, places).next_back();
    ALONE.iter().filter_map(last).map(|(place, _)| place).max()
}

/// Whether waiters of this class may be held back when the lock is free: a fair lock has an order of its own.
pub(crate) fn can_be_held_back(class: &WaitClass) -> bool {
    class.line == LOCK_LINE && class.name != FAIR_NAME
}

/// Whether waiters for a lock are served before a newcomer that does not hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precedence {
    /// No waiter is served first.
    Newcomer,
    /// The newcomer does not get the lock while it is free.
    WhileFree,
    /// The newcomer does not get the lock, whatever its state: waiters are held back.
    HeldBack,
}

/// Returns the precedence over a newcomer of this rank and class. A request for several locks keeps its place while it
/// waits for the others. A sharing newcomer passes such requests if they share, but no writer. O(log n), n the waiters.
#[inline]
pub(super) fn precedence(tx: &Tx<'_>, key: &[u8], rank: i64, class: &str) -> Precedence {
    if tx.keys_waited_for() == 0 {
        return Precedence::Newcomer;
    }
    if class != FAIR_NAME && is_held_back(tx, key, rank) {
        return Precedence::HeldBack;
    }
    let is_sharer = shares(class);
    let waits = |class: &str| tx.first_waiting(key, class).is_some_and(|place| place.rank <= rank);
    let is_behind = waits(SEVERAL[0])
        || (!is_sharer && waits(SEVERAL[1]))
        || (is_sharer && [EXCLUSIVE_NAME, CONVERSION_NAME].into_iter().any(waits));
    if is_behind { Precedence::WhileFree } else { Precedence::Newcomer }
}

/// Whether a waiter before this rank is held back though the lock is free. A fair lock has its own order.
fn is_held_back(tx: &Tx<'_>, key: &[u8], rank: i64) -> bool {
    tx.is_held_back(key) && tx.first_in_line(key, LOCK_LINE).is_some_and(|(place, _)| place.rank <= rank)
}

/// Counts the waiters for a lock that are ahead of a newcomer of this rank. O(n), n the waiters.
pub(super) fn ahead(tx: &Tx<'_>, key: &[u8], rank: i64) -> usize {
    let waiting = ALONE.into_iter().chain(SHARERS).flat_map(|class| tx.waiting_of_class(key, class));
    waiting.filter(|(place, _)| place.rank <= rank).count()
}

/// Whether this owner waits until it can write. O(n), n the waiters.
pub(super) fn waits_to_convert(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> bool {
    tx.waits_as(key, owner, CONVERSION_NAME)
}

/// Whether any waiter waits until it can write.
pub(super) fn conversion_waits(tx: &Tx<'_>, key: &[u8]) -> bool {
    tx.first_waiting(key, CONVERSION_NAME).is_some()
}

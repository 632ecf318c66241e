//! The line of those who wait for a lock: by priority, then in order of arrival, whatever their mode.

use super::history::Mode;
use super::snapshot::LockMode;
use crate::spec::WaitClass;
use lockwheel_store::keyspace::{Place, Tx};
use std::ops::Bound::{Excluded, Unbounded};

/// The line in which all of them stand.
pub(crate) const LOCK_LINE: &str = "lock";

/// The classes of those who wait for one lock.
pub(super) const PLAIN_NAME: &str = "lock";
pub(super) const FAIR_NAME: &str = "fair lock";
pub(super) const SHARED_NAME: &str = "shared lock";
pub(super) const EXCLUSIVE_NAME: &str = "exclusive lock";
/// The class of those who wait until they can write what they read.
pub(super) const CONVERSION_NAME: &str = "conversion";

/// The classes of those who wait for several locks: to hold them alone, and to share them.
pub(crate) const SEVERAL: [&str; 2] = ["locks", "shared locks"];

/// The classes of those who want to share a lock, and of those who want to hold it alone.
const SHARERS: [&str; 2] = [SHARED_NAME, SEVERAL[1]];
const ALONE: [&str; 5] = [PLAIN_NAME, FAIR_NAME, EXCLUSIVE_NAME, CONVERSION_NAME, SEVERAL[0]];

/// The rank of conversions, which are served before all others.
pub(super) const FIRST: i64 = i64::MIN;

/// Returns the mode in which waiters of this class will hold the lock; `None`: they wait for something else.
pub(super) fn mode_of(class: &str) -> Option<LockMode> {
    if shares(class) {
        return Some(LockMode::Shared);
    }
    ALONE.contains(&class).then_some(LockMode::Exclusive)
}

/// Whether waiters of this class want to share the lock.
pub(crate) fn shares(class: &str) -> bool {
    SHARERS.contains(&class)
}

/// The mode that the history notes of a wait of this class: that of who would share several locks, and may wait for
/// some of them alone.
pub(crate) fn noted_mode(class: &WaitClass) -> Mode {
    if class.name == SEVERAL[1] { Mode::Shared } else { Mode::None }
}

/// The first wait of an owner for a lock: its place, and the name of its class. O(log n), n those who wait.
pub(super) fn first_wait(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> Option<(Place, &'static str)> {
    tx.first_wait_as(key, owner, |class| mode_of(class).is_some())
}

/// The last place before this one of somebody who wants to hold a lock alone. O(log n), n those who wait.
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
    /// No waiter is.
    Newcomer,
    /// The newcomer does not get the lock while it is free.
    WhileFree,
    /// The newcomer does not get the lock, whatever its state: waiters are held back.
    HeldBack,
}

/// Returns the precedence over a newcomer of this rank and class. A request for several locks keeps its place while it
/// waits for the others; a newcomer that wants to share passes such requests that want to share, and no writer. O(log
/// n), n those who wait.
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

/// Whether somebody before a newcomer of this rank is held back, though the lock is free. A fair lock has an order of
/// its own.
fn is_held_back(tx: &Tx<'_>, key: &[u8], rank: i64) -> bool {
    tx.is_held_back(key) && tx.first_in_line(key, LOCK_LINE).is_some_and(|(place, _)| place.rank <= rank)
}

/// Counts the waiters in the line of a lock before those of this rank that come now. O(n), n those who wait.
pub(super) fn ahead(tx: &Tx<'_>, key: &[u8], rank: i64) -> usize {
    let waiting = ALONE.into_iter().chain(SHARERS).flat_map(|class| tx.waiting_of_class(key, class));
    waiting.filter(|(place, _)| place.rank <= rank).count()
}

/// Whether this owner waits until it can write. O(n), n those who wait.
pub(super) fn waits_to_convert(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> bool {
    tx.waits_as(key, owner, CONVERSION_NAME)
}

/// Whether somebody waits until it can write.
pub(super) fn conversion_waits(tx: &Tx<'_>, key: &[u8]) -> bool {
    tx.first_waiting(key, CONVERSION_NAME).is_some()
}

//! The owners that a wait for a lock depends on.

pub(super) use super::super::layouts::read_write::is_read;
use super::super::redisson;
use super::super::wait_queue::{self, CONVERSION_NAME, SEVERAL};
use super::foreign::ForeignWaits;
use lockwheel_store::keyspace::{Place, Tx};
use lockwheel_store::values::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included, Unbounded};

/// Returns the owners that hold a lock, in the order of their names.
pub(super) fn holders(tx: &Tx<'_>, key: &[u8]) -> BTreeSet<Box<[u8]>> {
    match tx.peek(key) {
        Some(Value::Hash(hash)) => redisson::owners(hash).map(redisson::owner_of).map(Box::from).collect(),
        Some(value @ Value::Str(_)) if tx.marked(key).is_some() => {
            redisson::with_first_owner(value, |owner| Box::from(owner)).into_iter().collect()
        }
        _ => BTreeSet::new(),
    }
}

/// Returns the holders of a lock that wait themselves: only these can be in a cycle. O(n log n), n the fewer of both.
pub(super) fn holders_that_wait(tx: &Tx<'_>, key: &[u8], foreign: &ForeignWaits<'_>) -> BTreeSet<Box<[u8]>> {
    match tx.peek(key) {
        // A large hash, which may be no lock, is not walked.
        Some(value @ Value::Hash(hash)) if hash.len() > tx.all_labels().len() + foreign.len() => {
            let names = tx.all_labels().chain(foreign.owners());
            let waiting = names.filter(|name| redisson::is_held_by(value, name));
            waiting.map(Box::from).collect()
        }
        _ => holders(tx, key),
    }
}

pub(super) fn is_held_by(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> bool {
    match tx.peek(key) {
        Some(value @ Value::Hash(_)) => redisson::is_held_by(value, owner),
        Some(value @ Value::Str(_)) => tx.marked(key).is_some() && redisson::is_held_by(value, owner),
        _ => false,
    }
}

/// Returns the owners of requests for several locks in this lock's queue, from a place on and before another. They keep
/// it from the waiters behind them; others there wait only for the holders. O(log n), n these owners.
pub(super) fn ahead(
    tx: &Tx<'_>,
    key: &[u8],
    from: Option<Place>,
    before: Option<Place>,
) -> BTreeSet<Box<[u8]>> {
    let places = (from.map_or(Unbounded, Included), before.map_or(Unbounded, Excluded));
    let several = SEVERAL.iter().flat_map(|class| tx.waiting_between(key, class, places));
    several.map(|(_, waiter)| waiter.label.clone()).collect()
}

/// Returns all requests for several locks in the queue of this lock: place and owner. O(n log n), n the requests.
pub(super) fn several(tx: &Tx<'_>, key: &[u8]) -> BTreeMap<Place, Box<[u8]>> {
    let waiting = |class: &'static str| tx.waiting_between(key, class, (Unbounded, Unbounded));
    let several = SEVERAL.into_iter().flat_map(waiting);
    several.map(|(place, waiter)| (place, waiter.label.clone())).collect()
}

/// Whether an owner has a request for several locks before a place.
pub(super) fn is_ahead(tx: &Tx<'_>, key: &[u8], owner: &[u8], before: Option<Place>) -> bool {
    let first = tx.first_wait_as(key, owner, |class| SEVERAL.contains(&class));
    first.is_some_and(|(first, _)| before.is_none_or(|before| first < before))
}

/// Whether a request for a lock, at this place, keeps the lock from a request behind it. A shared request keeps it from
/// another shared request only if an exclusive request stands between them. O(log n), n the waiters.
pub(super) fn keeps_back(tx: &Tx<'_>, key: &[u8], (place, shares): (Place, bool), other: &Wait) -> bool {
    let both_share = shares && other.asks_to_share;
    !both_share || wait_queue::last_alone(tx, key, other.place) > Some(place)
}

/// Whether an owner's higher priority keeps the lock from another owner in its queue. O(log n), n the waiters.
pub(super) fn has_passed(tx: &Tx<'_>, key: &[u8], owner: &[u8], other: &Wait) -> bool {
    let Some((place, class)) = wait_queue::first_wait(tx, key, owner) else { return false };
    let is_passed = other.place.is_some_and(|passed| place.rank < passed.rank);
    is_passed && keeps_back(tx, key, (place, wait_queue::shares(class)), other)
}

/// Whether an owner that has asked for a lock need not wait for it. The owner holds the lock and does not want to
/// convert that hold. It then re-enters the lock once it gets the other locks.
pub(super) fn has(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> bool {
    let holds = matches!(tx.peek(key), Some(Value::Hash(hash)) if redisson::names_owner(hash, owner));
    holds && !tx.waits_as(key, owner, CONVERSION_NAME)
}

/// Whether a waiter wants to share this lock and others together. O(1).
pub(super) fn is_shared_with_others(tx: &Tx<'_>, key: &[u8]) -> bool {
    tx.first_waiting(key, SEVERAL[1]).is_some()
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wait {
    /// The place in the queue. `None` for a Redisson wait.
    pub(super) place: Option<Place>,
    /// Whether the owner wants to share the lock with readers, or with waiters that want to share several locks.
    pub(super) shares: bool,
    /// Whether the owner asks to share the lock, even if the lock is not shared yet.
    pub(super) asks_to_share: bool,
    /// Whether the owner wants other locks together with this one.
    pub(super) several: bool,
}

impl Wait {
    /// Returns the first wait of an owner, which need not wait any more once that is served. O(log n), n the waiters.
    pub(super) fn of(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> Self {
        let Some((place, class)) = wait_queue::first_wait(tx, key, owner) else { return Wait::default() };
        let is_shared = || is_read(tx, key) || is_shared_with_others(tx, key);
        let asks_to_share = wait_queue::shares(class);
        let shares = asks_to_share && is_shared();
        Wait { place: Some(place), shares, asks_to_share, several: SEVERAL.contains(&class) }
    }

    /// Returns the parties that keep the lock from this wait. `alone`: the place of a new exclusive request. O(log n).
    pub(super) fn kept(&self, tx: &Tx<'_>, key: &[u8], alone: Option<Place>) -> Blockers {
        if !self.shares {
            return Blockers { by_holders: true, by_those_before: self.place };
        }
        let alone = alone.max(wait_queue::last_alone(tx, key, self.place));
        let is_among_readers = alone.is_none();
        // A request to share one lock waits only for exclusive requests, and for the requests that those wait for.
        let by_those_before = match self.several {
            true => self.place,
            false => Some(alone.map_or(Place::FRONT, Place::next)),
        };
        Blockers { by_holders: !(is_among_readers && is_read(tx, key)), by_those_before }
    }
}

/// The parties that keep a lock from a waiter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blockers {
    pub(super) by_holders: bool,
    /// The place up to which requests for several locks keep it. `None`: all of them do.
    pub(super) by_those_before: Option<Place>,
}

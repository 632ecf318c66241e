//! Whom a wait for a lock waits for.

pub(super) use super::super::layouts::read_write::is_read;
use super::super::redisson;
use super::super::wait_queue::{self, CONVERSION_NAME, SEVERAL};
use super::foreign::ForeignWaits;
use lockwheel_store::keyspace::{Place, Tx};
use lockwheel_store::values::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included, Unbounded};

/// The owners that hold a lock, in the order of their names.
pub(super) fn holders(tx: &Tx<'_>, key: &[u8]) -> BTreeSet<Box<[u8]>> {
    match tx.peek(key) {
        Some(Value::Hash(hash)) => redisson::owners(hash).map(redisson::owner_of).map(Box::from).collect(),
        Some(value @ Value::Str(_)) if tx.marked(key).is_some() => {
            redisson::with_first_owner(value, |owner| Box::from(owner)).into_iter().collect()
        }
        _ => BTreeSet::new(),
    }
}

/// Those holders of a lock that can be part of a cycle: they wait for something. O(n log n), n the holders or the
/// owners that wait, whichever are fewer.
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

/// Whether an owner holds a lock.
pub(super) fn is_held_by(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> bool {
    match tx.peek(key) {
        Some(value @ Value::Hash(_)) => redisson::is_held_by(value, owner),
        Some(value @ Value::Str(_)) => tx.marked(key).is_some() && redisson::is_held_by(value, owner),
        _ => false,
    }
}

/// The owners that have asked for several locks, stand in the queue of this one from a place on and before another, and
/// keep it from those behind them. Others that stand there wait for its holders alone. O(n log n), n those.
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

/// All requests for several locks that stand in the queue of this one: their places, in order, and their owners.
/// O(n log n), n these.
pub(super) fn several(tx: &Tx<'_>, key: &[u8]) -> BTreeMap<Place, Box<[u8]>> {
    let waiting = |class: &'static str| tx.waiting_between(key, class, (Unbounded, Unbounded));
    let several = SEVERAL.into_iter().flat_map(waiting);
    several.map(|(place, waiter)| (place, waiter.label.clone())).collect()
}

/// Whether an owner is one of those before a place.
pub(super) fn is_ahead(tx: &Tx<'_>, key: &[u8], owner: &[u8], before: Option<Place>) -> bool {
    let first = tx.first_wait_as(key, owner, |class| SEVERAL.contains(&class));
    first.is_some_and(|(first, _)| before.is_none_or(|before| first < before))
}

/// Whether a request for a lock, at this place, keeps it from one behind it. A request to share it keeps it from others
/// like it only if a request to hold it alone stands between. O(log n), n those who wait.
pub(super) fn keeps_back(tx: &Tx<'_>, key: &[u8], (place, shares): (Place, bool), other: &Wait) -> bool {
    let both_share = shares && other.asks_to_share;
    !both_share || wait_queue::last_alone(tx, key, other.place) > Some(place)
}

/// Whether an owner stands before another in the queue of a lock by a higher priority, and keeps it from that one.
/// O(log n), n those who wait.
pub(super) fn has_passed(tx: &Tx<'_>, key: &[u8], owner: &[u8], other: &Wait) -> bool {
    let Some((place, class)) = wait_queue::first_wait(tx, key, owner) else { return false };
    let is_passed = other.place.is_some_and(|passed| place.rank < passed.rank);
    is_passed && keeps_back(tx, key, (place, wait_queue::shares(class)), other)
}

/// Whether an owner that has asked for a lock need not wait for it: it holds the lock, and does not want to convert
/// that hold. So it has it once more when it gets what else it wants.
pub(super) fn has(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> bool {
    let holds = matches!(tx.peek(key), Some(Value::Hash(hash)) if redisson::names_owner(hash, owner));
    holds && !tx.waits_as(key, owner, CONVERSION_NAME)
}

/// Whether anybody waits to share a lock who wants others with it. O(1).
pub(super) fn is_shared_with_others(tx: &Tx<'_>, key: &[u8]) -> bool {
    tx.first_waiting(key, SEVERAL[1]).is_some()
}

/// How an owner waits for a lock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wait {
    /// Its place in the queue; of who waits as Redisson does none.
    pub(super) place: Option<Place>,
    /// Whether it wants to share the lock, with readers or with who wants to share several.
    pub(super) shares: bool,
    /// Whether it asks to share it, also where nobody does yet.
    pub(super) asks_to_share: bool,
    /// Whether it wants others with it.
    pub(super) several: bool,
}

impl Wait {
    /// The first of an owner's: once that is served, the owner need not wait by the others. O(log n), n those who wait.
    pub(super) fn of(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> Self {
        let Some((place, class)) = wait_queue::first_wait(tx, key, owner) else { return Wait::default() };
        let is_shared = || is_read(tx, key) || is_shared_with_others(tx, key);
        let asks_to_share = wait_queue::shares(class);
        let shares = asks_to_share && is_shared();
        Wait { place: Some(place), shares, asks_to_share, several: SEVERAL.contains(&class) }
    }

    /// Who keeps the lock from it; `alone`: at this place somebody comes who wants to hold it alone. O(log n), n those
    /// who wait.
    pub(super) fn kept(&self, tx: &Tx<'_>, key: &[u8], alone: Option<Place>) -> Kept {
        if !self.shares {
            return Kept { by_holders: true, by_those_before: self.place };
        }
        let alone = alone.max(wait_queue::last_alone(tx, key, self.place));
        let is_among_readers = alone.is_none();
        // Who shares one lock waits for nobody but for who wants it alone, and for those for whom that one waits.
        let by_those_before = match self.several {
            true => self.place,
            false => Some(alone.map_or(Place::FRONT, Place::next)),
        };
        Kept { by_holders: !(is_among_readers && is_read(tx, key)), by_those_before }
    }
}

/// Who keeps a lock from one who waits for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    /// Its holders do.
    pub(super) by_holders: bool,
    /// Those do who want several, up to this place; `None`: all of them.
    pub(super) by_those_before: Option<Place>,
}

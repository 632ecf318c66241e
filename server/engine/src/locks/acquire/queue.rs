//! The line of those who wait for a lock: by priority, then in order of arrival, whatever their mode.

use super::super::layouts::{Layout, fair, read_write};
use super::super::ownership::waiting_holders;
use super::super::snapshot::LockMode;
use crate::spec::{Asking, OutOfTurn, WaitClass};
use lockwheel_store::keyspace::{Place, Signal, Tx, WaiterId};
use std::ops::Bound::{Excluded, Unbounded};

/// The line in which all of them stand.
pub(crate) const LINE: &str = "lock";

/// Waiters on a lock. An owner that already holds it is served out of order: in order it would come only after it
/// released the lock itself.
const fn class(name: &'static str) -> WaitClass {
    served_besides(name, waiting_holders)
}

const fn served_besides(name: &'static str, out_of_turn: OutOfTurn) -> WaitClass {
    WaitClass {
        name,
        line: LINE,
        accepts: |_| true,
        asking: Asking::InOrder,
        out_of_turn: Some(out_of_turn),
        counts: true,
    }
}

const PLAIN: WaitClass = class("lock");
const FAIR: WaitClass = served_besides(fair::CLASS, fair_out_of_turn);
const SHARED: WaitClass = class("shared lock");
const EXCLUSIVE: WaitClass = class("exclusive lock");
const CONVERSION: WaitClass = class("conversion");

/// Those who wait for several locks. One whose owner has come to hold one of them is tried again out of turn, since it
/// need not queue there any more.
const SEVERAL_ALONE: WaitClass = class("locks");
const SEVERAL_SHARED: WaitClass = served_besides("shared locks", several_out_of_turn);

/// The waiters on a fair lock that are served out of order: an owner that holds it, and the head of Redisson's queue.
fn fair_out_of_turn(tx: &Tx<'_>, key: &[u8], what: Signal) -> Vec<WaiterId> {
    let mut waiting = waiting_holders(tx, key, what);
    waiting.append(&mut fair::waiting_head(tx, key));
    waiting
}

/// The waiters that are served though one who wants to share several locks is not: an owner that holds this one, and
/// the readers right behind it, which it keeps from nothing while it waits for its other locks.
fn several_out_of_turn(tx: &Tx<'_>, key: &[u8], what: Signal) -> Vec<WaiterId> {
    let mut waiting = waiting_holders(tx, key, what);
    if !tx.exists(key) || read_write::is_read(tx, key) {
        let in_line = tx.waiting(key).filter(|waiter| mode_of(waiter.class).is_some());
        let sharers = in_line.take_while(|waiter| shares(waiter.class));
        waiting.extend(sharers.filter(|waiter| waiter.class == SHARED.name).map(|waiter| waiter.id));
    }
    waiting
}

/// The names of their classes: those who want to hold them alone, and those who want to share them.
pub(crate) const SEVERAL: [&str; 2] = [SEVERAL_ALONE.name, SEVERAL_SHARED.name];

/// The names of the classes of those who want to share a lock, and of those who want to hold it alone.
const SHARERS: [&str; 2] = [SHARED.name, SEVERAL_SHARED.name];
const ALONE: [&str; 5] = [PLAIN.name, FAIR.name, EXCLUSIVE.name, CONVERSION.name, SEVERAL_ALONE.name];

/// The rank of conversions, which are served before all others.
pub(in crate::locks) const FIRST: i64 = i64::MIN;

/// The class of those who wait for a lock in a layout.
pub(super) fn class_of(layout: Layout) -> &'static WaitClass {
    match layout {
        Layout::Shared => &SHARED,
        Layout::Exclusive => &EXCLUSIVE,
        Layout::Fair => &FAIR,
        Layout::Plain | Layout::Text => &PLAIN,
    }
}

/// The class of those who wait for several locks in a layout.
pub(super) fn class_of_several(layout: Layout) -> &'static WaitClass {
    if layout == Layout::Shared { &SEVERAL_SHARED } else { &SEVERAL_ALONE }
}

/// The class of those who wait until they can write what they read.
pub(in crate::locks) const fn conversion() -> &'static WaitClass {
    &CONVERSION
}

/// How waiters of this class will hold the lock; `None` when they wait for something else.
pub(in crate::locks) fn mode_of(class: &str) -> Option<LockMode> {
    if shares(class) {
        return Some(LockMode::Shared);
    }
    ALONE.contains(&class).then_some(LockMode::Exclusive)
}

/// Whether waiters of this class want to share the lock.
pub(crate) fn shares(class: &str) -> bool {
    SHARERS.contains(&class)
}

/// The first wait of an owner for a lock: its place, and the name of its class. O(log n), n those who wait.
pub(in crate::locks) fn first_wait(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> Option<(Place, &'static str)> {
    tx.first_wait_as(key, owner, |class| mode_of(class).is_some())
}

/// The last place before this one of somebody who wants to hold a lock alone. O(log n), n those who wait.
pub(in crate::locks) fn last_alone(tx: &Tx<'_>, key: &[u8], before: Option<Place>) -> Option<Place> {
    let places = (Unbounded, before.map_or(Unbounded, Excluded));
    let last = |class: &&str| tx.waiting_between(key, class, places).next_back();
    ALONE.iter().filter_map(last).map(|(place, _)| place).max()
}

/// Whether waiters of this class may be held back when the lock is free: a fair lock has an order of its own.
pub(crate) fn can_be_held_back(class: &WaitClass) -> bool {
    class.line == LINE && class.name != FAIR.name
}

/// Whether somebody before a newcomer of this rank is held back, though the lock is free.
pub(super) fn is_held_back(tx: &Tx<'_>, key: &[u8], rank: i64) -> bool {
    tx.is_held_back(key) && tx.first_in_line(key, LINE).is_some_and(|(place, _)| place.rank <= rank)
}

/// How many stand in the line of a lock before those of this rank who come now. O(n), n those who wait.
pub(super) fn ahead(tx: &Tx<'_>, key: &[u8], rank: i64) -> usize {
    let waiting = ALONE.into_iter().chain(SHARERS).flat_map(|class| tx.waiting_of_class(key, class));
    waiting.filter(|(place, _)| place.rank <= rank).count()
}

/// Whether someone who wants to write waits before those of this rank who come now.
pub(super) fn writer_waits(tx: &Tx<'_>, key: &[u8], rank: i64) -> bool {
    [&EXCLUSIVE, &CONVERSION]
        .iter()
        .any(|class| tx.first_waiting(key, class.name).is_some_and(|place| place.rank <= rank))
}

/// Whether this owner waits until it can write. O(n), n those who wait.
pub(in crate::locks) fn waits_to_convert(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> bool {
    tx.waits_as(key, owner, CONVERSION.name)
}

/// Whether somebody waits until it can write.
pub(in crate::locks) fn conversion_waits(tx: &Tx<'_>, key: &[u8]) -> bool {
    tx.first_waiting(key, CONVERSION.name).is_some()
}

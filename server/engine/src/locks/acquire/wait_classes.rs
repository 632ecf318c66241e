//! The wait classes of waiters for a lock: one for each layout.

use super::super::layouts::{Layout, fair, read_write};
use super::super::redisson;
use super::super::wait_queue::{
    CONVERSION_NAME, EXCLUSIVE_NAME, FAIR_NAME, LOCK_LINE, PLAIN_NAME, SEVERAL, SHARED_NAME, mode_of, shares,
};
use crate::spec::{Asking, OutOfTurn, WaitClass};
use lockwheel_store::keyspace::{Place, Signal, Tx, WaiterId};
use lockwheel_store::values::Value;

/// Returns the class of waiters for a lock. A holder is served out of order, or it would wait for its own release.
const fn class(name: &'static str) -> WaitClass {
    served_besides(name, waiting_holders)
}

const fn served_besides(name: &'static str, out_of_turn: OutOfTurn) -> WaitClass {
    WaitClass {
        name,
        line: LOCK_LINE,
        accepts: |_| true,
        asking: Asking::InOrder,
        out_of_turn: Some(out_of_turn),
        counts: true,
    }
}

const PLAIN: WaitClass = class(PLAIN_NAME);
const FAIR: WaitClass = served_besides(FAIR_NAME, fair_out_of_turn);
const SHARED: WaitClass = class(SHARED_NAME);
const EXCLUSIVE: WaitClass = class(EXCLUSIVE_NAME);
const CONVERSION: WaitClass = class(CONVERSION_NAME);

/// The waiters for several locks. They are retried out of order when their owner comes to hold one of them.
const SEVERAL_ALONE: WaitClass = class(SEVERAL[0]);
const SEVERAL_SHARED: WaitClass = served_besides(SEVERAL[1], several_out_of_turn);

pub(super) fn class_of(layout: Layout) -> &'static WaitClass {
    match layout {
        Layout::Shared => &SHARED,
        Layout::Exclusive => &EXCLUSIVE,
        Layout::Fair { .. } => &FAIR,
        Layout::Plain | Layout::Text => &PLAIN,
    }
}

pub(super) fn class_of_several(layout: Layout) -> &'static WaitClass {
    if layout == Layout::Shared { &SEVERAL_SHARED } else { &SEVERAL_ALONE }
}

/// Returns the class of readers that wait until they can write.
pub(in crate::locks) const fn conversion() -> &'static WaitClass {
    &CONVERSION
}

/// Returns the waiters for a lock whose owner holds it already, in order of place. They were retried when the owner
/// came to hold it. So if the key holds less, or one waiter is gone, no other owner has come to hold it.
fn waiting_holders(tx: &Tx<'_>, key: &[u8], what: Signal) -> Vec<WaiterId> {
    if what == Signal::Less {
        return Vec::new();
    }
    let Some(value) = tx.peek(key) else { return Vec::new() };
    let mut waiting: Vec<(Place, WaiterId)> = match value {
        // A large hash, which may be no lock, is not iterated.
        Value::Hash(hash) if hash.len() > tx.names_waiting(key).len() => {
            let names = tx.names_waiting(key).filter(|name| redisson::names_owner(hash, name));
            names.flat_map(|name| tx.waiting_as(key, name)).collect()
        }
        Value::Hash(hash) => redisson::names(hash).flat_map(|owner| tx.waiting_as(key, owner)).collect(),
        _ => Vec::new(),
    };
    waiting.sort_unstable();
    waiting.into_iter().map(|(_, id)| id).collect()
}

/// Returns the waiters for a fair lock that are served out of order: a holder, and the head of Redisson's queue.
fn fair_out_of_turn(tx: &Tx<'_>, key: &[u8], what: Signal) -> Vec<WaiterId> {
    let mut waiting = waiting_holders(tx, key, what);
    waiting.append(&mut fair::waiting_head(tx, key));
    waiting
}

/// Returns the waiters that are served although a waiter that shares several locks is not: an owner that holds this
/// lock, and the readers right behind that waiter. While it waits for its others, it keeps nothing from them.
fn several_out_of_turn(tx: &Tx<'_>, key: &[u8], what: Signal) -> Vec<WaiterId> {
    let mut waiting = waiting_holders(tx, key, what);
    if !tx.exists(key) || read_write::is_read(tx, key) {
        let in_line = tx.waiting(key).filter(|waiter| mode_of(waiter.class).is_some());
        let sharers = in_line.take_while(|waiter| shares(waiter.class));
        waiting.extend(sharers.filter(|waiter| waiter.class == SHARED_NAME).map(|waiter| waiter.id));
    }
    waiting
}

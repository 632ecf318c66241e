//! The line of those who wait for a lock: by priority, then in order of arrival, whatever their mode.

use super::super::layouts::Layout;
use super::super::ownership::waiting_holders;
use super::super::snapshot::LockMode;
use crate::keyspace::Tx;
use crate::spec::{Asking, WaitClass};

/// Waiters on a lock. An owner that already holds it is served out of order: in order it would come only after it
/// released the lock itself.
const fn class(name: &'static str) -> WaitClass {
    WaitClass {
        name,
        line: "lock",
        accepts: |_| true,
        asking: Asking::InOrder,
        out_of_turn: Some(waiting_holders),
        counts: true,
    }
}

const PLAIN: WaitClass = class("lock");
const FAIR: WaitClass = class("fair lock");
const SHARED: WaitClass = class("shared lock");
const EXCLUSIVE: WaitClass = class("exclusive lock");
const CONVERSION: WaitClass = class("conversion");

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

/// The class of those who wait until they can write what they read.
pub(in crate::locks) const fn conversion() -> &'static WaitClass {
    &CONVERSION
}

/// How waiters of this class will hold the lock; `None` when they wait for something else.
pub(in crate::locks) fn mode_of(class: &str) -> Option<LockMode> {
    if class == SHARED.name {
        return Some(LockMode::Shared);
    }
    let writes = [PLAIN.name, FAIR.name, EXCLUSIVE.name, CONVERSION.name].contains(&class);
    writes.then_some(LockMode::Exclusive)
}

/// Whether someone who wants to write waits before those of this rank who come now.
pub(super) fn writer_waits(tx: &Tx<'_>, key: &[u8], rank: i64) -> bool {
    [&EXCLUSIVE, &CONVERSION]
        .iter()
        .any(|class| tx.first_waiting(key, class.name).is_some_and(|place| place.rank <= rank))
}

/// Whether an owner waits until it can write.
pub(in crate::locks) fn conversion_waits(tx: &Tx<'_>, key: &[u8]) -> bool {
    tx.first_waiting(key, CONVERSION.name).is_some()
}

//! The delay before a free lock is granted to native waiters (`lock-handoff-delay`), while Redisson's clients wait too.

use super::channel_waiters;
use super::wait_queue::LOCK_LINE;
use crate::pubsub::PubSub;
use lockwheel_store::keyspace::{Keyspace, ReadyKey, Signal};
use lockwheel_store::time::Now;

/// Whether the native waiters of a lock are held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrantDelay {
    None,
    /// Waiters are already held back until a known time.
    Runs,
    /// Waiters are held back until this time of the monotonic clock in ms. [`release_due`] must be called then.
    Begins(i64),
}

/// Returns whether the native waiters of a free lock are held back at this time. The delay is `delay_ms` in all.
#[inline]
pub(crate) fn grant_delay(
    keyspace: &mut Keyspace,
    pubsub: &PubSub,
    ready: &ReadyKey,
    (delay_ms, now): (u64, Now),
) -> GrantDelay {
    let (db, key) = (ready.db, &*ready.key);
    let until_ms = keyspace.waiters.held_back.until_ms(db, key);
    if until_ms.is_none() && delay_ms == 0 {
        return GrantDelay::None;
    }
    let is_free = !keyspace.has_key(db, key);
    match until_ms {
        Some(until_ms) if is_free && until_ms > now.monotonic_ms() => GrantDelay::Runs,
        Some(_) => {
            keyspace.waiters.held_back.let_go(db, key);
            GrantDelay::None
        }
        None if is_free && is_contended(keyspace, pubsub, (db, key), now) => {
            // Saturates on overflow.
            let until_ms = now.monotonic_ms().saturating_add_unsigned(delay_ms);
            keyspace.waiters.held_back.hold(db, key, until_ms);
            GrantDelay::Begins(until_ms)
        }
        None => GrantDelay::None,
    }
}

/// Whether both native clients and Redisson's clients wait for a lock.
fn is_contended(keyspace: &mut Keyspace, pubsub: &PubSub, (db, key): (usize, &[u8]), now: Now) -> bool {
    let is_lock = keyspace.tx(db, now).first_in_line(key, LOCK_LINE).is_some();
    is_lock && !channel_waiters(pubsub, key).is_empty()
}

/// Signals the locks whose waiters have been held back for long enough, so that they are served.
pub(crate) fn release_due(keyspace: &mut Keyspace, now: Now) {
    for (db, key) in keyspace.waiters.held_back.due(now.monotonic_ms()) {
        if keyspace.tx(db, now).waiting(&key).next().is_some() {
            keyspace.waiters.signal(db, &key, Signal::Changed);
        } else {
            keyspace.waiters.held_back.let_go(db, &key);
        }
    }
}

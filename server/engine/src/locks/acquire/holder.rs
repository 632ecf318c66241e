//! `GETHOLDER`: who is refused is told who holds the lock.

use super::super::redisson;
use crate::keyspace::Tx;
use lockwheel_resp::Reply;

/// Writes who holds a lock, for how many milliseconds yet as PTTL shows it, and which place in its queue a newcomer
/// would have. O(n), n the waiters.
pub(super) fn write(tx: &Tx<'_>, key: &[u8], reply: &mut dyn Reply) {
    let holder = tx
        .peek(key)
        .and_then(|value| redisson::with_first_owner(value, |field| redisson::owner_of(field).to_vec()));
    let ttl_ms = tx.deadline(key).map_or(-1, |deadline| deadline - tx.now().wall_ms());
    let waiters = tx.waiting(key).filter(|waiter| !waiter.label.is_empty()).count();
    reply.map(3);
    reply.bulk(b"holder");
    match holder {
        Some(holder) => reply.bulk(&holder),
        None => reply.null(),
    }
    for (name, number) in [("ttl", ttl_ms), ("position", waiters as i64 + 1)] {
        reply.bulk(name.as_bytes());
        reply.integer(number);
    }
}

//! Publishes to Redisson's waiters, after a native release, what Redisson itself would publish.

use super::redisson::{self, UNLOCK_MESSAGE};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::Value;

/// Notifies them that a plain lock is free: the first in the queue of a fair one alone.
pub(super) fn notify_plain(tx: &mut Tx<'_>, key: &[u8]) {
    if tx.has_audience() && !notify_head(tx, key) {
        tx.publish(&redisson::lock_channel(key), UNLOCK_MESSAGE);
    }
}

/// Notifies the first in the queue of a fair lock; whether there is one.
pub(super) fn notify_head(tx: &mut Tx<'_>, key: &[u8]) -> bool {
    let channel = match tx.peek(&redisson::queue_key(key)) {
        Some(Value::List(queue)) => queue.get(0).map(|head| redisson::waiter_channel(key, head)),
        _ => None,
    };
    if let Some(channel) = channel.as_deref().filter(|_| tx.has_audience()) {
        tx.publish(channel, UNLOCK_MESSAGE);
    }
    channel.is_some()
}

/// Notifies them that a read-write lock can be taken, or read.
pub(super) fn notify_read_write(tx: &mut Tx<'_>, key: &[u8], message: &[u8]) {
    if tx.has_audience() {
        tx.publish(&redisson::read_write_channel(key), message);
    }
}

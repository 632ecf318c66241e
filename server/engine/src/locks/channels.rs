//! Publishes, after a native release, the messages that Redisson itself would publish to its waiters.

use super::redisson::{self, UNLOCK_MESSAGE};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::Value;

/// Notifies Redisson's waiters that a plain lock is free; for a fair lock, only the head of the queue.
pub(super) fn notify_plain(tx: &mut Tx<'_>, key: &[u8]) {
    if tx.has_audience() && !notify_head(tx, key) {
        tx.publish(redisson::lock_channel(key), UNLOCK_MESSAGE);
    }
}

/// Notifies the first waiter in the queue of a fair lock. Returns whether there is one.
pub(super) fn notify_head(tx: &mut Tx<'_>, key: &[u8]) -> bool {
    let channel = match tx.peek(&redisson::queue_key(key)) {
        Some(Value::List(queue)) => queue.get(0).map(|head| redisson::waiter_channel(key, head)),
        _ => None,
    };
    let is_there = channel.is_some();
    if let Some(channel) = channel.filter(|_| tx.has_audience()) {
        tx.publish(channel, UNLOCK_MESSAGE);
    }
    is_there
}

/// Notifies Redisson's waiters that a read-write lock can be taken or read.
pub(super) fn notify_read_write(tx: &mut Tx<'_>, key: &[u8], message: &[u8]) {
    if tx.has_audience() {
        tx.publish(redisson::read_write_channel(key), message);
    }
}

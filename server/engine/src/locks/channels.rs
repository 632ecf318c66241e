//! Publishes, after a native release, the messages that Redisson itself would publish to its waiters.

use super::redisson::{self, UNLOCK_MESSAGE};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::Value;

/// Notifies Redisson's waiters that a plain lock is free; for a fair lock, only the head of the queue.
pub(super) fn notify_plain(tx: &mut Tx<'_>, key: &[u8]) {
    if tx.has_audience() {
        let (queue, channel) = redisson::queue_and_channel(key);
        if !notify_head_of(tx, key, &queue) {
            tx.publish(&channel(), UNLOCK_MESSAGE);
        }
    }
}

/// Notifies the first waiter in the queue of a fair lock. Returns whether there is one.
pub(super) fn notify_head(tx: &mut Tx<'_>, key: &[u8]) -> bool {
    notify_head_of(tx, key, &redisson::queue_key(key))
}

fn notify_head_of(tx: &mut Tx<'_>, key: &[u8], queue: &[u8]) -> bool {
    let channel = match tx.peek(queue) {
        Some(Value::List(queue)) => queue.get(0).map(|head| redisson::waiter_channel(key, head)),
        _ => None,
    };
    if let Some(channel) = &channel {
        tx.publish(channel, UNLOCK_MESSAGE);
    }
    channel.is_some()
}

/// Notifies Redisson's waiters that a read-write lock can be taken or read.
pub(super) fn notify_read_write(tx: &mut Tx<'_>, key: &[u8], message: &[u8]) {
    if tx.has_audience() {
        tx.publish(&redisson::read_write_channel(key), message);
    }
}

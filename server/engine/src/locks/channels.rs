//! Publishes to Redisson's waiters, after a native release, what Redisson itself would publish.

use super::redisson::{self, UNLOCK_MESSAGE};
use crate::keyspace::Tx;

/// Notifies them that a plain lock is free.
pub(super) fn notify_plain(tx: &mut Tx<'_>, key: &[u8]) {
    if tx.has_audience() {
        tx.publish(&redisson::lock_channel(key), UNLOCK_MESSAGE);
    }
}

/// Notifies them that a read-write lock can be taken, or read.
pub(super) fn notify_read_write(tx: &mut Tx<'_>, key: &[u8], message: &[u8]) {
    if tx.has_audience() {
        tx.publish(&redisson::read_write_channel(key), message);
    }
}

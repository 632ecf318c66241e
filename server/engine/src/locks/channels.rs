//! Those who wait by Redisson's means are told what a native release would tell them in Redisson.

use super::redisson::{self, UNLOCK_MESSAGE};
use crate::keyspace::Tx;

/// Tells them that a plain lock is free.
pub(super) fn tell_plain(tx: &mut Tx<'_>, key: &[u8]) {
    if tx.has_audience() {
        tx.publish(&redisson::lock_channel(key), UNLOCK_MESSAGE);
    }
}

/// Tells them that a read-write lock can be had, or read.
pub(super) fn tell_read_write(tx: &mut Tx<'_>, key: &[u8], message: &[u8]) {
    if tx.has_audience() {
        tx.publish(&redisson::read_write_channel(key), message);
    }
}

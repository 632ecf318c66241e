//! Changes of a key that all families make, each with the request that propagates it.

use lockwheel_store::keyspace::{KeyRequest, Tx, events};

/// Sets the deadline of a key, in wall milliseconds. Returns whether the key exists.
pub(super) fn set_deadline(tx: &mut Tx<'_>, key: &[u8], deadline_ms: i64) -> bool {
    let exists = tx.set_deadline(key, deadline_ms);
    if exists {
        tx.changed(key, events::EXPIRE);
        tx.propagate_key(key, &[KeyRequest::ExpireAt(deadline_ms)]);
    }
    exists
}

/// Deletes a key. Returns whether the key existed.
pub(super) fn delete(tx: &mut Tx<'_>, key: &[u8]) -> bool {
    let existed = tx.delete(key);
    if existed {
        tx.propagate_key(key, &[KeyRequest::Remove]);
    }
    existed
}

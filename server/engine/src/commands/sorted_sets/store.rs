//! The storing of a computed sorted set.

use lockwheel_store::keyspace::{Event, Tx};
use lockwheel_store::values::{Value, ZSet};

/// Sets `destination` to this set, whatever it held, and reports `event`. An empty set deletes the key, with the event
/// of a deletion. Returns the number of members.
pub(in crate::commands) fn store(tx: &mut Tx<'_>, destination: &[u8], set: ZSet, event: Event) -> usize {
    let len = set.len();
    if len > 0 {
        tx.set(destination, Value::ZSet(set), false);
        tx.changed(destination, event);
    } else {
        tx.delete(destination);
    }
    len
}

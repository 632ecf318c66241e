//! Storing a computed sorted set.

use lockwheel_store::keyspace::{Event, Tx};
use lockwheel_store::values::{Value, ZSet};

/// Gives `destination` this value, whatever it held, with that event; an empty set deletes it, with the event of that.
/// How many members there are.
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

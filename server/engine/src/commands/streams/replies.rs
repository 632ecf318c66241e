//! The replies of entries.

use lockwheel_resp::Reply;
use lockwheel_store::values::stream::{Entry, StreamId};

pub(super) fn write_id(id: StreamId, reply: &mut dyn Reply) {
    reply.bulk(&id.text());
}

/// Writes an entry: its id, and its fields and values.
pub(super) fn write_entry(entry: &Entry<'_>, reply: &mut dyn Reply) {
    reply.array(2);
    write_id(entry.id(), reply);
    let pairs = entry.pairs();
    reply.array(2 * pairs.len());
    for (field, value) in pairs {
        reply.bulk(&field);
        reply.bulk(&value);
    }
}

/// Writes entries. Their number must be known before.
pub(super) fn write_entries<'a>(
    entries: impl Iterator<Item = Entry<'a>> + Clone,
    most: usize,
    reply: &mut dyn Reply,
) {
    let entries = entries.take(most);
    reply.array(entries.clone().count());
    entries.for_each(|entry| write_entry(&entry, reply));
}

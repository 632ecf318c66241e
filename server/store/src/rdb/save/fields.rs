//! Hashes whose fields have deadlines, in the form of Redis 7.4.

use crate::rdb::{Writer, payload, types};
use crate::values::Hash;

/// Writes the earliest deadline, then each field's difference to it plus 1 (0: none), name and value.
pub(super) fn write(hash: &Hash, writer: &mut Writer) -> u16 {
    let first_ms = hash.first_deadline().map_or(0, |(at_ms, _)| at_ms);
    writer.form(types::HASH_METADATA);
    writer.bytes(&first_ms.to_le_bytes());
    writer.length(hash.len());
    for (field, value, deadline_ms) in hash.iter_timed() {
        // Deadlines are not before the epoch, and so less than 2^63 apart.
        writer.number(deadline_ms.map_or(0, |deadline_ms| deadline_ms.abs_diff(first_ms) + 1));
        writer.string(field);
        writer.string(value);
    }
    payload::VERSION_7_4
}

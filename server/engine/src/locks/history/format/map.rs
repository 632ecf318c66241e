//! The history as a map.

use super::fields::{Field, fields};
use crate::locks::history::entry::Entry;
use crate::locks::history::ring::Ring;
use lockwheel_resp::{Protocol, Reply, Writer};

/// Writes the range of entries that the ring has, and the number of entries that follow.
pub(in crate::locks) fn head(ring: &Ring, entries: usize, (text, protocol): (&mut Vec<u8>, Protocol)) {
    let mut reply = Writer::new(text, protocol);
    reply.map(4);
    reply.bulk(b"first");
    reply.integer(if ring.next() > ring.first() { ring.first() as i64 } else { 0 });
    reply.bulk(b"last");
    reply.integer((ring.next() - 1) as i64);
    reply.bulk(b"truncated");
    reply.integer(i64::from(ring.is_truncated()));
    reply.bulk(b"entries");
    reply.array(entries);
}

pub(in crate::locks) fn entry(
    ring: &Ring,
    (seq, entry): (u64, &Entry),
    (text, protocol): (&mut Vec<u8>, Protocol),
) {
    let mut reply = Writer::new(text, protocol);
    let fields = fields(ring, seq, entry);
    reply.map(fields.len());
    for (name, field) in fields {
        reply.bulk(name.as_bytes());
        match field {
            Field::Null => reply.null(),
            Field::Number(number) => reply.integer(number),
            Field::Text(text) => reply.bulk(&text),
        }
    }
}

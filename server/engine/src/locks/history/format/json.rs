//! The history as JSON: one entry on each line, without its empty fields.

use super::fields::{Field, fields};
use super::text::quote;
use crate::locks::history::entry::Entry;
use crate::locks::history::ring::Ring;
use std::fmt::Write;

/// Writes the range of entries that the ring has.
pub(in crate::locks) fn head(ring: &Ring, text: &mut Vec<u8>) {
    let first = if ring.next() > ring.first() { ring.first() } else { 0 };
    let (last, truncated) = (ring.next() - 1, ring.is_truncated());
    let head = format!("{{\"first\":{first},\"last\":{last},\"truncated\":{truncated},\"entries\":[");
    text.extend_from_slice(head.as_bytes());
}

pub(in crate::locks) fn entry(ring: &Ring, (seq, entry): (u64, &Entry), is_first: bool, into: &mut Vec<u8>) {
    let mut text = String::from(if is_first { "\n{" } else { ",\n{" });
    let mut separator = "";
    for (name, field) in fields(ring, seq, entry) {
        if field == Field::Null {
            continue;
        }
        text.push_str(separator);
        separator = ",";
        let _infallible = write!(text, "\"{name}\":");
        match field {
            Field::Text(value) => quote(&mut text, &value),
            Field::Number(number) => text.push_str(&number.to_string()),
            Field::Null => {}
        }
    }
    text.push('}');
    into.extend_from_slice(text.as_bytes());
}

pub(in crate::locks) fn tail(text: &mut Vec<u8>) {
    text.extend_from_slice(b"]}\n");
}

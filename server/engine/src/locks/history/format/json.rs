//! The history as JSON: an entry a line, without the fields that it has not.

use super::fields::{Field, fields};
use super::text::quote;
use crate::locks::history::entry::Entry;
use crate::locks::history::ring::Ring;
use std::fmt::Write;

/// These entries, and which the ring has.
pub(in crate::locks) fn text(ring: &Ring, entries: &[(u64, &Entry)]) -> String {
    let first = if ring.next() > ring.first() { ring.first() } else { 0 };
    let (last, truncated) = (ring.next() - 1, ring.is_truncated());
    let mut text = format!("{{\"first\":{first},\"last\":{last},\"truncated\":{truncated},\"entries\":[");
    for (at, (seq, entry)) in entries.iter().enumerate() {
        text.push_str(if at == 0 { "\n{" } else { ",\n{" });
        let mut separator = "";
        for (name, field) in fields(ring, *seq, entry) {
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
    }
    text.push_str("]}\n");
    text
}

//! The history as lines for readers: a line for each entry, and one line for many clients that come or go.

use super::fields::{Field, fields};
use super::text::quote;
use crate::locks::history::entry::{Entry, Event};
use crate::locks::history::ring::Ring;
use lockwheel_store::memory::vec_heap_bytes;
use std::fmt::Write;

/// The number of adjacent entries of clients that come, or that go, from which one line stands for all of them.
const MIN_RUN: usize = 3;

/// The lines in the course of being written.
#[derive(Debug, Default)]
pub(in crate::locks) struct Lines {
    /// Entries of clients that come, or that go, to one server. They are not written yet.
    run: Vec<u64>,
}

impl Lines {
    /// Writes an entry, or keeps it until the run is complete to which it belongs.
    pub(in crate::locks) fn entry(&mut self, ring: &Ring, (seq, entry): (u64, &Entry), into: &mut Vec<u8>) {
        if !self.continues_run(ring, (seq, entry)) {
            self.end(ring, into);
        }
        match entry.event {
            Event::Connect | Event::Disconnect => self.run.push(seq),
            _ => write_line(ring, (seq, entry), into),
        }
    }

    /// Writes the entries that are kept.
    pub(in crate::locks) fn end(&mut self, ring: &Ring, into: &mut Vec<u8>) {
        let run = std::mem::take(&mut self.run);
        let entries: Vec<(u64, &Entry)> =
            run.into_iter().filter_map(|seq| ring.get(seq).map(|entry| (seq, entry))).collect();
        match &entries[..] {
            [first, .., last] if entries.len() >= MIN_RUN => write_run(ring, (*first, *last), &entries, into),
            few => few.iter().for_each(|each| write_line(ring, *each, into)),
        }
    }

    pub(in crate::locks) fn memory(&self) -> usize {
        vec_heap_bytes(&self.run)
    }

    fn continues_run(&self, ring: &Ring, (seq, entry): (u64, &Entry)) -> bool {
        let last = self.run.last().and_then(|&last| ring.get(last).map(|of_last| (last, of_last)));
        last.is_some_and(|(last, of_last)| {
            of_last.event == entry.event && ring.place(last) == ring.place(seq)
        })
    }
}

/// Writes an entry with all fields that it has: its number, its time, its event, its key, and the others by name.
fn write_line(ring: &Ring, (seq, entry): (u64, &Entry), into: &mut Vec<u8>) {
    let when = ring.when(seq, entry);
    let mut line = format!("{seq} {} ms {}", when.monotonic_ms, entry.event.name());
    let key = ring.text(entry.key);
    if !key.is_empty() {
        line.push(' ');
        write_text(&mut line, key);
    }
    for (name, field) in fields(ring, seq, entry) {
        let is_written = ["seq", "wall", "monotonic", "event", "key"].contains(&name);
        let is_no_wait = name == "waited" && field == Field::Number(0);
        if is_written || is_no_wait || field == Field::Null {
            continue;
        }
        let _infallible = write!(line, " {name}=");
        match field {
            Field::Text(value) => write_text(&mut line, &value),
            Field::Number(number) => line.push_str(&number.to_string()),
            Field::Null => {}
        }
    }
    line.push('\n');
    into.extend_from_slice(line.as_bytes());
}

/// Writes many clients that came, or that went.
fn write_run(
    ring: &Ring,
    ((first, begin), (last, end)): ((u64, &Entry), (u64, &Entry)),
    entries: &[(u64, &Entry)],
    into: &mut Vec<u8>,
) {
    let (from, to) = (ring.when(first, begin).monotonic_ms, ring.when(last, end).monotonic_ms);
    let time = if from == to { from.to_string() } else { format!("{from}-{to}") };
    let clients = ranges(entries.iter().map(|(_, entry)| ring.client_of(entry)));
    let (event, count) = (begin.event.name(), entries.len());
    let mut line = format!("{first}-{last} {time} ms {event} x{count} client={clients}");
    let name = ring.text(begin.client_name);
    let is_of_all = entries.iter().all(|(_, entry)| ring.text(entry.client_name) == name);
    let node = ring.place(first).unwrap_or_default();
    for (field, value) in [("clientname", if is_of_all { name } else { b"" }), ("node", node)] {
        if !value.is_empty() {
            let _infallible = write!(line, " {field}=");
            write_text(&mut line, value);
        }
    }
    line.push('\n');
    into.extend_from_slice(line.as_bytes());
}

/// Joins numbers. Adjacent ones become a range: `3-20,22`.
fn ranges(numbers: impl Iterator<Item = u64>) -> String {
    let mut found: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match found.last_mut() {
            Some((_, last)) if number == *last + 1 => *last = number,
            _ => found.push((number, number)),
        }
    }
    let shown = found.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    shown.collect::<Vec<_>>().join(",")
}

/// Writes a text, in quotes if it would break the line.
fn write_text(line: &mut String, text: &[u8]) {
    let shown = String::from_utf8_lossy(text);
    match shown.contains(char::is_control) {
        true => quote(line, text),
        false => line.push_str(&shown),
    }
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn adjacent_numbers_become_ranges() {
        assert_eq!(ranges([3, 4, 5, 7, 9, 10].into_iter()), "3-5,7,9-10");
        assert_eq!(ranges([1].into_iter()), "1");
    }
}

//! The histories of several servers, merged into one in the order of events.

use super::entry::Entry;
use super::places::{CLIENT_BITS, Places, own_number};
use super::recorder::History;
use super::ring::Ring;
use std::borrow::Borrow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A merge of histories. The result begins where all are known: after the latest beginning and the last lost entry.
#[derive(Debug)]
pub(in crate::locks) struct Merging<R> {
    rings: Vec<R>,
    /// The next entry of each ring that has one: its stamp, the place of its server, and its own number.
    next: BinaryHeap<Reverse<(u64, usize, u64)>>,
    merged: Ring,
    left: usize,
}

impl<R: Borrow<Ring>> Merging<R> {
    /// Begins to merge these rings, each with its server's name. `lacks_some`: some servers keep no history. O(log n).
    pub(in crate::locks) fn new(servers: Vec<(R, Box<[u8]>)>, lacks_some: bool, seed: u64) -> Self {
        let (rings, names): (Vec<R>, Vec<Box<[u8]>>) = servers.into_iter().unzip();
        let of = || rings.iter().map(Borrow::borrow);
        let since = of().map(Ring::stamped_since).max().unwrap_or(0);
        let lost = of().filter(|ring| ring.is_truncated());
        let from = lost.filter_map(Ring::first_stamp).max().unwrap_or(0).max(since + 1);
        let (mut next, mut left) = (BinaryHeap::new(), 0);
        for (place, ring) in of().enumerate() {
            if let Some((stamp, seq)) = ring.first_stamped(from) {
                next.push(Reverse((stamp, place, seq)));
                left += usize::try_from(ring.next() - seq).unwrap_or(usize::MAX);
            }
        }
        let first = if left > 0 { from - since } else { 1 };
        let mut merged = Ring::of_several(first, Places { names, of: Vec::new() }, seed);
        if lacks_some {
            merged.note_gaps();
        }
        Merging { rings, next, merged, left }
    }

    /// Records the servers whose entries are missing because the servers hang.
    pub(in crate::locks) fn leave_out(&mut self, servers: &str) {
        self.merged.leave_out(servers);
    }

    /// Returns the number of entries that are still to be merged. O(1).
    pub(in crate::locks) fn left(&self) -> usize {
        self.left
    }

    /// Merges `count` more entries. Returns whether they were the last. O(log n) for each, n the servers.
    pub(in crate::locks) fn go_on(&mut self, count: usize) -> bool {
        for _ in 0..count {
            let Some(Reverse((_, place, seq))) = self.next.pop() else { break };
            let ring = self.rings[place].borrow();
            let Some(&entry) = ring.get(seq) else { continue };
            let client = match entry.client {
                0 => 0,
                client => own_number(client) | ((place as u64 + 1) << CLIENT_BITS),
            };
            self.merged.push_copy((ring, place), seq, Entry { client, ..entry });
            if let Some(stamp) = ring.stamp(seq + 1) {
                self.next.push(Reverse((stamp, place, seq + 1)));
            }
            self.left -= 1;
        }
        self.next.is_empty()
    }

    /// Merges the rest. O(n log m), n the entries and m the servers.
    pub(in crate::locks) fn finish(mut self) -> History {
        while !self.go_on(usize::MAX) {}
        History::of(self.merged)
    }
}

impl Merging<Ring> {
    /// Returns the memory in bytes. O(n), n the servers.
    pub(in crate::locks) fn memory(&self) -> usize {
        self.merged.memory() + self.rings.iter().map(Ring::memory).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::Event;
    use super::super::recorder::Happening;
    use super::super::stamps::StampSource;
    use super::*;
    use lockwheel_store::time::Now;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn source() -> StampSource {
        let last = AtomicU64::new(0);
        StampSource::new(move |count| last.fetch_add(count, Ordering::Relaxed) + count)
    }

    fn record(history: &mut History, key: &str, client: u64) {
        let what =
            Happening { client: Some(client), ..Happening::new(Event::Acquired, key.as_bytes(), b"o") };
        history.record(Now { wall_us: 0, monotonic_us: 0 }, what);
    }

    fn merged(one: &History, other: &History) -> History {
        let servers = || vec![(one.ring(), Box::from(&b"one"[..])), (other.ring(), Box::from(&b"other"[..]))];
        let mut in_pieces = Merging::new(servers(), false, 7);
        while !in_pieces.go_on(1) {}
        let at_once = Merging::new(servers(), false, 7).finish();
        assert_eq!(told(&in_pieces.finish()), told(&at_once));
        at_once
    }

    fn told(history: &History) -> Vec<(u64, String, String)> {
        let ring = history.ring();
        let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        let named = |seq| text(ring.place(seq).unwrap_or_default());
        ring.after(0).map(|(seq, entry)| (seq, text(ring.text(entry.key)), named(seq))).collect()
    }

    fn entry(seq: u64, key: &str, place: &str) -> (u64, String, String) {
        (seq, key.to_owned(), place.to_owned())
    }

    #[test]
    fn entries_stand_in_their_order_with_their_servers() {
        let source = source();
        let (mut one, mut other) =
            (History::stamped(9, 1, Some(source.clone())), History::stamped(9, 2, Some(source)));
        record(&mut one, "a", 5);
        record(&mut other, "b", 5);
        record(&mut one, "c", 5);
        let both = merged(&one, &other);
        assert_eq!(told(&both), [entry(1, "a", "one"), entry(2, "b", "other"), entry(3, "c", "one")]);
        assert!(!both.ring().is_truncated());
        let clients: Vec<u64> = both.ring().after(0).map(|(_, entry)| entry.client).collect();
        assert!(clients[0] == clients[2] && clients[0] != clients[1]);
        assert!(clients.iter().all(|client| own_number(*client) == 5));
    }

    #[test]
    fn a_merged_history_lacks_what_one_server_has_dropped() {
        let source = source();
        let (mut one, mut other) =
            (History::stamped(9, 1, Some(source.clone())), History::stamped(2, 2, Some(source)));
        record(&mut one, "a", 1);
        for key in ["b", "c", "d"] {
            record(&mut other, key, 1);
        }
        let both = merged(&one, &other);
        assert_eq!(told(&both), [entry(3, "c", "other"), entry(4, "d", "other")]);
        assert!(both.ring().is_truncated());
    }

    #[test]
    fn a_merged_history_begins_with_the_latest_beginning() {
        let source = source();
        let mut one = History::stamped(9, 1, Some(source.clone()));
        record(&mut one, "a", 1);
        let mut other = History::stamped(9, 2, Some(source));
        record(&mut other, "b", 1);
        let both = merged(&one, &other);
        assert_eq!(told(&both), [entry(1, "b", "other")]);
        assert!(!both.ring().is_truncated());
    }
}

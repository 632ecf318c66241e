//! The histories of several servers as one, in the order in which things happened.

use super::entry::Entry;
use super::places::{CLIENT_BITS, Places, own_number};
use super::recorder::History;
use super::ring::Ring;

/// One history of these, each with what its server is called. It begins where all of them are known: behind the last
/// beginning of one, and where none has lost entries since. `lacks_some`: there are servers that keep none.
pub(in crate::locks) fn merge(rings: &[(&Ring, Box<[u8]>)], lacks_some: bool, seed: u64) -> History {
    let since = rings.iter().map(|(ring, _)| ring.stamped_since()).max().unwrap_or(0);
    let lost = rings.iter().filter(|(ring, _)| ring.is_truncated());
    let from = lost.filter_map(|(ring, _)| ring.first_stamp()).max().unwrap_or(0).max(since + 1);
    let mut all: Vec<(u64, usize, (u64, &Entry))> = Vec::new();
    for (place, (ring, _)) in rings.iter().enumerate() {
        let kept = ring.stamped_entries().filter(|(stamp, _)| *stamp >= from);
        all.extend(kept.map(|(stamp, entry)| (stamp, place, entry)));
    }
    all.sort_unstable_by_key(|(stamp, ..)| *stamp);
    let first = all.first().map_or(1, |_| from - since);
    let names = rings.iter().map(|(_, name)| name.clone()).collect();
    let of = all.iter().map(|(_, place, _)| u8::try_from(*place).unwrap_or(u8::MAX)).collect();
    let mut merged = Ring::of_several(first, Places { names, of }, seed);
    for (_, place, (seq, entry)) in all {
        let client = match entry.client {
            0 => 0,
            client => own_number(client) | ((place as u64 + 1) << CLIENT_BITS),
        };
        merged.push_copy(rings[place].0, seq, Entry { client, ..*entry });
    }
    if lacks_some {
        merged.note_gaps();
    }
    History::of(merged)
}

#[cfg(test)]
mod tests {
    use super::super::entry::Event;
    use super::super::recorder::Happening;
    use super::super::stamps::StampSource;
    use super::*;
    use crate::time::Now;
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
        merge(&[(one.ring(), Box::from(&b"one"[..])), (other.ring(), Box::from(&b"other"[..]))], false, 7)
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
    fn what_one_has_lost_is_missing_from_all() {
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
    fn it_begins_where_the_last_of_them_does() {
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

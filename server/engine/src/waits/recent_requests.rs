//! The recent requests of clients, for clients that wait for silence, recorded once however many wait.

use std::collections::BTreeMap;

/// A predicate on client names that selects the requests of interest.
type IsWanted<'a> = dyn Fn(&[u8]) -> bool + 'a;

/// The maximum number of names, and the maximum of their bytes beyond those of the connected clients. With more, all
/// waiting clients look at the requests, which are then dropped.
const MAX_NAMES: usize = 1024;
const MAX_NAME_BYTES: usize = 1 << 16;

/// The maximum number of bursts of all names together. With more, the requests are likewise dropped.
const MAX_BURSTS: usize = 1 << 13;

/// Requests without a silence long enough for a waiting client, in milliseconds of the system's monotonic clock.
#[derive(Clone, Copy, Debug)]
struct Burst {
    first_ms: i64,
    last_ms: i64,
}

/// The requests since all waiting clients have last looked at them.
#[derive(Debug, Default)]
pub(crate) struct RecentRequests {
    /// The number of the last recorded request.
    seen: u64,
    /// The shortest silence that a client waits for, in milliseconds.
    shortest_ms: Option<i64>,
    /// The bursts of all clients together.
    of_all: Vec<Burst>,
    /// The bursts by client name, as the name was after the request.
    by_name: BTreeMap<Box<[u8]>, Vec<Burst>>,
    name_bytes: usize,
    /// The number of bursts of all clients together and of each name.
    bursts: usize,
    is_full: bool,
    /// The number of times that a maximum was exceeded.
    overflows: u64,
}

impl RecentRequests {
    /// Records that a client waits for a silence of this many milliseconds.
    pub(crate) fn expect(&mut self, quiet_ms: i64) {
        self.shortest_ms = Some(self.shortest_ms.map_or(quiet_ms, |shortest_ms| shortest_ms.min(quiet_ms)));
    }

    /// Records the last request, if its number is new. `name` is absent if the client has disconnected. `live_bytes` is
    /// the length of all connected clients' names, so that only names that were really sent count.
    pub(crate) fn note(&mut self, request: u64, name: Option<&[u8]>, live_bytes: usize, now_ms: i64) {
        if std::mem::replace(&mut self.seen, request) == request {
            return;
        }
        let shortest_ms = self.shortest_ms.unwrap_or(1);
        let mut begun = note_in(&mut self.of_all, now_ms, shortest_ms);
        match name.map(|name| (name, self.by_name.get_mut(name))) {
            Some((_, Some(bursts))) => begun += note_in(bursts, now_ms, shortest_ms),
            Some((name, None)) => {
                self.name_bytes += name.len();
                self.by_name.insert(name.into(), vec![Burst { first_ms: now_ms, last_ms: now_ms }]);
                begun += 1;
            }
            None => {}
        }
        self.bursts += begun;
        let is_full = self.by_name.len() > MAX_NAMES
            || self.bursts > MAX_BURSTS
            || self.name_bytes > MAX_NAME_BYTES.saturating_add(live_bytes);
        if begun > 0 && is_full {
            self.is_full = true;
            self.overflows += 1;
        }
    }

    /// Returns how often a maximum was exceeded. All waiting clients must look before requests are dropped.
    pub(crate) fn overflows(&self) -> u64 {
        self.overflows
    }

    /// Drops the requests if they are too many, after all waiting clients have looked at them.
    pub(crate) fn make_room(&mut self) {
        if std::mem::take(&mut self.is_full) {
            self.forget_requests();
        }
    }

    /// Forgets everything, because no client waits any more.
    pub(crate) fn forget(&mut self) {
        self.forget_requests();
        self.shortest_ms = None;
        self.is_full = false;
    }

    fn forget_requests(&mut self) {
        self.of_all.clear();
        self.by_name.clear();
        (self.name_bytes, self.bursts) = (0, 0);
    }

    /// Returns the instant of the last request after `since_ms` of a client with a wanted name, or `since_ms`; `None`
    /// if one came after a silence of `quiet_ms`. O(n log n), n the names and bursts.
    pub(crate) fn last_of(
        &self,
        since_ms: i64,
        quiet_ms: i64,
        is_wanted: Option<&IsWanted<'_>>,
    ) -> Option<i64> {
        let is_later = |burst: &&Burst| burst.last_ms > since_ms;
        let mut later: Vec<&Burst> = match is_wanted {
            None => self.of_all.iter().rev().take_while(is_later).collect(),
            Some(is_wanted) => {
                let named = self
                    .by_name
                    .iter()
                    .filter(|(_, bursts)| bursts.last().is_some_and(|last| is_later(&last)));
                let wanted = named.filter(|(name, _)| is_wanted(name));
                wanted.flat_map(|(_, bursts)| bursts.iter().rev().take_while(is_later)).collect()
            }
        };
        later.sort_unstable_by_key(|burst| burst.first_ms);
        later.into_iter().try_fold(since_ms, |last_ms, burst| {
            let is_broken = burst.first_ms.saturating_sub(last_ms) < quiet_ms;
            is_broken.then(|| last_ms.max(burst.last_ms))
        })
    }
}

/// Records a request. Returns 1 if it begins a burst, otherwise 0.
fn note_in(bursts: &mut Vec<Burst>, now_ms: i64, shortest_ms: i64) -> usize {
    match bursts.last_mut() {
        Some(last) if now_ms - last.last_ms < shortest_ms => {
            last.last_ms = now_ms;
            0
        }
        _ => {
            bursts.push(Burst { first_ms: now_ms, last_ms: now_ms });
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silence_is_known_after_it_has_ended() {
        let mut requests = RecentRequests::default();
        requests.expect(12);
        for (request, (name, ms)) in [("a", 5), ("b", 10), ("a", 20), ("b", 31), ("a", 33)].iter().enumerate()
        {
            requests.note(request as u64 + 1, Some(name.as_bytes()), 2, *ms);
        }
        let is_b = |name: &[u8]| name == b"b";
        let of_b = |since_ms, quiet_ms| requests.last_of(since_ms, quiet_ms, Some(&is_b));
        assert_eq!((requests.last_of(0, 12, None), requests.last_of(40, 12, None)), (Some(33), Some(40)));
        assert_eq!((of_b(0, 12), of_b(0, 22), of_b(19, 12), of_b(20, 12)), (None, Some(31), None, Some(31)));
    }
}

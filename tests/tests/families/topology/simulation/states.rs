//! What a master had at each offset of its stream, and whether a replica has just that.

use std::collections::BTreeMap;

/// The tags of keys: in a cluster of three, each of another master.
pub(super) const TAGS: [&str; 3] = ["a", "b", "c"];

/// The keys of a tag that never expire, and those that have leases.
const LASTING: [&str; 6] = ["text", "hash", "list", "zset", "number", "acked"];
const LEASED: [&str; 3] = ["lease", "lock", "other"];

/// All keys that there can be, those with leases first.
pub(super) fn keys() -> Vec<String> {
    let of = |names: &[&str]| -> Vec<String> {
        TAGS.iter().flat_map(|tag| names.iter().map(move |name| format!("{{{tag}}}{name}"))).collect()
    };
    [of(&LEASED), of(&LASTING)].concat()
}

/// How many of them have leases.
pub(super) fn leased() -> usize {
    TAGS.len() * LEASED.len()
}

/// What a server has: the digest of each key, and the deadlines of those with leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) digests: Vec<String>,
    pub(super) deadlines: Vec<i64>,
}

/// The digest of a key that is not there.
fn nothing() -> String {
    "0".repeat(40)
}

impl State {
    /// The same at a later instant: what is over is hidden.
    fn at(&self, now_ms: i64) -> Vec<String> {
        let mut digests = self.digests.clone();
        for (digest, deadline) in digests.iter_mut().zip(&self.deadlines) {
            if (1..=now_ms).contains(deadline) {
                *digest = nothing();
            }
        }
        digests
    }
}

/// Whether a replica has what its master had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// It has all.
    Same,
    /// It has what the master had before.
    Behind,
    /// What its master had at that offset was never looked at.
    Unknown,
}

/// What masters had: by the name of their data's history, at each offset that was seen.
#[derive(Debug, Default)]
pub(super) struct States(BTreeMap<String, BTreeMap<i64, State>>);

impl States {
    /// A master is at an offset. What it has there it has always had, but for what is over; unless nobody has ever
    /// followed it: then it counts nothing.
    pub(super) fn note(&mut self, id: &str, offset: i64, state: State, now_ms: i64) {
        let seen = self.0.entry(id.to_owned()).or_default();
        if let Some(before) = seen.get(&offset).filter(|_| offset > 0) {
            assert_eq!(
                before.at(now_ms),
                state.at(now_ms),
                "a master changed its data without telling: {id} {offset}"
            );
        }
        seen.insert(offset, state);
    }

    /// Compares what a replica has at an offset.
    pub(super) fn compare(&self, id: &str, offset: i64, state: &State, now_ms: i64) -> Compared {
        let Some(seen) = self.0.get(id) else { return Compared::Unknown };
        let Some((at, of_master)) = seen.range(..=offset).next_back() else { return Compared::Unknown };
        let (expected, found) = (of_master.at(now_ms), state.at(now_ms));
        let keys = keys();
        let wrong = keys.iter().zip(expected.iter().zip(&found)).find(|(_, (one, other))| one != other);
        assert!(
            wrong.is_none(),
            "a replica at {offset} of {id} has not what its master had at {at}: {wrong:?}"
        );
        let is_last = seen.range(offset + 1..).next().is_none();
        if is_last { Compared::Same } else { Compared::Behind }
    }
}

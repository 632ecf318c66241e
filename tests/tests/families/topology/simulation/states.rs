//! The data of a master at each offset of its stream, and their comparison with a replica.

use std::collections::BTreeMap;

/// The tags of keys: in a cluster of three, each belongs to another master.
pub(super) const TAGS: [&str; 3] = ["a", "b", "c"];

/// The keys of a tag that never expire, and those that have leases.
const LASTING: [&str; 6] = ["text", "hash", "list", "zset", "number", "acked"];
const LEASED: [&str; 3] = ["lease", "lock", "other"];

/// All possible keys, those with leases first.
pub(super) fn keys() -> Vec<String> {
    let of = |names: &[&str]| -> Vec<String> {
        TAGS.iter().flat_map(|tag| names.iter().map(move |name| format!("{{{tag}}}{name}"))).collect()
    };
    [of(&LEASED), of(&LASTING)].concat()
}

/// The number of keys that have leases.
pub(super) fn leased() -> usize {
    TAGS.len() * LEASED.len()
}

/// The data of a server: the digest of each key, and the deadlines of those with leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) digests: Vec<String>,
    pub(super) deadlines: Vec<i64>,
}

/// The digest of a missing key.
fn nothing() -> String {
    "0".repeat(40)
}

impl State {
    /// The state at a later instant: expired keys are hidden.
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

/// Whether a replica has the data of its master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// The replica has all data.
    Same,
    /// The replica has an earlier state of the master.
    Behind,
    /// The master's state at that offset was never recorded.
    Unknown,
}

/// The recorded states of masters, by replication id and offset.
#[derive(Debug, Default)]
pub(super) struct States(BTreeMap<String, BTreeMap<i64, State>>);

impl States {
    /// Records a master's state at an offset. Its state there must always be equal, except for expired keys. A master
    /// that was never followed does not count offsets, and is skipped.
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

    /// Compares a replica's data at an offset.
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

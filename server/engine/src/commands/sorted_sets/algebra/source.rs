//! The sources of members and scores: sorted sets, and sets.

use lockwheel_store::values::zset::Accumulator;
use lockwheel_store::values::{Encoding, Set, Text, Value, ZSet};

/// The score of a member of a set.
const SET_SCORE: f64 = 1.0;

/// The least number of comparisons for which it pays to index a small source before look-ups.
const INDEXED_MIN: usize = 256;

pub(super) type Pair<'a> = (Text<'a>, f64);

/// The value of a key that is to be combined with others.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source<'a> {
    Sorted(&'a ZSet),
    /// A set, whose members all have the score 1.
    Plain(&'a Set),
}

impl<'a> Source<'a> {
    pub(super) fn of(value: &'a Value) -> Option<Self> {
        match value {
            Value::ZSet(set) => Some(Self::Sorted(set)),
            Value::Set(set) => Some(Self::Plain(set)),
            _ => None,
        }
    }

    /// The number of members, at least one. O(1).
    pub(super) fn len(self) -> usize {
        match self {
            Self::Sorted(set) => set.len(),
            Self::Plain(set) => set.len(),
        }
    }

    /// Calls `visit` for each member and its score, until `visit` returns false.
    pub(super) fn visit(self, mut visit: impl FnMut(Pair<'a>) -> bool) {
        match self {
            Self::Sorted(set) => set.iter().all(|(member, score)| visit((Text::Bytes(member), score))),
            Self::Plain(set) => set.iter().all(|member| visit((member, SET_SCORE))),
        };
    }

    fn score(self, member: &[u8]) -> Option<f64> {
        match self {
            Self::Sorted(set) => set.score(member),
            Self::Plain(set) => set.contains(member).then_some(SET_SCORE),
        }
    }

    fn is_searched_in_turn(self) -> bool {
        let encoding = match self {
            Self::Sorted(set) => set.encoding(),
            Self::Plain(set) => set.encoding(),
        };
        encoding == Encoding::Listpack
    }
}

#[derive(Debug)]
pub(super) enum Lookup<'a> {
    Direct(Source<'a>),
    /// The members in a hash table, for a small source, which has no table of its own.
    Indexed(Accumulator<'a>),
}

impl<'a> Lookup<'a> {
    /// The source, prepared for `times` look-ups.
    pub(super) fn new(source: Source<'a>, times: usize, seed: u64) -> Self {
        if source.is_searched_in_turn() && source.len().saturating_mul(times) >= INDEXED_MIN {
            Lookup::Indexed(index([source], seed))
        } else {
            Lookup::Direct(source)
        }
    }

    pub(super) fn score(&self, member: &[u8]) -> Option<f64> {
        match self {
            Lookup::Direct(source) => source.score(member),
            Lookup::Indexed(members) => members.get(member),
        }
    }
}

/// The members of all these sources in one hash table.
pub(super) fn index<'a>(sources: impl IntoIterator<Item = Source<'a>>, seed: u64) -> Accumulator<'a> {
    let mut members = Accumulator::new(seed);
    for source in sources {
        source.visit(|(member, score)| {
            members.add(member, score, |first, _| first);
            true
        });
    }
    members
}

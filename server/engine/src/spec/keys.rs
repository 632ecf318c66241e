//! Where a command's keys are among its arguments.

use super::args::Args;
use super::flags::KeyFlags;
use lockwheel_resp::number;

/// Where the search for keys begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// At this argument; the command's name is 0.
    Index(usize),
    /// After this word, looked for from the given argument on (negative: backwards from the end).
    Keyword(&'static str, i32),
    /// Only the handler knows.
    Unknown,
}

/// Which arguments from the beginning on are keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Find {
    /// Every `step`th up to `last`, relative to the beginning; negative: from the end.
    Range {
        /// The last key, relative to the beginning if not negative, else to the end.
        last: i32,
        /// The distance between keys.
        step: usize,
        /// When `last` is -1: only the first 1/limit of the rest; 0 and 1 mean all.
        limit: usize,
    },
    /// As many as the argument `count` says.
    Count {
        /// The argument that holds the number of keys, relative to the beginning.
        count: usize,
        /// The first key, relative to the beginning.
        first: usize,
        /// The distance between keys.
        step: usize,
    },
    /// Only the handler knows.
    Unknown,
}

/// One group of keys of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySpec {
    /// What is done to them.
    pub flags: KeyFlags,
    /// Where the search begins.
    pub begin: Begin,
    /// Which arguments from there on are keys.
    pub find: Find,
}

impl KeySpec {
    /// One key, the argument `index`.
    pub const fn one(index: usize, flags: &[KeyFlags]) -> Self {
        Self::range(index, 0, 1, flags)
    }

    /// Every `step`th argument from `index` to `last` (relative to `index`, or negative from the end).
    pub const fn range(index: usize, last: i32, step: usize, flags: &[KeyFlags]) -> Self {
        KeySpec {
            flags: KeyFlags::of(flags),
            begin: Begin::Index(index),
            find: Find::Range { last, step, limit: 0 },
        }
    }

    /// Keys counted by the argument `index`, the first right behind it.
    pub const fn counted(index: usize, flags: &[KeyFlags]) -> Self {
        KeySpec {
            flags: KeyFlags::of(flags),
            begin: Begin::Index(index),
            find: Find::Count { count: 0, first: 1, step: 1 },
        }
    }

    /// The key after a word that is looked for from the argument `from` on, if it is there.
    pub const fn after(word: &'static str, from: i32, flags: &[KeyFlags]) -> Self {
        KeySpec {
            flags: KeyFlags::of(flags),
            begin: Begin::Keyword(word, from),
            find: Find::Range { last: 0, step: 1, limit: 0 },
        }
    }

    /// Where the first key is, in requests that have one; none when that is not the same in all of them.
    pub fn first(&self) -> Option<usize> {
        match (self.begin, self.find) {
            (Begin::Index(index), Find::Range { .. }) => Some(index),
            (Begin::Index(index), Find::Count { first, .. }) => Some(index + first),
            _ => None,
        }
    }

    /// The positions of the keys in a request; empty when the request is malformed. O(keys).
    pub fn positions(&self, args: Args<'_>) -> Vec<usize> {
        let Some(begin) = self.begin_position(args) else { return Vec::new() };
        match self.find {
            Find::Range { last, step, limit } => {
                let end = match last {
                    0.. => Some(begin + last.unsigned_abs() as usize),
                    -1 if limit > 1 => (begin + (args.len() - begin) / limit).checked_sub(1),
                    _ => args.len().checked_sub(last.unsigned_abs() as usize),
                };
                let Some(end) = end.filter(|&end| end < args.len()) else { return Vec::new() };
                (begin..=end).step_by(step.max(1)).collect()
            }
            Find::Count { count, first, step } => {
                let keys = args.get(begin + count).and_then(number::parse_i64).unwrap_or(0);
                let room = args.len().saturating_sub(begin + first).div_ceil(step.max(1));
                let Some(keys) = usize::try_from(keys).ok().filter(|&keys| keys <= room) else {
                    return Vec::new();
                };
                (0..keys).map(|key| begin + first + key * step).collect()
            }
            Find::Unknown => Vec::new(),
        }
    }

    fn begin_position(&self, args: Args<'_>) -> Option<usize> {
        match self.begin {
            Begin::Index(index) => (index < args.len()).then_some(index),
            Begin::Keyword(word, from) => {
                let found = |&i: &usize| args.is(i, word);
                let at = if from >= 0 {
                    (from.unsigned_abs() as usize..args.len()).find(found)
                } else {
                    (1..=args.len().checked_sub(from.unsigned_abs() as usize)?).rev().find(found)
                };
                at.map(|i| i + 1).filter(|&i| i < args.len())
            }
            Begin::Unknown => None,
        }
    }
}

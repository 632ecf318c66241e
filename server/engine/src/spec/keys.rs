//! The positions of a command's keys among its arguments.

use super::args::Args;
use super::flags::KeyFlags;
use lockwheel_resp::number;

/// The position of a key among the arguments of a request, and the key's flags.
pub type Key = (usize, KeyFlags);

/// Finds the keys of a request and their flags, if the key specs cannot.
pub type KeyFinder = fn(Args<'_>) -> Vec<Key>;

/// The beginning of the search for keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// At this argument; the command's name is 0.
    Index(usize),
    /// After this word. The search for the word begins at the given argument (negative: backwards from the end).
    Keyword(&'static str, i32),
    /// The keys are known only to the handler.
    Unknown,
}

/// The arguments from the beginning on that are keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Find {
    /// Every `step`th argument up to `last`.
    Range {
        /// The last key: relative to the beginning, or, if negative, to the end.
        last: i32,
        /// The distance between keys.
        step: usize,
        /// If `last` is -1: only the first 1/limit of the rest. 0 and 1 mean all.
        limit: usize,
    },
    /// Counted arguments: the argument `count` holds their number.
    Count {
        /// The argument that holds the number of keys, relative to the beginning.
        count: usize,
        /// The first key, relative to the beginning.
        first: usize,
        /// The distance between keys.
        step: usize,
    },
    /// The keys are known only to the handler.
    Unknown,
}

/// One group of keys of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySpec {
    /// The flags of the keys.
    pub flags: KeyFlags,
    /// The notes for readers, in the words of COMMAND INFO. Mostly empty.
    pub notes: &'static str,
    /// The beginning of the search.
    pub begin: Begin,
    /// The arguments from there on that are keys.
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
            notes: "",
            begin: Begin::Index(index),
            find: Find::Range { last, step, limit: 0 },
        }
    }

    /// Keys counted by the argument `index`, the first right behind it.
    pub const fn counted(index: usize, flags: &[KeyFlags]) -> Self {
        KeySpec {
            flags: KeyFlags::of(flags),
            notes: "",
            begin: Begin::Index(index),
            find: Find::Count { count: 0, first: 1, step: 1 },
        }
    }

    /// Sets the notes for readers.
    pub const fn notes(mut self, notes: &'static str) -> Self {
        self.notes = notes;
        self
    }

    /// The key after a word, if the request has the word. The search for it begins at the argument `from`.
    pub const fn after(word: &'static str, from: i32, flags: &[KeyFlags]) -> Self {
        KeySpec {
            flags: KeyFlags::of(flags),
            begin: Begin::Keyword(word, from),
            find: Find::Range { last: 0, step: 1, limit: 0 },
            notes: "",
        }
    }

    /// The distance between keys.
    pub(super) fn step(&self) -> usize {
        match self.find {
            Find::Range { step, .. } | Find::Count { step, .. } => step.max(1),
            Find::Unknown => 1,
        }
    }

    /// The position of the first key, if there is one and it is the same in all requests.
    pub fn first(&self) -> Option<usize> {
        match (self.begin, self.find) {
            (Begin::Index(index), Find::Range { .. }) => Some(index),
            (Begin::Index(index), Find::Count { first, .. }) => Some(index + first),
            _ => None,
        }
    }

    /// The positions of the keys in a request; none without the word that they follow. `None`: the request is malformed
    /// there, or only the handler knows the keys. O(keys).
    pub fn positions(&self, args: Args<'_>) -> Option<Vec<usize>> {
        let begin = match self.begin {
            Begin::Index(index) => index,
            Begin::Keyword(word, from) => match behind_word(args, word, from) {
                Some(begin) => begin,
                None => return Some(Vec::new()),
            },
            Begin::Unknown => return None,
        };
        let rest = args.len().checked_sub(begin).filter(|&rest| rest > 0)?;
        let (first, last, step) = match self.find {
            Find::Range { last, step, limit } => {
                let last = match last {
                    0.. => begin.checked_add(last.unsigned_abs() as usize),
                    -1 if limit > 1 => (begin + rest / limit).checked_sub(1),
                    _ => args.len().checked_sub(last.unsigned_abs() as usize),
                };
                (begin, last?, step.max(1))
            }
            Find::Count { count, first, step } => {
                let keys = args.get(begin + count).and_then(number::parse_i64).filter(|&keys| keys > 0)?;
                // Redis counts in 32 bits. No command accepts such a number.
                let gaps = usize::try_from(keys as i32).ok()?.checked_sub(1)?;
                let first = begin + first;
                (first, gaps.checked_mul(step)?.checked_add(first)?, step.max(1))
            }
            Find::Unknown => return None,
        };
        (first <= last && last < args.len()).then(|| (first..=last).step_by(step).collect())
    }
}

/// The position behind a word, searched for from the argument `from` on or backwards from it.
fn behind_word(args: Args<'_>, word: &str, from: i32) -> Option<usize> {
    let distance = from.unsigned_abs() as usize;
    let at = if from >= 0 {
        (distance..args.len()).find(|&at| args.is(at, word))
    } else {
        (1..=args.len().saturating_sub(distance)).rev().find(|&at| args.is(at, word))
    };
    at.map(|at| at + 1).filter(|&begin| begin < args.len())
}

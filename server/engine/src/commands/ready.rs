//! Commands that take from the first of several keys that has something, and may wait until one has: what BLPOP,
//! LMPOP, BZPOPMIN, ZMPOP and their like share.

use crate::keyspace::{Tx, Typed};
use crate::spec::{Args, CommandError, errors};
use std::ops::Range;

/// What LMPOP, ZMPOP and their blocking forms are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MultiPop {
    /// The arguments that are keys.
    pub(super) keys: Range<usize>,
    /// Whether the second of the two words is given.
    pub(super) second_word: bool,
    /// How many elements at the most; at least 1.
    pub(super) count: usize,
}

impl MultiPop {
    /// Reads `numkeys key [key ...] (WORD | WORD) [COUNT count]`, where `numkeys` is argument `at`.
    pub(super) fn parse(args: Args<'_>, at: usize, words: [&str; 2]) -> Result<Self, CommandError> {
        let numkeys = at_least_one(args, at).ok_or(errors::NUMKEYS_NOT_POSITIVE)?;
        let word = numkeys.saturating_add(at + 1);
        let second_word = match words.iter().position(|&known| args.is(word, known)) {
            Some(found) => found == 1,
            None => return Err(errors::SYNTAX),
        };
        let count = match args.len() - word - 1 {
            0 => 1,
            2.. if args.is(word + 1, "count") => {
                at_least_one(args, word + 2).ok_or(errors::COUNT_NOT_POSITIVE)?
            }
            _ => return Err(errors::SYNTAX),
        };
        if args.len() > word + 3 {
            return Err(errors::SYNTAX);
        }
        Ok(MultiPop { keys: at + 1..word, second_word, count })
    }
}

/// Argument `index` as a number of things.
fn at_least_one(args: Args<'_>, index: usize) -> Option<usize> {
    args.int(index).ok().filter(|&number| number >= 1).map(|number| number as usize)
}

/// The first of these arguments that is a key with a value of kind `T`; `None` when none is.
///
/// # Errors
/// A key before it holds a value of another kind. To a command that is waiting already, that matters only once it
/// could be served: it is not told of a key that becomes something else.
pub(super) fn first_ready<T: Typed>(
    tx: &Tx<'_>,
    args: Args<'_>,
    keys: Range<usize>,
) -> Result<Option<usize>, CommandError> {
    let is_ready = |at: usize| tx.peek(&args[at]).map(|value| T::of(value).is_some());
    if tx.waited_ms().is_some() && !keys.clone().any(|at| is_ready(at) == Some(true)) {
        return Ok(None);
    }
    for at in keys {
        match is_ready(at) {
            None => {}
            Some(true) => return Ok(Some(at)),
            Some(false) => return Err(errors::WRONG_TYPE),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<MultiPop, CommandError> {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        MultiPop::parse(Args::new(&words), 1, ["left", "right"])
    }

    #[test]
    fn keys_come_counted_and_the_count_is_optional() {
        let two = MultiPop { keys: 2..4, second_word: true, count: 1 };
        assert_eq!(parse("lmpop 2 a b RIGHT"), Ok(two.clone()));
        let seven = MultiPop { second_word: false, count: 7, ..two };
        assert_eq!(parse("lmpop 2 a b left count 7"), Ok(seven));
    }

    #[test]
    fn what_is_wrong_is_told_as_the_real_server_tells_it() {
        for (line, error) in [
            ("lmpop 0 a LEFT", errors::NUMKEYS_NOT_POSITIVE),
            ("lmpop x a LEFT", errors::NUMKEYS_NOT_POSITIVE),
            ("lmpop 9223372036854775808 a LEFT", errors::NUMKEYS_NOT_POSITIVE),
            ("lmpop 9223372036854775807 a LEFT", errors::SYNTAX),
            ("lmpop 2 a LEFT", errors::SYNTAX),
            ("lmpop 1 a UP", errors::SYNTAX),
            ("lmpop 1 a LEFT COUNT", errors::SYNTAX),
            ("lmpop 1 a LEFT FOO 1", errors::SYNTAX),
            ("lmpop 1 a LEFT COUNT 0", errors::COUNT_NOT_POSITIVE),
            ("lmpop 1 a LEFT COUNT 0 COUNT 1", errors::COUNT_NOT_POSITIVE),
            ("lmpop 1 a LEFT COUNT 1 COUNT 1", errors::SYNTAX),
        ] {
            assert_eq!(parse(line), Err(error), "{line}");
        }
    }
}

//! The options that the commands share.

use crate::spec::{Args, CommandError, errors, kept_pattern};

/// How long a test waits for a state unless told, in milliseconds of real time.
const DEFAULT_LIMIT_MS: u64 = 5000;

/// Which numbers are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Comparison {
    /// The number given, or a higher one.
    #[default]
    AtLeast,
    /// EXACT: that number.
    Exactly,
    /// ATMOST: that number, or a lower one.
    AtMost,
}

impl Comparison {
    /// Whether `count` is meant by `number`.
    pub(super) fn holds(self, count: u64, number: u64) -> bool {
        match self {
            Comparison::AtLeast => count >= number,
            Comparison::Exactly => count == number,
            Comparison::AtMost => count <= number,
        }
    }
}

/// The options of a request, of which each command knows some.
#[derive(Debug)]
pub(super) struct Options<'a> {
    pub(super) comparison: Comparison,
    pub(super) key: Option<&'a [u8]>,
    pub(super) name: Option<&'a [u8]>,
    pub(super) limit_ms: u64,
}

/// The options that a command has beside LIMIT.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// `EXACT` or `ATMOST`.
    pub(super) comparison: bool,
    /// `KEY key`, or a pattern of keys.
    pub(super) key: bool,
    /// `NAME glob`.
    pub(super) name: bool,
}

impl Known {
    /// Reads options from argument `at` to the end, each at most once, in any order.
    pub(super) fn parse(self, args: Args<'_>, mut at: usize) -> Result<Options<'_>, CommandError> {
        let (mut comparison, mut key, mut name, mut limit_ms) = (None, None, None, None);
        while at < args.len() {
            let is_new = if self.comparison && (args.is(at, "exact") || args.is(at, "atmost")) {
                let exact = args.is(at, "exact");
                at += 1;
                comparison.replace(if exact { Comparison::Exactly } else { Comparison::AtMost }).is_none()
            } else {
                let value = args.get(at + 1).ok_or(errors::SYNTAX)?;
                at += 2;
                if self.key && args.is(at - 2, "key") {
                    key.replace(value).is_none()
                } else if self.name && args.is(at - 2, "name") {
                    name.replace(kept_pattern(value)?).is_none()
                } else if args.is(at - 2, "limit") {
                    limit_ms.replace(number(args, at - 1)?).is_none()
                } else {
                    false
                }
            };
            if !is_new {
                return Err(errors::SYNTAX);
            }
        }
        Ok(Options {
            comparison: comparison.unwrap_or_default(),
            key,
            name,
            limit_ms: limit_ms.unwrap_or(DEFAULT_LIMIT_MS),
        })
    }
}

/// A number of clients, calls or milliseconds, in the argument at `index`.
pub(super) fn number(args: Args<'_>, index: usize) -> Result<u64, CommandError> {
    Ok(args.int_in(index, 0, i64::MAX, errors::OUT_OF_RANGE_POSITIVE)?.unsigned_abs())
}

//! The arguments of a request.

use super::error::{CommandError, ValidValues, errors};
use lockwheel_resp::number::{self, Extended};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::time::Now;
use std::ops::Index;

/// The arguments of one request, the command's name first. Cheap to copy: the bytes are borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a>(&'a [&'a [u8]]);

impl<'a> Args<'a> {
    /// Wraps a request.
    pub fn new(argv: &'a [&'a [u8]]) -> Self {
        Args(argv)
    }

    /// The number of arguments, the name included.
    #[expect(clippy::len_without_is_empty, reason = "a request always has a name")]
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// The argument `index`, if the request has it.
    pub fn get(self, index: usize) -> Option<&'a [u8]> {
        self.0.get(index).copied()
    }

    /// The arguments from `index` on.
    pub fn from(self, index: usize) -> &'a [&'a [u8]] {
        self.0.get(index..).unwrap_or(&[])
    }

    /// All arguments, the name included.
    pub fn all(self) -> &'a [&'a [u8]] {
        self.0
    }

    /// Whether argument `index` is this word, in any case.
    pub fn is(self, index: usize, word: &str) -> bool {
        self.get(index).is_some_and(|arg| arg.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// Argument `index` as a 64-bit integer, else `value is not an integer or out of range`.
    pub fn int(self, index: usize) -> Result<i64, CommandError> {
        let value = self.get(index).and_then(number::parse_i64);
        value.ok_or_else(|| {
            errors::NOT_AN_INTEGER.of_argument(index, ValidValues::Integer(i64::MIN, i64::MAX))
        })
    }

    /// Argument `index` as an integer from `min` to `max`, else `error`.
    pub fn int_in(self, index: usize, min: i64, max: i64, error: CommandError) -> Result<i64, CommandError> {
        let wrong = |error: CommandError| error.of_argument(index, ValidValues::Integer(min, max));
        let value = self.get(index).and_then(number::parse_i64);
        let value = value.ok_or_else(|| wrong(errors::NOT_AN_INTEGER))?;
        if (min..=max).contains(&value) { Ok(value) } else { Err(wrong(error)) }
    }

    /// Argument `index` as a number that is not negative, else `value is out of range, must be positive`.
    pub fn count(self, index: usize) -> Result<usize, CommandError> {
        let count = self.get(index).and_then(number::parse_i64);
        count.and_then(|count| usize::try_from(count).ok()).ok_or(errors::OUT_OF_RANGE_POSITIVE)
    }

    /// Argument `index` as a double, else `value is not a valid float`.
    pub fn float(self, index: usize) -> Result<f64, CommandError> {
        self.get(index).and_then(number::parse_f64).ok_or(errors::NOT_A_FLOAT)
    }
}

impl<'a> Index<usize> for Args<'a> {
    type Output = [u8];

    fn index(&self, index: usize) -> &[u8] {
        self.0[index]
    }
}

/// The most bytes of a pattern that control commands keep, or compare with many names.
const MAX_PATTERN_BYTES: usize = 4096;

/// Returns the pattern if it is not too long.
pub fn kept_pattern(pattern: &[u8]) -> Result<&[u8], CommandError> {
    if pattern.len() <= MAX_PATTERN_BYTES { Ok(pattern) } else { Err(errors::PATTERN_TOO_LONG) }
}

/// The rule by which timeouts are read.
#[derive(Clone, Copy, Debug)]
pub struct TimeoutRule {
    /// The instant at which the timeouts begin.
    pub now: Now,
    /// Whether a timeout may end after the wall clock's last millisecond, as before 7.2: it never ends then.
    pub takes_far: bool,
}

impl TimeoutRule {
    /// The rule of the commands of this transaction.
    pub fn of(tx: &Tx<'_>) -> Self {
        TimeoutRule { now: tx.now(), takes_far: tx.takes_far_timeouts() }
    }

    /// The error of a timeout whose milliseconds no `i64` holds, as in Redis. Before 7.2 the number wraps around there.
    fn uncountable(self) -> CommandError {
        if self.takes_far { errors::TIMEOUT_NEGATIVE } else { errors::TIMEOUT_OUT_OF_RANGE }
    }

    /// Checks a timeout of `ms` milliseconds.
    fn read_ms(self, ms: i64) -> Result<Option<u64>, CommandError> {
        match ms {
            ..0 => Err(errors::TIMEOUT_NEGATIVE),
            0 => Ok(None),
            ms if self.now.wall_ms().checked_add(ms).is_some() => Ok(Some(ms.unsigned_abs())),
            _ if self.takes_far => Ok(None),
            _ => Err(errors::TIMEOUT_OUT_OF_RANGE),
        }
    }
}

/// Reads a timeout in seconds, a float as the blocking list commands take it, and returns it in milliseconds. It is
/// rounded up as Redis rounds it: a fraction of a millisecond below zero becomes zero.
///
/// `None` means for ever: the timeout is zero. The errors are those of Redis: `timeout is not a float or out of range`,
/// `timeout is negative`, `timeout is out of range`.
pub fn parse_timeout_ms(arg: &[u8], rule: TimeoutRule) -> Result<Option<u64>, CommandError> {
    let ms = match number::parse_i64(arg).and_then(|seconds| seconds.checked_mul(1000)) {
        Some(ms) => ms,
        None => fractional_timeout_ms(arg, rule)?,
    };
    rule.read_ms(ms)
}

/// Reads a timeout in milliseconds, an integer. `None` means for ever: the timeout is zero. The errors are those of
/// Redis: `timeout is not an integer or out of range`, `timeout is negative`, `timeout is out of range`.
pub fn parse_integer_timeout_ms(arg: &[u8], rule: TimeoutRule) -> Result<Option<u64>, CommandError> {
    rule.read_ms(number::parse_i64(arg).ok_or(errors::TIMEOUT_NOT_AN_INTEGER)?)
}

/// Reads a timeout with a fraction, and returns it in milliseconds. Redis reads it as a `long double`.
fn fractional_timeout_ms(arg: &[u8], rule: TimeoutRule) -> Result<i64, CommandError> {
    let seconds = Extended::parse(arg).ok_or(errors::TIMEOUT_NOT_A_FLOAT)?;
    let too_long = if arg.starts_with(b"-") { errors::TIMEOUT_NEGATIVE } else { rule.uncountable() };
    seconds.times_rounded_up(1000).ok_or(too_long)
}

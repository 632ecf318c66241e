//! The reading of values, kind by kind. The texts of the errors are Redis', as observed.

use super::parameter::{Kind, Parameter, ReadContext, Reason, Value};
use lockwheel_resp::number;

const YES_OR_NO: &str = "argument must be 'yes' or 'no'";
const NOT_AN_INTEGER: &str = "argument couldn't be parsed into an integer";
const NOT_OCTAL: &str = "argument couldn't be parsed as an octal number";
const NOT_A_SIZE: &str = "argument must be a memory value";
const NOT_A_SIZE_OR_PERCENT: &str = "argument must be a memory or percent value";
const PERCENT_TOO_HIGH: &str = "percentage argument must be less or equal to 100";

impl Parameter {
    /// Reads the words as a value of this parameter, or returns the reason if they are none.
    pub(super) fn read(&self, words: &[&[u8]], context: &ReadContext<'_>) -> Result<Value, Reason> {
        let value = match (self.kind, words) {
            (Kind::Special(grammar), words) if grammar.several || words.len() == 1 => {
                (grammar.read)(words, context)?
            }
            (_, [word]) => self.read_word(word)?,
            _ => return Err("wrong number of arguments".into()),
        };
        self.check.map_or(Ok(()), |check| check(&value))?;
        Ok(value)
    }

    fn read_word(&self, word: &[u8]) -> Result<Value, Reason> {
        match self.kind {
            Kind::Flag => flag(word),
            Kind::Integer { min, max } => integer(word, min, max),
            Kind::Size { min, max } => size_in(word, min, max).map(Value::Size),
            Kind::Octal { max } => octal(word, max),
            Kind::SizeOrPercent => size_or_percent(word),
            Kind::Choice(words) => choice(word, words).map(Value::Choice),
            // A special kind has read its words itself.
            Kind::Text | Kind::Special(_) => Ok(Value::Text(word.to_vec())),
        }
    }
}

fn flag(word: &[u8]) -> Result<Value, Reason> {
    match word.to_ascii_lowercase().as_slice() {
        b"yes" => Ok(Value::Flag(true)),
        b"no" => Ok(Value::Flag(false)),
        _ => Err(YES_OR_NO.into()),
    }
}

pub(super) fn integer(word: &[u8], min: i64, max: i64) -> Result<Value, Reason> {
    let number = number::parse_i64(word).ok_or(NOT_AN_INTEGER)?;
    in_range(number, min, max).map(Value::Integer)
}

fn in_range<N: PartialOrd + std::fmt::Display>(number: N, min: N, max: N) -> Result<N, Reason> {
    if number < min || number > max {
        return Err(format!("argument must be between {min} and {max} inclusive").into());
    }
    Ok(number)
}

/// Returns the known word that equals `word` in either case.
pub(super) fn choice(word: &[u8], words: &'static [&'static str]) -> Result<&'static str, Reason> {
    let found = words.iter().find(|known| known.as_bytes().eq_ignore_ascii_case(word));
    found.copied().ok_or_else(|| no_choice(words))
}

pub(super) fn no_choice(words: &[&str]) -> Reason {
    format!("argument(s) must be one of the following: {}", words.join(", ")).into()
}

/// Reads a number of bytes between two bounds.
pub(super) fn size_in(word: &[u8], min: u64, max: u64) -> Result<u64, Reason> {
    in_range(size(word).ok_or(NOT_A_SIZE)?, min, max)
}

fn octal(word: &[u8], max: i64) -> Result<Value, Reason> {
    // The number is read as by C's `strtoll`: white space may stand in front, and an empty word is 0.
    let digits = std::str::from_utf8(word).ok().map(|digits| digits.trim_start_matches(is_c_space));
    let number = digits.and_then(|digits| match digits {
        "" => word.is_empty().then_some(0),
        digits => i64::from_str_radix(digits, 8).ok(),
    });
    let number = number.ok_or(NOT_OCTAL)?;
    if (0..=max).contains(&number) {
        return Ok(Value::Integer(number));
    }
    Err(format!("argument must be between 0 and {max:o} inclusive").into())
}

fn size_or_percent(word: &[u8]) -> Result<Value, Reason> {
    if let Some((b'%', digits)) = word.split_last()
        && !digits.is_empty()
    {
        let percent = number::parse_i64(digits).filter(|percent| *percent >= 0);
        return match percent.ok_or(NOT_A_SIZE_OR_PERCENT)? {
            percent @ 0..=100 => Ok(Value::Integer(-percent)),
            _ => Err(PERCENT_TOO_HIGH.into()),
        };
    }
    let bytes = size(word).ok_or(NOT_A_SIZE_OR_PERCENT)?;
    // Redis keeps percentages as negative numbers, so that sizes beyond the signed range become percentages.
    match bytes as i64 {
        ..-100 => Err(PERCENT_TOO_HIGH.into()),
        number => Ok(Value::Integer(number)),
    }
}

/// Reads a number of bytes: digits (without: 0) and a unit in either case. `k`, `m`, `g` are powers of 1000; `kb`,
/// `mb`, `gb` of 1024. A number that is too large becomes the largest; a product wraps around, as in Redis.
pub(crate) fn size(word: &[u8]) -> Option<u64> {
    /// The most digits. A longer number is refused.
    const MAX_DIGITS: usize = 127;
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, unit) = word.split_at(digits);
    let factor: u64 = match unit.to_ascii_lowercase().as_slice() {
        b"" | b"b" => 1,
        b"k" => 1000,
        b"kb" => 1 << 10,
        b"m" => 1_000_000,
        b"mb" => 1 << 20,
        b"g" => 1_000_000_000,
        b"gb" => 1 << 30,
        _ => return None,
    };
    if digits.len() > MAX_DIGITS {
        return None;
    }
    let step = |sum: u64, digit: &u8| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    Some(digits.iter().fold(0, step).wrapping_mul(factor))
}

/// Whether C's `isspace` holds for the character.
fn is_c_space(character: char) -> bool {
    character.is_ascii_whitespace() || character == '\x0b'
}

/// Reads a whole word as C's `strtoll` does: white space, an optional sign and digits. An empty word is 0, and a number
/// out of range becomes the nearest bound. A NUL ends the word.
pub(super) fn c_integer(word: &[u8]) -> Option<i64> {
    let word = word.split(|&byte| byte == 0).next().filter(|word| !word.is_empty());
    let Some(word) = word else { return Some(0) };
    let start = word.iter().position(|&byte| !is_c_space(byte.into()))?;
    let (is_negative, digits) = match &word[start..] {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let step = |sum: i64, digit: &u8| sum.saturating_mul(10).saturating_sub(i64::from(digit - b'0'));
    let negative = digits.iter().fold(0, step);
    Some(if is_negative { negative } else { negative.saturating_neg() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_c_reads_them() {
        let cases: &[(&str, Option<i64>)] = &[
            ("", Some(0)),
            (" ", None),
            ("+", None),
            ("-", None),
            ("7", Some(7)),
            ("+07", Some(7)),
            ("\t\u{b} -7", Some(-7)),
            ("7 ", None),
            ("- 7", None),
            ("7x", None),
            ("7\0x", Some(7)),
            ("0x7", None),
            ("9223372036854775807", Some(i64::MAX)),
            ("9223372036854775808", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("-99999999999999999999", Some(i64::MIN)),
        ];
        for (text, expected) in cases {
            assert_eq!(c_integer(text.as_bytes()), *expected, "{text:?}");
        }
    }

    #[test]
    fn sizes_are_read_as_redis_reads_them() {
        // Each text was set as `maxmemory` on redis-server 7.0.15 by CONFIG SET; the number is what CONFIG GET replied.
        let cases: &[(&str, Option<u64>)] = &[
            ("1kb", Some(1024)),
            ("1k", Some(1000)),
            ("1KB", Some(1024)),
            ("1Gb", Some(1 << 30)),
            ("1g", Some(1_000_000_000)),
            ("2mB", Some(2 << 20)),
            ("3m", Some(3_000_000)),
            ("1B", Some(1)),
            ("01", Some(1)),
            ("", Some(0)),
            ("b", Some(0)),
            ("kb", Some(0)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", Some(u64::MAX)),
            ("18014398509481984kb", Some(0)),
            ("1.5mb", None),
            ("1 mb", None),
            (" 1", None),
            ("-1", None),
            ("-5mb", None),
            ("1tb", None),
            ("0x10", None),
            ("10%", None),
        ];
        for (text, bytes) in cases {
            assert_eq!(size(text.as_bytes()), *bytes, "{text:?}");
        }
        assert_eq!(size(&[b'0'; 127]), Some(0));
        assert_eq!(size(&[b'0'; 128]), None);
    }
}

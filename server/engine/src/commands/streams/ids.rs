//! The ids of entries as clients write them.

use crate::spec::{CommandError, errors};
use lockwheel_resp::number;
use lockwheel_store::values::stream::StreamId;

/// The most bytes of an id. A longer id is refused unread.
const MAX_ID_BYTES: usize = 127;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewId {
    /// Both parts come from the server.
    Auto,
    /// The time is given, the sequence number comes from the server.
    AutoSeq(u64),
    /// Both parts are given.
    Exact(StreamId),
}

/// Reads the id of an entry. An id without a sequence number gets `seq`.
pub(super) fn parse_id(text: &[u8], seq: u64) -> Result<StreamId, CommandError> {
    match parse_new_id(text, seq)? {
        NewId::Exact(id) => Ok(id),
        NewId::Auto | NewId::AutoSeq(_) => Err(errors::INVALID_STREAM_ID),
    }
}

/// Reads the id of an entry to be added: as [`parse_id`], or `ms-*`. (The caller handles the id `*`.)
pub(super) fn parse_new_id(text: &[u8], seq: u64) -> Result<NewId, CommandError> {
    let parse = || {
        let text = as_c_string(text)?;
        let Some(dash) = text.iter().position(|&byte| byte == b'-') else {
            return Some(NewId::Exact(StreamId::new(parse_part(text)?, seq)));
        };
        let ms = parse_part(&text[..dash])?;
        Some(match &text[dash + 1..] {
            b"*" => NewId::AutoSeq(ms),
            seq => NewId::Exact(StreamId::new(ms, parse_part(seq)?)),
        })
    };
    parse().ok_or(errors::INVALID_STREAM_ID)
}

/// Reads an end of a range: an id, `-` or `+`, or, after `(`, an id that is excluded. Returns the id, and whether it is
/// excluded. An id without a sequence number gets `seq`.
pub(super) fn parse_end(text: &[u8], seq: u64) -> Result<(StreamId, bool), CommandError> {
    match text {
        [b'(', id @ ..] if !id.is_empty() => Ok((parse_id(id, seq)?, true)),
        _ => Ok((parse_id_or_sign(text, seq)?, false)),
    }
}

/// Reads an id, or `-` for the least id and `+` for the greatest. An id without a sequence number gets `seq`.
pub(super) fn parse_id_or_sign(text: &[u8], seq: u64) -> Result<StreamId, CommandError> {
    match as_c_string(text) {
        Some(b"-") => Ok(StreamId::MIN),
        Some(b"+") => Ok(StreamId::MAX),
        _ => parse_id(text, seq),
    }
}

/// Reads the start of a range, and returns the first id in the range.
pub(super) fn parse_start(text: &[u8]) -> Result<StreamId, CommandError> {
    match parse_end(text, 0)? {
        (id, false) => Ok(id),
        (id, true) => id.next().ok_or(errors::INVALID_START_ID),
    }
}

/// Reads the end of a range, and returns the last id in the range.
pub(super) fn parse_stop(text: &[u8]) -> Result<StreamId, CommandError> {
    match parse_end(text, u64::MAX)? {
        (id, false) => Ok(id),
        (id, true) => id.previous().ok_or(errors::INVALID_END_ID),
    }
}

/// The text up to a NUL, at which Redis stops reading. `None` if the text is too long.
fn as_c_string(text: &[u8]) -> Option<&[u8]> {
    if text.len() > MAX_ID_BYTES {
        return None;
    }
    text.split(|&byte| byte == 0).next()
}

/// Reads one part of an id as Redis does: a canonical number, or a text that C's `strtoull` accepts. The latter allows
/// spaces and a sign in front; a minus negates the number modulo 2^64.
fn parse_part(text: &[u8]) -> Option<u64> {
    if let Some(number) = number::parse_i64(text) {
        return u64::try_from(number).ok();
    }
    let spaces = text.iter().take_while(|byte| matches!(byte, b' ' | 9..=13)).count();
    let (is_negative, digits) = match &text[spaces..] {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let mut number = 0_u64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(digit.into())?;
    }
    (!digits.is_empty()).then_some(if is_negative { number.wrapping_neg() } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(ms: u64, seq: u64) -> Result<StreamId, CommandError> {
        Ok(StreamId::new(ms, seq))
    }

    #[test]
    fn stream_ids_are_read_as_by_the_real_server() {
        for (text, expected) in [
            ("1-2", id(1, 2)),
            ("5", id(5, 7)),
            ("06-1", id(6, 1)),
            ("+7-+1", id(7, 1)),
            (" 8-\t1", id(8, 1)),
            ("9--05", id(9, 18_446_744_073_709_551_611)),
            ("9--0", id(9, 0)),
            ("1\0x", id(1, 7)),
            ("18446744073709551615-18446744073709551615", Ok(StreamId::MAX)),
        ] {
            assert_eq!(parse_id(text.as_bytes(), 7), expected, "{text}");
        }
        let long = "0".repeat(128);
        for text in [
            "",
            "-",
            "+",
            "1-",
            "-1",
            "1-2-3",
            "9--5",
            "11 -5",
            "1-*",
            "*",
            "1.5",
            "x",
            "18446744073709551616",
            "1-18446744073709551616",
            "+-1",
            &long,
        ] {
            assert_eq!(parse_id(text.as_bytes(), 7), Err(errors::INVALID_STREAM_ID), "{text}");
        }
        assert_eq!(parse_id(&long.as_bytes()[1..], 7), id(0, 7));
    }

    #[test]
    fn new_ids_may_leave_the_sequence_number_to_the_server() {
        assert_eq!(parse_new_id(b"5-*", 0), Ok(NewId::AutoSeq(5)));
        assert_eq!(parse_new_id(b"5", 0), Ok(NewId::Exact(StreamId::new(5, 0))));
        assert_eq!(parse_new_id(b"5-**", 0), Err(errors::INVALID_STREAM_ID));
    }

    #[test]
    fn range_ends_may_be_exclusive_or_minus_and_plus() {
        assert_eq!((parse_start(b"-"), parse_start(b"+")), (id(0, 0), Ok(StreamId::MAX)));
        assert_eq!((parse_start(b"3"), parse_start(b"(3")), (id(3, 0), id(3, 1)));
        assert_eq!((parse_stop(b"3"), parse_stop(b"(3")), (id(3, u64::MAX), id(3, u64::MAX - 1)));
        assert_eq!(parse_start(b"(18446744073709551615-18446744073709551615"), Err(errors::INVALID_START_ID));
        assert_eq!(parse_stop(b"(0-0"), Err(errors::INVALID_END_ID));
        for text in ["(", "(-", "(+", "((1"] {
            assert_eq!(parse_start(text.as_bytes()), Err(errors::INVALID_STREAM_ID), "{text}");
        }
    }
}

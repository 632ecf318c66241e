//! Integers as text in the one canonical form: parsing and formatting.

use lockwheel_resp::number;
use std::fmt;
use std::ops::Deref;

/// The length of the longest text of an `i64`: a sign and 19 digits.
const MAX_TEXT_BYTES: usize = number::INTEGER_TEXT;

/// The integer with this canonical text, as Redis stores it: optional `-`, no leading zero, no `-0`, within `i64`.
#[must_use]
pub fn parse(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > MAX_TEXT_BYTES {
        return None;
    }
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, text),
    };
    match digits.split_first()? {
        (b'0', rest) => return (rest.is_empty() && !negative).then_some(0),
        (b'1'..=b'9', _) => {}
        _ => return None,
    }
    let mut magnitude = 0_u64;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        magnitude = magnitude.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    if negative { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// The canonical text of an integer, held in place.
#[derive(Clone, Copy)]
pub struct IntText {
    bytes: [u8; MAX_TEXT_BYTES],
    start: u8,
}

impl IntText {
    /// The text of `value`. No allocation.
    #[must_use]
    pub fn new(value: i64) -> Self {
        let mut bytes = [0; MAX_TEXT_BYTES];
        if (0..10).contains(&value) {
            bytes[MAX_TEXT_BYTES - 1] = b'0' + value as u8;
            return Self { bytes, start: (MAX_TEXT_BYTES - 1) as u8 };
        }
        let start = number::write_i64_before(value, &mut bytes);
        Self { bytes, start: start as u8 }
    }
}

impl Deref for IntText {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[usize::from(self.start)..]
    }
}

/// The bytes of a string or of an element: borrowed, or written out from a stored integer.
#[derive(Clone, Copy)]
pub enum Text<'a> {
    /// Bytes as stored.
    Bytes(&'a [u8]),
    /// An integer, written out.
    Int(IntText),
}

impl Text<'_> {
    /// The text of an integer.
    #[must_use]
    pub fn int(value: i64) -> Self {
        Self::Int(IntText::new(value))
    }
}

impl Deref for Text<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Int(text) => text,
        }
    }
}

impl AsRef<[u8]> for Text<'_> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Text<'_> {}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_canonical_texts_are_integers() {
        for text in
            ["", "-", "+1", "-0", "00", "01", "-01", " 1", "1 ", "1a", "0x10", "1.0", "9223372036854775808"]
        {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse(b"-9223372036854775809"), None);
        assert_eq!(parse(b"18446744073709551617"), None);
        assert_eq!(parse(b"99999999999999999999"), None);
        assert_eq!(parse(b"9223372036854775807"), Some(i64::MAX));
        assert_eq!(parse(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(parse(b"0"), Some(0));
    }

    proptest! {
        #[test]
        fn text_and_integer_agree(value in prop_oneof![any::<i64>(), -1000_i64..1000]) {
            let text = IntText::new(value);
            let expected = value.to_string();
            prop_assert_eq!(&*text, expected.as_bytes());
            prop_assert_eq!(parse(&text), Some(value));
        }

        #[test]
        fn parse_accepts_exactly_what_prints_back(text in "-?[0-9]{0,21}") {
            let expected = text.parse::<i64>().ok().filter(|value| value.to_string() == text);
            prop_assert_eq!(parse(text.as_bytes()), expected);
        }
    }
}

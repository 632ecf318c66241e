//! Hexadecimal floating-point numbers. C's number parsers accept them, and so does Redis.

use super::round_shift;

/// The magnitude `mantissa` · 2^`exponent`. With `sticky`, the exact magnitude is slightly larger; the mantissa then
/// has at least 121 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Magnitude {
    pub(super) mantissa: u128,
    pub(super) sticky: bool,
    pub(super) exponent: i64,
}

/// Parses the text after `0x`: digits with an optional point, at least one, and an optional `p` with a decimal
/// exponent.
pub(super) fn parse(text: &[u8]) -> Option<Magnitude> {
    let mut number = Magnitude { mantissa: 0, sticky: false, exponent: 0 };
    let (mut point, mut digits, mut at) = (false, false, 0);
    while let Some(&byte) = text.get(at) {
        let Some(digit) = (byte as char).to_digit(16) else {
            if byte != b'.' || point {
                break;
            }
            point = true;
            at += 1;
            continue;
        };
        digits = true;
        if number.mantissa >> 120 == 0 {
            number.mantissa = number.mantissa << 4 | u128::from(digit);
            number.exponent -= if point { 4 } else { 0 };
        } else {
            number.sticky |= digit != 0;
            number.exponent += if point { 0 } else { 4 };
        }
        at += 1;
    }
    if !digits {
        return None;
    }
    match &text[at..] {
        [] => {}
        [b'p' | b'P', exponent @ ..] => {
            number.exponent = number.exponent.saturating_add(parse_exponent(exponent)?)
        }
        _ => return None,
    }
    Some(number)
}

/// Parses a decimal exponent with an optional sign. An exponent that does not fit counts as the largest.
pub(super) fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0_i64, |value, digit| (value * 10 + i64::from(digit - b'0')).min(1 << 40));
    Some(if negative { -value } else { value })
}

impl Magnitude {
    /// The nearest double, ties to even. Returns `None` if a non-zero number would become zero or infinite.
    pub(super) fn to_f64(self) -> Option<f64> {
        if self.mantissa == 0 {
            return Some(0.0);
        }
        let top = 127 - i64::from(self.mantissa.leading_zeros());
        // The weight of the last kept bit: 53 bits, fewer below the least normal double.
        let last = (self.exponent + top - 52).max(-1074);
        let rounded = round_shift(self.mantissa, self.sticky, last - self.exponent);
        if rounded == 0 || last > 1100 {
            return None;
        }
        // Both steps are exact: the integer has at most 53 bits, or is the power of two above them.
        let (half, rest) = (last / 2, last - last / 2);
        let value = rounded as f64 * 2_f64.powi(half as i32) * 2_f64.powi(rest as i32);
        value.is_finite().then_some(value)
    }
}

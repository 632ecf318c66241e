//! The texts of numbers, as Redis reads and writes them.

mod big;
mod extended;
mod fixed;
mod grisu;
mod hex;

pub use extended::{DecimalError, Extended, add_decimal};
pub use fixed::{format_decimal, format_distance};

use std::io::Write;

/// All two-digit numbers in sequence.
const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
2021222324252627282930313233343536373839\
4041424344454647484950515253545556575859\
6061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

/// Returns the two digits of a number below 100. Panics for others.
#[inline]
pub(crate) fn pair(number: usize) -> [u8; 2] {
    [PAIRS[2 * number], PAIRS[2 * number + 1]]
}

/// The length of the longest text of an integer: `-9223372036854775808`.
pub const INTEGER_TEXT: usize = 20;
/// The largest magnitude of an integral double that is written like an integer: 2⁶².
const INTEGER_DOUBLE: f64 = 4_611_686_018_427_387_904.0;

/// Parses all of `text` as an integer in the one form that Redis takes. That is decimal digits without a leading zero,
/// with a `-` before a number that is not zero; no `+`, no space. Returns `None` for anything else, and for numbers
/// that 64 bits cannot hold. O(1).
pub fn parse_i64(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() < INTEGER_TEXT => {}
        _ => return None,
    }
    let mut value: u64 = 0;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        // No overflow: at most 19 digits.
        value = value * 10 + u64::from(digit);
    }
    if negative { 0_i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() }
}

/// Appends the decimal digits of `value`.
#[inline]
pub fn write_i64(value: i64, out: &mut Vec<u8>) {
    if (0..10).contains(&value) {
        out.push(b'0' + value as u8);
        return;
    }
    let mut text = [0; INTEGER_TEXT];
    let at = write_i64_before(value, &mut text);
    out.extend_from_slice(&text[at..]);
}

/// Writes the decimal digits of `value` at the end of `text`; returns the position of the first character.
#[inline]
pub fn write_i64_before(value: i64, text: &mut [u8; INTEGER_TEXT]) -> usize {
    let mut at = write_u64_before(value.unsigned_abs(), text);
    if value < 0 {
        at -= 1;
        text[at] = b'-';
    }
    at
}

/// Appends the decimal digits of a length or count.
#[inline]
pub fn write_usize(value: usize, out: &mut Vec<u8>) {
    if value < 10 {
        out.push(b'0' + value as u8);
        return;
    }
    let mut text = [0; INTEGER_TEXT];
    let at = write_u64_before(value as u64, &mut text);
    out.extend_from_slice(&text[at..]);
}

/// Writes the digits of `value` at the end of `text`; returns the position of the first digit.
#[inline]
fn write_u64_before(mut value: u64, text: &mut [u8; INTEGER_TEXT]) -> usize {
    let mut at = INTEGER_TEXT;
    while value >= 10 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        at -= 2;
        text[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    // A pair with a leading zero is written only if another digit comes before it.
    if value > 0 || at == INTEGER_TEXT {
        at -= 1;
        text[at] = b'0' + value as u8;
    }
    at
}

/// Parses all of `text` as a double, as Redis reads a score or the end of a range. The text is a decimal or hexadecimal
/// floating-point number of C, or `inf` or `infinity` in any case, with an optional sign. Spaces and `nan` are refused,
/// and so are numbers so large or small that they would become infinite or zero. O(length).
pub fn parse_f64(text: &[u8]) -> Option<f64> {
    if let Some(value) = short_integer(text) {
        return Some(value);
    }
    let unsigned = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    if let [b'0', b'x' | b'X', digits @ ..] = unsigned {
        let magnitude = hex::parse(digits)?.to_f64()?;
        return Some(if text[0] == b'-' { -magnitude } else { magnitude });
    }
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let overflow = value.is_infinite() && matches!(unsigned[0], b'0'..=b'9' | b'.');
    if value.is_nan() || overflow || (value == 0.0 && has_nonzero_digit(unsigned)) {
        None
    } else {
        Some(value)
    }
}

/// Parses an integer of up to 15 digits, which a double represents exactly.
#[inline]
fn short_integer(text: &[u8]) -> Option<f64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if !(1..=15).contains(&digits.len()) {
        return None;
    }
    let mut magnitude = 0_u64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        magnitude = magnitude * 10 + u64::from(digit);
    }
    let magnitude = magnitude as f64;
    Some(if digits.len() < text.len() { -magnitude } else { magnitude })
}

/// Whether a digit before the exponent is not zero.
fn has_nonzero_digit(text: &[u8]) -> bool {
    text.iter().take_while(|byte| !matches!(byte, b'e' | b'E')).any(|byte| matches!(byte, b'1'..=b'9'))
}

/// Appends the text of a double as Redis 7.2 replies and stores it. An integer up to 2⁶² is written as its digits. Any
/// other number has the digits of Grisu2: they read back as the same value, and are nearly always the shortest that do.
/// The layouts are `0.000001`, `1.5`, `1e-7` and `1.5e+300`. Special values are `inf`, `-inf`, `nan` and `-0`. At most
/// 25 bytes; no allocation beyond `out`'s own.
pub fn format_double(value: f64, out: &mut Vec<u8>) {
    if value.is_nan() {
        out.extend_from_slice(b"nan");
    } else if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"inf" } else { b"-inf" });
    } else if value == 0.0 {
        out.extend_from_slice(if value.is_sign_negative() { b"-0" } else { b"0" });
    } else if value.abs() <= INTEGER_DOUBLE && value.trunc() == value {
        write_i64(value as i64, out);
    } else {
        if value < 0.0 {
            out.push(b'-');
        }
        let mut digits = [0; 20];
        let (len, exponent) = grisu::digits(value.abs(), &mut digits);
        lay_out(&digits[..len], exponent, out);
    }
}

fn parse_exponent(text: &[u8]) -> Option<i32> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Appends `digits` · 10^`exponent` in the layout of Redis 7.2.
fn lay_out(digits: &[u8], exponent: i32, out: &mut Vec<u8>) {
    let len = digits.len() as i32;
    let leading = exponent + len - 1;
    if exponent >= 0 && leading < len + 7 {
        out.extend_from_slice(digits);
        out.extend(std::iter::repeat_n(b'0', exponent as usize));
    } else if exponent < 0 && (exponent > -7 || leading.abs() < 4) {
        let whole = len + exponent;
        if whole <= 0 {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', -whole as usize));
            out.extend_from_slice(digits);
        } else {
            let (whole, fraction) = digits.split_at(whole as usize);
            out.extend_from_slice(whole);
            out.push(b'.');
            out.extend_from_slice(fraction);
        }
    } else {
        out.push(digits[0]);
        if len > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.extend_from_slice(if leading < 0 { b"e-" } else { b"e+" });
        write_i64(i64::from(leading.abs()), out);
    }
}

/// Appends `value` as C's `printf` writes it with `%.{precision}g`: Lua's `tostring` is `%.14g`, and Redis before
/// 7.2 wrote doubles with `%.17g`. A precision of 0 counts as 1, as in C. No allocation beyond `out`'s own.
pub fn format_g(value: f64, precision: usize, out: &mut Vec<u8>) {
    if !value.is_finite() {
        let text = if value.is_nan() { b"nan" } else { b"inf" };
        out.extend_from_slice(if value.is_sign_negative() { b"-" } else { b"" });
        out.extend_from_slice(text);
        return;
    }
    let precision = precision.max(1);
    let start = out.len();
    write_to(out, format_args!("{:.*e}", precision - 1, value));
    let mark = out.iter().rposition(|&byte| byte == b'e').unwrap_or(out.len());
    let exponent = out.get(mark + 1..).and_then(parse_exponent).unwrap_or(0);
    if exponent >= -4 && (exponent as i64) < precision as i64 {
        out.truncate(start);
        let decimals = (precision as i64 - 1 - i64::from(exponent)) as usize;
        write_to(out, format_args!("{value:.decimals$}"));
        trim_fraction(start, out);
    } else {
        out.truncate(mark);
        trim_fraction(start, out);
        let sign = if exponent < 0 { '-' } else { '+' };
        write_to(out, format_args!("e{sign}{:02}", exponent.abs()));
    }
}

/// Removes the zeros at the end of the fraction that begins somewhere after `start`, and a point that is then last.
fn trim_fraction(start: usize, out: &mut Vec<u8>) {
    if out[start..].contains(&b'.') {
        while out.last() == Some(&b'0') {
            out.pop();
        }
        if out.last() == Some(&b'.') {
            out.pop();
        }
    }
}

fn write_to(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a vector cannot fail.
    let _ = out.write_fmt(text);
}

/// Shifts `value` right by `shift` bits, rounding to the nearest, ties to even. With `sticky`, the exact value is
/// slightly larger than `value`.
fn round_shift(value: u128, sticky: bool, shift: i64) -> u128 {
    if shift <= 0 {
        return value << -shift;
    }
    if shift > 127 {
        // No caller's value has its highest bit set here, so the value is below a half.
        return 0;
    }
    let (kept, lost, half) = (value >> shift, value & ((1 << shift) - 1), 1 << (shift - 1));
    let up = lost > half || lost == half && (sticky || kept & 1 == 1);
    kept + u128::from(up)
}

#[cfg(test)]
mod tests;

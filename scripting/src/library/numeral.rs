//! Numbers as texts, as C's `strtod` reads them and its `%.14g` writes them.

use super::frame::Frame;
use super::raise::Raise;
use lockwheel_resp::number::parse_f64;
use std::io::Write;

/// The digits of a numeral that can affect its rounding, with room to spare: a double needs 767.
const KEPT_DIGITS: usize = 800;
/// The length above which a numeral is shortened before it is parsed.
const SHORT: usize = 1024;
/// The steps of a loop over a text between two checks whether the script must end.
const PIECE: usize = 1 << 14;
/// The exponent beyond which any numeral is infinite or zero, with any number of digits.
const MAX_EXPONENT: i64 = 1 << 40;

/// The most bytes of the text of [`write_general`].
pub(super) const MAX_LEN: usize = 32;

/// The powers of ten by exponent.
const POWERS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// The number of digits up to which the shortest text of a normal number has the same digits as any longer one, except
/// for zeros.
const SURE_DIGITS: usize = 15;

/// Writes a number like C's `%.*g`, with 1 to 17 significant digits.
pub(super) fn write_general(value: f64, precision: usize, out: &mut [u8; MAX_LEN]) -> usize {
    let magnitude = value.abs();
    if magnitude < POWERS[precision.min(SURE_DIGITS)]
        && magnitude.trunc() == magnitude
        && value.to_bits() != NEGATIVE_ZERO
    {
        return write_integer(value as i64, out);
    }
    if !value.is_finite() {
        let text: &[u8] = match (value.is_nan(), value.is_sign_negative()) {
            (false, false) => b"inf",
            (false, true) => b"-inf",
            (true, false) => b"nan",
            (true, true) => b"-nan",
        };
        out[..text.len()].copy_from_slice(text);
        return text.len();
    }
    // `-1.2345e-7`, first with the fewest digits that identify the number, since most numbers have few.
    let mut text = [0; MAX_LEN];
    let mut len = write_text(&mut text, format_args!("{value:e}"));
    let digits =
        text[..len].iter().take_while(|byte| **byte != b'e').filter(|byte| byte.is_ascii_digit()).count();
    if precision > SURE_DIGITS || digits > precision || magnitude < f64::MIN_POSITIVE {
        len = write_text(&mut text, format_args!("{:.*e}", precision - 1, value));
    }
    let text = &text[..len];
    let (sign, text) = text.split_at(usize::from(text[0] == b'-'));
    let mark = text.iter().position(|byte| *byte == b'e').unwrap_or(text.len());
    let exponent: i32 =
        text.get(mark + 1..).and_then(|text| std::str::from_utf8(text).ok()?.parse().ok()).unwrap_or(0);
    let mut digits = [0; MAX_LEN];
    let mut count = 0;
    for &digit in text[..mark].iter().filter(|byte| **byte != b'.') {
        digits[count] = digit;
        count += 1;
    }
    while count > 1 && digits[count - 1] == b'0' {
        count -= 1;
    }
    let mut line = Line { out, len: 0 };
    line.add(sign);
    line.lay_out(&digits[..count], exponent, precision);
    line.len
}

const NEGATIVE_ZERO: u64 = 1 << 63;

/// Writes a text for which there is room; returns its length.
fn write_text(out: &mut [u8; MAX_LEN], text: std::fmt::Arguments<'_>) -> usize {
    let mut rest = &mut out[..];
    let written = rest.write_fmt(text);
    debug_assert!(written.is_ok(), "the text of a double is short");
    MAX_LEN - rest.len()
}

/// Writes an integer of at most 15 digits.
fn write_integer(value: i64, out: &mut [u8; MAX_LEN]) -> usize {
    let (mut rest, mut at) = (value.unsigned_abs(), MAX_LEN);
    let mut text = [0; MAX_LEN];
    loop {
        at -= 1;
        text[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        text[at] = b'-';
    }
    let len = MAX_LEN - at;
    out[..len].copy_from_slice(&text[at..]);
    len
}

/// A text that is being written.
struct Line<'o> {
    out: &'o mut [u8; MAX_LEN],
    len: usize,
}

impl Line<'_> {
    fn add(&mut self, text: &[u8]) {
        self.out[self.len..self.len + text.len()].copy_from_slice(text);
        self.len += text.len();
    }

    /// Writes the digits with a point or an exponent, depending on the precision.
    fn lay_out(&mut self, digits: &[u8], exponent: i32, precision: usize) {
        if exponent < -4 || exponent >= precision as i32 {
            self.add(&digits[..1]);
            if digits.len() > 1 {
                self.add(b".");
                self.add(&digits[1..]);
            }
            self.add(if exponent < 0 { b"e-" } else { b"e+" });
            let exponent = exponent.unsigned_abs();
            if exponent >= 100 {
                self.add(&[b'0' + (exponent / 100) as u8]);
            }
            self.add(&[b'0' + (exponent / 10 % 10) as u8, b'0' + (exponent % 10) as u8]);
        } else if exponent < 0 {
            self.add(b"0.");
            self.add(&b"000"[..exponent.unsigned_abs() as usize - 1]);
            self.add(digits);
        } else {
            let before = exponent as usize + 1;
            self.add(&digits[..before.min(digits.len())]);
            for _ in digits.len()..before {
                self.add(b"0");
            }
            if digits.len() > before {
                self.add(b".");
                self.add(&digits[before..]);
            }
        }
    }
}

/// Parses the number at the beginning of a text like `strtod`, but without leading spaces. Returns the number and its
/// length. Checks for a kill from time to time. O(length).
pub(super) fn read(frame: &Frame<'_>, text: &[u8]) -> Result<Option<(f64, usize)>, Raise> {
    let sign = usize::from(matches!(text, [b'-' | b'+', ..]));
    let negative = text.first() == Some(&b'-');
    let signed = |value: f64| if negative { -value } else { value };
    let rest = &text[sign..];
    if let Some((value, len)) = small_integer(rest) {
        return Ok(Some((signed(value), sign + len)));
    }
    let found = match rest {
        [b'0', b'x' | b'X', digits @ ..] => match numeral(frame, digits, true)? {
            Some((value, len)) => Some((value, 2 + len)),
            // Only the zero is a number.
            None => Some((0.0, 1)),
        },
        [b'0'..=b'9' | b'.', ..] => numeral(frame, rest, false)?,
        _ => word(frame, rest)?,
    };
    Ok(found.map(|(value, len)| (signed(value), sign + len)))
}

/// Parses an integer of up to 15 digits, which must not be followed by a character that could belong to the number.
#[inline]
fn small_integer(text: &[u8]) -> Option<(f64, usize)> {
    let mut value = 0_u64;
    for (len, byte) in text.iter().take(16).enumerate() {
        match byte {
            b'0'..=b'9' => value = value * 10 + u64::from(byte - b'0'),
            b'.' | b'e' | b'E' | b'x' | b'X' => return None,
            _ => return (len > 0).then_some((value as f64, len)),
        }
    }
    (!text.is_empty() && text.len() < 16).then_some((value as f64, text.len()))
}

/// Parses `inf`, `infinity`, `nan` or `nan(letters)`, in any case.
fn word(frame: &Frame<'_>, text: &[u8]) -> Result<Option<(f64, usize)>, Raise> {
    let begins = |word: &[u8]| text.len() >= word.len() && text[..word.len()].eq_ignore_ascii_case(word);
    Ok(if begins(b"infinity") {
        Some((f64::INFINITY, 8))
    } else if begins(b"inf") {
        Some((f64::INFINITY, 3))
    } else if begins(b"nan") {
        Some((f64::NAN.copysign(1.0), nan_len(frame, text)?))
    } else {
        None
    })
}

fn nan_len(frame: &Frame<'_>, text: &[u8]) -> Result<usize, Raise> {
    if text.get(3) != Some(&b'(') {
        return Ok(3);
    }
    let mut at = 4;
    while text.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
        at += 1;
        if at % PIECE == 0 {
            frame.poll()?;
        }
    }
    Ok(if text.get(at) == Some(&b')') { at + 1 } else { 3 })
}

/// Parses the digits, the point and the exponent at the beginning of a text; returns the value and the length. With
/// `hex` the digits are hexadecimal, and the exponent, a power of 2, is marked by a `p`.
fn numeral(frame: &Frame<'_>, text: &[u8], hex: bool) -> Result<Option<(f64, usize)>, Raise> {
    let Some(digits) = digits(frame, text, hex)? else { return Ok(None) };
    let (exponent, len) = exponent(frame, &text[digits..], if hex { b'p' } else { b'e' })?;
    let len = digits + len;
    if !hex && len <= SHORT {
        let value = std::str::from_utf8(&text[..len]).ok().and_then(|text| text.parse().ok());
        return Ok(value.map(|value| (value, len)));
    }
    let mut numeral = Digits::default();
    for piece in text[..digits].chunks(PIECE) {
        frame.poll()?;
        piece.iter().for_each(|byte| numeral.add(*byte));
    }
    Ok(Some((numeral.value(exponent, hex), len)))
}

/// The length of the digits and the point at the beginning of a text. Returns `None` if there is no digit.
fn digits(frame: &Frame<'_>, text: &[u8], hex: bool) -> Result<Option<usize>, Raise> {
    let (mut point, mut at) = (false, 0);
    while let Some(byte) = text.get(at) {
        let is_digit = if hex { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() };
        if !is_digit && (point || *byte != b'.') {
            break;
        }
        point |= !is_digit;
        at += 1;
        if at % PIECE == 0 {
            frame.poll()?;
        }
    }
    Ok((at > usize::from(point)).then_some(at))
}

/// The digits of a numeral, as far as they affect its rounding.
#[derive(Default)]
struct Digits {
    /// The first digits after leading zeros.
    kept: Vec<u8>,
    /// Whether the point has been read.
    point: bool,
    /// Whether a digit that was not kept is not zero.
    rest: bool,
    /// The number of digits left out before the point, less the number of those kept behind it.
    left_out: i64,
}

impl Digits {
    /// Adds the next digit, or the point.
    fn add(&mut self, digit: u8) {
        if digit == b'.' {
            self.point = true;
        } else if self.kept.is_empty() && digit == b'0' {
            self.left_out -= i64::from(self.point);
        } else if self.kept.len() < KEPT_DIGITS {
            self.kept.push(digit);
            self.left_out -= i64::from(self.point);
        } else {
            self.rest |= digit != b'0';
            self.left_out += i64::from(!self.point);
        }
    }

    /// The number that the digits represent, rounded once.
    fn value(mut self, exponent: i64, hex: bool) -> f64 {
        if self.kept.is_empty() {
            return 0.0;
        }
        if self.rest {
            self.kept.push(b'1');
            self.left_out -= 1;
        }
        let digits = String::from_utf8_lossy(&self.kept);
        if !hex {
            return format!("{digits}e{}", exponent + self.left_out).parse().unwrap_or(f64::NAN);
        }
        let exponent = exponent + 4 * self.left_out;
        let text = format!("0x{digits}p{exponent}");
        // `parse_f64` returns `None` if the number becomes infinite or zero.
        let limit = if exponent + 4 * self.kept.len() as i64 > 0 { f64::INFINITY } else { 0.0 };
        parse_f64(text.as_bytes()).unwrap_or(limit)
    }
}

/// Parses the exponent behind a numeral's digits; returns it and its length with the mark. Returns zeros if there is
/// none.
fn exponent(frame: &Frame<'_>, text: &[u8], mark: u8) -> Result<(i64, usize), Raise> {
    if !text.first().is_some_and(|byte| byte.eq_ignore_ascii_case(&mark)) {
        return Ok((0, 0));
    }
    let sign = usize::from(matches!(text.get(1), Some(b'-' | b'+')));
    let first = 1 + sign;
    let (mut value, mut at) = (0_i64, first);
    while let Some(digit @ b'0'..=b'9') = text.get(at) {
        value = (value * 10 + i64::from(digit - b'0')).min(MAX_EXPONENT);
        at += 1;
        if at % PIECE == 0 {
            frame.poll()?;
        }
    }
    if at == first {
        return Ok((0, 0));
    }
    Ok((if text[1] == b'-' { -value } else { value }, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn general(value: f64, precision: usize) -> String {
        let mut text = [0; MAX_LEN];
        let len = write_general(value, precision, &mut text);
        String::from_utf8(text[..len].to_vec()).unwrap()
    }

    /// Each text is that of C's `printf`.
    #[test]
    fn numbers_are_written_as_in_c() {
        for (value, precision, text) in [
            (0.0, 14, "0"),
            (-0.0, 14, "-0"),
            (1.0, 14, "1"),
            (-1.5, 14, "-1.5"),
            (0.1, 17, "0.10000000000000001"),
            (0.0001, 14, "0.0001"),
            (0.000_123_456, 3, "0.000123"),
            (0.000_01, 14, "1e-05"),
            (99_999_999_999_999.0, 14, "99999999999999"),
            (1e14, 14, "1e+14"),
            (123_456_789_012_345.0, 14, "1.2345678901234e+14"),
            (12.0, 1, "1e+01"),
            (-7.0, 1, "-7"),
            (999_999_999_999_999.0, 15, "999999999999999"),
            (999_999_999_999_999.0, 14, "1e+15"),
            (19.95, 14, "19.95"),
            (0.1 + 0.2, 14, "0.3"),
            (999.96, 3, "1e+03"),
            (999.96, 4, "1000"),
            (9.5, 1, "1e+01"),
            (8.5, 1, "8"),
            (1e100, 14, "1e+100"),
            (1.5e-300, 14, "1.5e-300"),
            (5e-324, 17, "4.9406564584124654e-324"),
            (5e-324, 14, "4.9406564584125e-324"),
            (-1.797_693_134_862_315_7e308, 17, "-1.7976931348623157e+308"),
            (f64::INFINITY, 14, "inf"),
            (f64::NEG_INFINITY, 14, "-inf"),
        ] {
            assert_eq!(general(value, precision), text);
        }
    }

    proptest::proptest! {
        /// With 17 digits a number reads back as itself.
        #[test]
        fn seventeen_digits_say_all(bits: u64) {
            let value = f64::from_bits(bits);
            if value.is_finite() {
                proptest::prop_assert_eq!(general(value, 17).parse::<f64>().unwrap().to_bits(), bits);
            }
        }

        /// The expected digits are those of C's number formatting, through Lua's `%.14g`, which are the same as Rust's.
        #[test]
        fn fewer_digits_are_rounded_once(value: f64, precision in 1_usize..15) {
            let exact: f64 = format!("{:.*e}", precision - 1, value).parse().unwrap();
            proptest::prop_assert_eq!(general(value, precision).parse::<f64>().unwrap(), exact);
        }
    }
}

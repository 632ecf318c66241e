//! Sums of decimal texts as INCRBYFLOAT computes them: in x87 extended precision, with a mantissa of 64 bits.
//!
//! Rust has no such type, and neither have other machines. This module implements its parsing, addition and formatting,
//! each exact before it is rounded to the nearest, ties to even.

use super::{big::Big, hex, round_shift, trim_fraction, write_to};

/// The most bytes of a text that Redis reads as such a number.
const MAX_TEXT: usize = 5 * 1024 - 1;
/// The exponent of the last bit of the smallest numbers.
const MIN_EXPONENT: i64 = -16_445;
/// The exponent of the last bit of the largest numbers.
const MAX_EXPONENT: i64 = 16_320;
/// The power of ten from which on texts of numbers are too large.
const MAX_MAGNITUDE: i64 = 4933;
/// The power of ten below which texts of numbers are too small.
const MIN_MAGNITUDE: i64 = -4951;
/// The decimals of a written number, before trailing zeros are removed.
const DECIMALS: usize = 17;

/// The reason why two decimal texts cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecimalError {
    /// A text is not a number: Redis' `value is not a valid float`.
    NotAFloat,
    /// The sum is not a finite number: Redis' `increment would produce NaN or Infinity`.
    NotFinite,
}

/// Adds two decimal texts. Returns the sum in the text that INCRBYFLOAT and HINCRBYFLOAT store and reply: at most 17
/// decimals, no exponent, no trailing zero of a fraction, `-0` as `0`.
///
/// # Errors
///
/// Returns an error if a text is not a number, or the sum is not finite. See [`Extended::parse`].
pub fn add_decimal(a: &[u8], b: &[u8]) -> Result<String, DecimalError> {
    let a = Extended::parse(a).ok_or(DecimalError::NotAFloat)?;
    let b = Extended::parse(b).ok_or(DecimalError::NotAFloat)?;
    a.add(b).and_then(Extended::text).ok_or(DecimalError::NotFinite)
}

/// A number of x87 extended precision: C's `long double` on the machines that usually run Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extended {
    negative: bool,
    size: Size,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Zero,
    /// `mantissa` · 2^`exponent`. The highest bit of the mantissa is set, except in the smallest numbers.
    Finite {
        mantissa: u64,
        exponent: i64,
    },
    Infinite,
}

impl Extended {
    /// Parses all of `text`: a decimal or hexadecimal floating-point number of C, or `inf` or `infinity` in any case,
    /// with an optional sign. Returns `None` for anything else: spaces, `nan`, or 5,120 bytes and more. Also for a
    /// number so large or small that it would become infinite or zero. O(length²) for a text of many digits or a large
    /// exponent.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.len() > MAX_TEXT {
            return None;
        }
        let (negative, text) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        let size = match text {
            [b'0', b'x' | b'X', digits @ ..] => {
                let hex::Magnitude { mantissa, sticky, exponent } = hex::parse(digits)?;
                Size::round(mantissa, sticky, exponent)
            }
            _ if text.eq_ignore_ascii_case(b"inf") || text.eq_ignore_ascii_case(b"infinity") => {
                return Some(Self { negative, size: Size::Infinite });
            }
            _ => Decimal::parse(text)?.size(),
        };
        size.filter(|size| *size != Size::Infinite).map(|size| Self { negative, size })
    }

    /// Whether the number is neither plus nor minus infinity.
    pub fn is_finite(self) -> bool {
        self.size != Size::Infinite
    }

    /// The sum, rounded to 64 bits of mantissa. Returns `None` if it is not finite.
    #[expect(clippy::should_implement_trait, reason = "it can fail")]
    pub fn add(self, other: Self) -> Option<Self> {
        let (mut high, mut low) = match (self.size, other.size) {
            (Size::Infinite, _) | (_, Size::Infinite) => return None,
            (Size::Zero, _) => return Some(other),
            (_, Size::Zero) => return Some(self),
            (Size::Finite { mantissa: a, exponent: x }, Size::Finite { mantissa: b, exponent: y }) => {
                ((x, a, self.negative), (y, b, other.negative))
            }
        };
        // The number with the larger exponent is larger, since the highest bit of its mantissa is set.
        if high < low {
            (high, low) = (low, high);
        }
        let (exponent, mantissa, negative) = high;
        let distance = exponent - low.0;
        // There are two bits of room above and 62 below. Bits of the lower number below these only decide ties.
        let (large, wide) = (u128::from(mantissa) << 62, u128::from(low.1) << 62);
        let small = if distance < 128 { wide >> distance } else { 0 };
        let sticky = distance >= 128 || small << distance != wide;
        let sum = if negative == low.2 { large + small } else { large - small - u128::from(sticky) };
        Some(Self { negative, size: Size::round(sum, sticky, exponent - 62).unwrap_or(Size::Zero) })
            .filter(|sum| sum.is_finite())
    }

    /// The number with the opposite sign.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { negative: !self.negative, ..self }
    }

    /// Whether this number is greater than `other`. Zeros of both signs are equal.
    pub fn exceeds(self, other: Self) -> bool {
        self.rank() > other.rank()
    }

    /// A key that orders numbers by value: the sign, then the magnitude, negated below zero.
    fn rank(self) -> (i8, i64, i128) {
        // The number with the larger exponent is larger, since the highest bit of its mantissa is set.
        let (exponent, mantissa) = match self.size {
            Size::Zero => return (0, 0, 0),
            Size::Infinite => (i64::MAX, 0),
            Size::Finite { mantissa, exponent } => (exponent, i128::from(mantissa)),
        };
        if self.negative { (-1, -exponent, -mantissa) } else { (1, exponent, mantissa) }
    }

    /// Multiplies by `factor`, rounded to 64 bits of mantissa and then up to the next integer, like C's `ceill`.
    /// Returns `None` if no `i64` holds the result.
    pub fn times_rounded_up(self, factor: u32) -> Option<i64> {
        let Size::Finite { mantissa, exponent } = self.size else {
            return (self.size == Size::Zero).then_some(0);
        };
        let product = u128::from(mantissa) * u128::from(factor);
        match Size::round(product, false, exponent) {
            None | Some(Size::Zero) => Some(0),
            Some(Size::Finite { mantissa, exponent }) => rounded_up(self.negative, mantissa, exponent),
            Some(Size::Infinite) => None,
        }
    }

    /// The text that Redis stores, as by `%.17Lf` without trailing zeros of the fraction. Returns `None` for infinity.
    pub fn text(self) -> Option<String> {
        let mut out = Vec::new();
        match self.size {
            Size::Infinite => return None,
            Size::Zero => out.push(b'0'),
            Size::Finite { mantissa, exponent } if exponent >= 0 => {
                // No truncation: the exponent is at most `MAX_EXPONENT`.
                Big::shifted(mantissa, exponent as u32).write(&mut out);
            }
            Size::Finite { mantissa, exponent } => write_fraction(mantissa, exponent, &mut out),
        }
        if self.negative && out != b"0" {
            out.insert(0, b'-');
        }
        // Only ASCII has been written.
        String::from_utf8(out).ok()
    }
}

/// ±`mantissa` · 2^`exponent`, rounded up to an integer. Returns `None` if no `i64` holds it.
fn rounded_up(negative: bool, mantissa: u64, exponent: i64) -> Option<i64> {
    if exponent > 0 {
        // The highest bit of the mantissa is set, except in the smallest numbers.
        return None;
    }
    let below = exponent.unsigned_abs();
    let whole = if below < 64 { mantissa >> below } else { 0 };
    let has_fraction = below >= 64 && mantissa != 0 || below < 64 && whole << below != mantissa;
    if negative {
        0_i64.checked_sub_unsigned(whole)
    } else {
        i64::try_from(whole).ok()?.checked_add(i64::from(has_fraction))
    }
}

/// Writes `mantissa` · 2^`exponent` for a negative exponent.
fn write_fraction(mantissa: u64, exponent: i64, out: &mut Vec<u8>) {
    const SCALE: u128 = 10_u128.pow(DECIMALS as u32);
    // The factors have 64 and 57 bits: no overflow.
    let scaled = u128::from(mantissa) * SCALE;
    let rounded = round_shift(scaled, false, -exponent);
    write_to(out, format_args!("{}.{:0DECIMALS$}", rounded / SCALE, rounded % SCALE));
    trim_fraction(0, out);
}

impl Size {
    /// Rounds `value` · 2^`exponent`. With `sticky`, the exact value is slightly larger; `value` then has at least 65
    /// bits. Returns `None` if a non-zero number would become zero. A number that is too large becomes infinite.
    fn round(value: u128, sticky: bool, exponent: i64) -> Option<Self> {
        if value == 0 {
            return Some(Self::Zero);
        }
        let top = 127 - i64::from(value.leading_zeros());
        let mut last = (exponent + top - 63).max(MIN_EXPONENT);
        let mut mantissa = round_shift(value, sticky, last - exponent);
        if mantissa >> 64 != 0 {
            mantissa >>= 1;
            last += 1;
        }
        match mantissa as u64 {
            0 => None,
            _ if last > MAX_EXPONENT => Some(Self::Infinite),
            mantissa => Some(Self::Finite { mantissa, exponent: last }),
        }
    }
}

/// A decimal text: its digits from the first to the last non-zero one, and the power of ten of the last.
struct Decimal {
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    fn parse(text: &[u8]) -> Option<Self> {
        let end = text.iter().position(|byte| matches!(byte, b'e' | b'E'));
        let (number, mut exponent) = match end {
            Some(end) => (&text[..end], hex::parse_exponent(&text[end + 1..])?),
            None => (text, 0),
        };
        let mut digits = Vec::with_capacity(number.len());
        let (mut point, mut any) = (false, false);
        for &byte in number {
            match byte {
                b'.' if !point => point = true,
                b'0'..=b'9' => {
                    any = true;
                    exponent -= i64::from(point);
                    if byte != b'0' || !digits.is_empty() {
                        digits.push(byte);
                    }
                }
                _ => return None,
            }
        }
        while digits.last() == Some(&b'0') {
            digits.pop();
            exponent += 1;
        }
        any.then_some(Self { digits, exponent })
    }

    /// The number, rounded. Returns `None` if it is too small or far too large.
    fn size(&self) -> Option<Size> {
        let Self { digits, exponent } = self;
        let magnitude = digits.len() as i64 + exponent;
        if digits.is_empty() {
            return Some(Size::Zero);
        }
        if !(MIN_MAGNITUDE..=MAX_MAGNITUDE).contains(&magnitude) {
            return None;
        }
        let small = digits.len() <= 18 && (-18..=18).contains(exponent);
        if small { self.small_size() } else { self.big_size() }
    }

    /// The number, if neither its digits nor its power of ten is above 10¹⁸. No allocation.
    fn small_size(&self) -> Option<Size> {
        let digits = self.digits.iter().fold(0, |value, digit| value * 10 + u128::from(digit - b'0'));
        let power = 10_u128.pow(self.exponent.unsigned_abs() as u32);
        if self.exponent >= 0 {
            return Size::round(digits * power, false, 0);
        }
        // A power below 2⁶⁰ leaves at least 66 bits of a dividend of 127 bits.
        let shift = digits.leading_zeros() - 1;
        let dividend = digits << shift;
        Size::round(dividend / power, dividend % power != 0, -i64::from(shift))
    }

    fn big_size(&self) -> Option<Size> {
        let mut digits = Big::from_digits(&self.digits);
        let power = self.exponent.unsigned_abs() as u32;
        if self.exponent >= 0 {
            digits.multiply_by_power_of_ten(power);
            let (top, below, sticky) = digits.top();
            return Size::round(top, sticky, i64::from(below));
        }
        let mut divisor = Big::from_digits(b"1");
        divisor.multiply_by_power_of_ten(power);
        let (quotient, shift, sticky) = digits.divide(divisor);
        Size::round(quotient, sticky, -shift)
    }
}

#[cfg(test)]
mod tests;

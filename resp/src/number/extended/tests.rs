//! Tests of extended precision against exact arithmetic that is rounded once. A parsed text, a sum and a formatted
//! number must have the one right value, whichever path computes it.

use super::*;
use dashu_int::ops::{BitTest, DivRem, UnsignedAbs};
use dashu_int::{IBig, Sign, UBig};
use proptest::prelude::*;

/// The bits of a mantissa.
const MANTISSA: usize = 64;
/// The weight of the last bit of the smallest numbers: their exponent is -16,382, and 63 bits are behind the point.
const LAST_BIT_MIN: i64 = -16_382 - 63;
/// The weight of the last bit of the largest numbers.
const LAST_BIT_MAX: i64 = 16_383 - 63;

/// A value without rounding: a fraction.
#[derive(Clone, Debug)]
struct Exact {
    numerator: IBig,
    denominator: UBig,
}

impl Exact {
    /// `value` · `base`^`exponent`.
    fn scaled(value: IBig, base: u32, exponent: i64) -> Self {
        let power = UBig::from(base).pow(exponent.unsigned_abs() as usize);
        if exponent >= 0 {
            return Self { numerator: value * power, denominator: UBig::ONE };
        }
        Self { numerator: value, denominator: power }
    }

    fn of(number: Extended) -> Self {
        match number.size {
            Size::Zero => Self::scaled(IBig::ZERO, 2, 0),
            Size::Finite { mantissa, exponent } => {
                let value = IBig::from(mantissa);
                Self::scaled(if number.negative { -value } else { value }, 2, exponent)
            }
            Size::Infinite => panic!("infinite"),
        }
    }

    fn plus(self, other: Self) -> Self {
        let numerator =
            self.numerator * other.denominator.clone() + other.numerator * self.denominator.clone();
        Self { numerator, denominator: self.denominator * other.denominator }
    }

    /// The nearest multiple of 2^`exponent`, ties to even, as a number of these units.
    fn nearest_multiple(&self, exponent: i64) -> IBig {
        let power = UBig::ONE << exponent.unsigned_abs() as usize;
        let magnitude = self.numerator.clone().unsigned_abs();
        let (dividend, divisor) = if exponent >= 0 {
            (magnitude, self.denominator.clone() * power)
        } else {
            (magnitude * power, self.denominator.clone())
        };
        let (mut quotient, rest) = dividend.div_rem(&divisor);
        let twice = rest << 1;
        if twice > divisor || twice == divisor && quotient.bit(0) {
            quotient += 1_u8;
        }
        IBig::from_parts(self.numerator.sign(), quotient)
    }

    /// The nearest extended number, as a fraction. An error if the number is too small or too large.
    fn rounded(&self) -> Result<Rounded, Unfit> {
        let bits = |magnitude: &UBig| magnitude.bit_len() as i64;
        if self.numerator == IBig::ZERO {
            return Ok(Rounded { mantissa: IBig::ZERO, exponent: 0 });
        }
        let size = bits(&self.numerator.clone().unsigned_abs()) - bits(&self.denominator);
        // The first attempt may have one bit too many; the next then never has one too few.
        let mut exponent = (size - MANTISSA as i64).max(LAST_BIT_MIN);
        while bits(&self.nearest_multiple(exponent).unsigned_abs()) > MANTISSA as i64 {
            exponent += 1;
        }
        let mantissa = self.nearest_multiple(exponent);
        match mantissa == IBig::ZERO {
            true => Err(Unfit::TooSmall),
            false if exponent > LAST_BIT_MAX => Err(Unfit::TooLarge),
            false => Ok(Rounded { mantissa, exponent }),
        }
    }

    /// The text with at most 17 decimals, rounded like printf.
    fn text(&self) -> String {
        let scale = UBig::from(10_u8).pow(17);
        let scaled =
            Self { numerator: self.numerator.clone() * scale, denominator: self.denominator.clone() };
        let scaled = scaled.nearest_multiple(0);
        let digits = format!("{:0>18}", scaled.clone().unsigned_abs().to_string());
        let (whole, fraction) = digits.split_at(digits.len() - 17);
        let text = format!("{whole}.{fraction}").trim_end_matches('0').trim_end_matches('.').to_string();
        if scaled.sign() == Sign::Negative && scaled != IBig::ZERO { format!("-{text}") } else { text }
    }
}

/// The reason why there is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unfit {
    TooSmall,
    TooLarge,
}

/// `mantissa` · 2^`exponent`.
#[derive(Clone, Debug)]
struct Rounded {
    mantissa: IBig,
    exponent: i64,
}

impl Rounded {
    fn is(&self, number: Extended) -> bool {
        let exact = Exact::scaled(self.mantissa.clone(), 2, self.exponent);
        let ours = Exact::of(number);
        exact.numerator * ours.denominator == ours.numerator * exact.denominator
    }
}

/// A number as text, as digits, and as the power of the base of the last digit.
#[derive(Clone, Debug)]
struct Written {
    text: String,
    exact: Exact,
}

/// A text of these decimal digits, with the point before the last `decimals` of them.
fn decimal(negative: bool, digits: &str, decimals: usize, exponent: i64) -> Written {
    let value: IBig = digits.parse().expect("they are digits");
    let value = if negative { -value } else { value };
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(decimals));
    let sign = if negative { "-" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    let power = if exponent == 0 { String::new() } else { format!("e{exponent}") };
    Written {
        text: format!("{sign}{whole}{point}{fraction}{power}"),
        exact: Exact::scaled(value, 10, exponent - fraction.len() as i64),
    }
}

fn decimals() -> impl Strategy<Value = Written> {
    let digits = prop_oneof![4 => "[0-9]{1,25}", 1 => "[0-9]{26,400}"];
    let exponent = prop_oneof![4 => Just(0), 2 => -40..40_i64, 1 => -5100..5100_i64, 1 => 4900..4940_i64];
    (any::<bool>(), digits, 0..30_usize, exponent)
        .prop_map(|(negative, digits, decimals, exponent)| decimal(negative, &digits, decimals, exponent))
}

fn hexadecimals() -> impl Strategy<Value = Written> {
    let exponent = prop_oneof![-80..80_i64, -16_600..16_600_i64];
    (any::<bool>(), "[0-9a-fA-F]{1,40}", 0..20_usize, exponent).prop_map(
        |(negative, digits, decimals, exponent)| {
            let value = IBig::from_str_radix(&digits, 16).expect("they are digits");
            let (whole, fraction) = digits.split_at(digits.len().saturating_sub(decimals));
            Written {
                text: format!("{}0x{whole}.{fraction}p{exponent}", if negative { "-" } else { "" }),
                exact: Exact::scaled(
                    if negative { -value } else { value },
                    2,
                    exponent - 4 * fraction.len() as i64,
                ),
            }
        },
    )
}

/// A text that lies halfway between two numbers of a full mantissa, or differs from that by one of its last digit.
fn halfway() -> impl Strategy<Value = Written> {
    let exponent = prop_oneof![6 => -100..100_i64, 1 => -4000..16_000_i64, 1 => Just(LAST_BIT_MAX)];
    let beside = prop_oneof![Just(-1_i8), Just(0), Just(1)];
    (any::<bool>(), any::<u64>(), exponent, beside).prop_map(|(negative, mantissa, exponent, beside)| {
        let odd = UBig::from(mantissa | 1 << 63) * 2_u8 + UBig::ONE;
        // (2 m + 1) · 2^(e - 1), as an integer and a power of ten. Some more digits allow the choice of a neighbour.
        let (whole, power) = match exponent - 1 {
            exponent @ ..0 => (odd * UBig::from(5_u8).pow(exponent.unsigned_abs() as usize), exponent),
            exponent => (odd << exponent as usize, 0),
        };
        let value = IBig::from(whole * 1000_u16) + IBig::from(beside);
        decimal(negative, &value.to_string(), 0, power - 3)
    })
}

fn number() -> impl Strategy<Value = Extended> {
    let exponent = prop_oneof![
        4 => -130..10_i64,
        1 => LAST_BIT_MIN..=LAST_BIT_MAX,
        1 => LAST_BIT_MAX - 3..=LAST_BIT_MAX,
    ];
    let mantissa = prop_oneof![
        any::<u64>(),
        (0..64_u32).prop_map(|bit| 1 << bit),
        prop::sample::select(vec![0, 1, 2, u64::MAX - 1, u64::MAX]),
    ];
    (any::<bool>(), mantissa, exponent).prop_map(|(negative, mantissa, exponent)| {
        let size = Size::Finite { mantissa: mantissa | 1 << 63, exponent };
        // The smallest numbers may lack the highest bit.
        let small = Size::Finite { mantissa: mantissa.max(1), exponent };
        Extended { negative, size: if exponent == LAST_BIT_MIN { small } else { size } }
    })
}

/// Two numbers, mostly so close that their sum is rounded or largely cancels.
fn two() -> impl Strategy<Value = (Extended, Extended)> {
    let shift = prop_oneof![-70..70_i64, -140..140_i64, 60..68_i64, Just(0)];
    (number(), number(), shift).prop_map(|(one, mut other, shift)| {
        let (Size::Finite { exponent, .. }, Size::Finite { exponent: moved, .. }) =
            (one.size, &mut other.size)
        else {
            unreachable!("both are finite")
        };
        if (LAST_BIT_MIN + 1..=LAST_BIT_MAX).contains(&(exponent + shift)) && *moved != LAST_BIT_MIN {
            *moved = exponent + shift;
        }
        (one, other)
    })
}

fn assert_read(written: &Written) {
    let ours = Extended::parse(written.text.as_bytes());
    match (ours, written.exact.rounded()) {
        (Some(number), Ok(rounded)) => {
            assert!(rounded.is(number), "{}: {number:?}, not {rounded:?}", written.text)
        }
        (ours, rounded) => assert_eq!((ours, rounded.is_err()), (None, true), "{}", written.text),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_decimal_text_is_read_as_the_nearest_number(written in decimals()) {
        assert_read(&written);
    }

    #[test]
    fn a_hexadecimal_text_is_read_as_the_nearest_number(written in hexadecimals()) {
        assert_read(&written);
    }

    #[test]
    fn a_text_halfway_is_read_as_the_even_number(written in halfway()) {
        assert_read(&written);
    }

    #[test]
    fn a_sum_is_the_nearest_number((one, other) in two()) {
        let sum = Exact::of(one).plus(Exact::of(other)).rounded();
        match (one.add(other), sum) {
            (Some(ours), Ok(sum)) => prop_assert!(sum.is(ours), "{ours:?}, not {sum:?}"),
            (ours, sum) => prop_assert_eq!((ours, sum.err()), (None, Some(Unfit::TooLarge))),
        }
    }

    #[test]
    fn a_text_has_the_nearest_decimals(number in number()) {
        prop_assert_eq!(number.text(), Some(Exact::of(number).text()));
    }

    #[test]
    fn a_sum_of_texts_is_read_added_and_written(one in decimals(), other in decimals()) {
        let expected = match (one.exact.rounded(), other.exact.rounded()) {
            (Ok(one), Ok(other)) => {
                let [one, other] = [one, other].map(|number| Exact::scaled(number.mantissa, 2, number.exponent));
                match one.plus(other).rounded() {
                    Ok(sum) => Ok(Exact::scaled(sum.mantissa, 2, sum.exponent).text()),
                    Err(_) => Err(DecimalError::NotFinite),
                }
            }
            _ => Err(DecimalError::NotAFloat),
        };
        prop_assert_eq!(add_decimal(one.text.as_bytes(), other.text.as_bytes()), expected);
    }
}

#[test]
fn a_product_is_rounded_up_as_by_ceill() {
    // The values of `(long long) ceill(strtold(text) * 1000)` in C on x86-64.
    for (text, expected) in [
        ("-0.0001", Some(0)),
        ("-0.001", Some(0)),
        ("-0.00100000001", Some(-1)),
        ("-1", Some(-1000)),
        ("-1e-300", Some(0)),
        ("0", Some(0)),
        ("1e-300", Some(1)),
        ("0.001", Some(1)),
        ("0.003", Some(3)),
        ("1.0005", Some(1001)),
        ("1000", Some(1_000_000)),
        ("9223372036854775.807", Some(i64::MAX)),
        ("9223372036854775.808", None),
        ("-9223372036854775.808", Some(-i64::MAX)),
        ("-9223372036854775.81", None),
        ("inf", None),
        ("-inf", None),
        ("1e4000", None),
    ] {
        let number = Extended::parse(text.as_bytes()).unwrap();
        assert_eq!(number.times_rounded_up(1000), expected, "{text}");
    }
}

#[test]
fn numbers_are_ordered_by_their_values() {
    const ASCENDING: [&str; 12] =
        ["-inf", "-1e4000", "-2", "-1.5", "-1e-4940", "0", "1e-4940", "0.1", "1.5", "2", "1e4000", "inf"];
    let numbers = ASCENDING.map(|text| Extended::parse(text.as_bytes()).unwrap());
    for (a, x) in numbers.iter().enumerate() {
        for (b, y) in numbers.iter().enumerate() {
            assert_eq!(x.exceeds(*y), a > b, "{} and {}", ASCENDING[a], ASCENDING[b]);
            assert_eq!(y.negated().exceeds(x.negated()), a > b, "{} and {}", ASCENDING[a], ASCENDING[b]);
        }
    }
    let zeros = ["0", "-0"].map(|text| Extended::parse(text.as_bytes()).unwrap());
    assert!(!zeros[0].exceeds(zeros[1]) && !zeros[1].exceeds(zeros[0]));
}

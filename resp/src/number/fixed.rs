//! Doubles with a fixed number of decimals.

use super::{round_shift, write_to};
use std::io::Write;

/// The most decimals that this arithmetic supports: a double's 53 bits times 10¹⁷ are within 128 bits.
const MAX_DECIMALS: usize = 17;
/// The bits of a double's fraction, and the bias of its exponent.
const FRACTION_BITS: u32 = 52;
const EXPONENT_BIAS: i64 = 1075;

/// The number of decimals of a distance.
const DISTANCE_DECIMALS: usize = 4;

/// Appends a distance as Redis writes it, with four decimals. The product with 10⁴, a double, is rounded, ties to even.
/// No allocation beyond `out`'s own.
pub fn format_distance(value: f64, out: &mut Vec<u8>) {
    let units = (value * 10_000.0).round_ties_even();
    if units.abs() < i64::MAX as f64 {
        write_units(units < 0.0, u128::from(units.abs() as u64), DISTANCE_DECIMALS, out);
    } else {
        write_to(out, format_args!("{value:.DISTANCE_DECIMALS$}"));
    }
}

/// Appends `value` with `decimals` decimals, like C's `printf` with `%.{decimals}f`: the exact value is rounded to the
/// nearest, ties to even.
fn format_fixed(value: f64, decimals: usize, out: &mut Vec<u8>) {
    match scaled(value, decimals) {
        Some(units) => write_units(value.is_sign_negative(), units, decimals, out),
        None => write_to(out, format_args!("{value:.decimals$}")),
    }
}

/// Appends a number that is given in units of its last decimal. `decimals` is at most seventeen.
fn write_units(negative: bool, units: u128, decimals: usize, out: &mut Vec<u8>) {
    let unit = 10_u128.pow(decimals as u32);
    let sign = if negative { "-" } else { "" };
    // Writing to a vector cannot fail.
    let _ = write!(out, "{sign}{}", units / unit);
    if decimals > 0 {
        // The remainder is below 10¹⁷, so 64 bits hold it.
        let _ = write!(out, ".{:0decimals$}", (units % unit) as u64);
    }
}

/// Appends `value` as Redis writes a coordinate: with seventeen decimals, without trailing zeros.
pub fn format_decimal(value: f64, out: &mut Vec<u8>) {
    let start = out.len();
    format_fixed(value, MAX_DECIMALS, out);
    super::trim_fraction(start, out);
    if &out[start..] == b"-0" {
        out.remove(start);
    }
}

/// The magnitude in units of the last decimal. Returns `None` if the value is too large for this arithmetic.
fn scaled(value: f64, decimals: usize) -> Option<u128> {
    let bits = value.to_bits();
    let exponent = (bits >> FRACTION_BITS & 0x7ff) as i64;
    if decimals > MAX_DECIMALS || exponent >= EXPONENT_BIAS {
        return None;
    }
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    let (mantissa, exponent) =
        if exponent == 0 { (fraction, 1) } else { (fraction | 1 << FRACTION_BITS, exponent) };
    let units = u128::from(mantissa) * 10_u128.pow(decimals as u32);
    Some(round_shift(units, false, EXPONENT_BIAS - exponent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fixed(value: f64, decimals: usize) -> String {
        let mut out = Vec::new();
        format_fixed(value, decimals, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn decimal(value: f64) -> String {
        let mut out = b"x".to_vec();
        format_decimal(value, &mut out);
        String::from_utf8(out.split_off(1)).unwrap()
    }

    #[test]
    fn ties_go_to_even() {
        for (value, expected) in [(0.125, "0.12"), (0.375, "0.38"), (2.5, "2.50"), (-0.125, "-0.12")] {
            assert_eq!(fixed(value, 2), expected);
        }
        assert_eq!((fixed(0.5, 0), fixed(1.5, 0), fixed(2.5, 0)), ("0".into(), "2".into(), "2".into()));
    }

    #[test]
    fn coordinates_are_those_of_the_real_server() {
        for (value, expected) in [
            (15.087_267_458_438_873, "15.08726745843887329"),
            (37.502_668_423_331_62, "37.50266842333162032"),
            (-85.051_127_512_639_43, "-85.05112751263942528"),
            (85.051_128_78, "85.0511287799999991"),
            (180.0, "180"),
            (0.0, "0"),
            (-0.0, "0"),
            (-1e-30, "0"),
            (1e-17, "0.00000000000000001"),
        ] {
            assert_eq!(decimal(value), expected);
        }
    }

    #[test]
    fn distances_are_rounded_as_by_the_real_server() {
        let distance = |value: f64| {
            let mut out = Vec::new();
            format_distance(value, &mut out);
            String::from_utf8(out).unwrap()
        };
        for (value, expected) in [
            (0.0, "0.0000"),
            (0.000_05, "0.0000"),
            (166_274.151_569_600_33, "166274.1516"),
            // The exact value is slightly more than half, until it is multiplied.
            (505_168.626_05, "505168.6260"),
            (20_015_113.432_1, "20015113.4321"),
            (-1.5, "-1.5000"),
        ] {
            assert_eq!(distance(value), expected);
        }
        assert_eq!((distance(1e300), distance(f64::INFINITY)), (format!("{:.4}", 1e300), "inf".to_string()));
    }

    #[test]
    fn what_has_no_decimals_is_written_too() {
        assert_eq!(fixed(1e300, 4), format!("{:.4}", 1e300));
        assert_eq!((fixed(f64::INFINITY, 4), fixed(f64::NEG_INFINITY, 6)), ("inf".into(), "-inf".into()));
    }

    proptest! {
        #[test]
        fn is_what_the_standard_library_writes(bits: u64, decimals in 0_usize..20) {
            let value = f64::from_bits(bits);
            prop_assume!(!value.is_nan());
            prop_assert_eq!(fixed(value, decimals), format!("{value:.decimals$}"));
        }

        #[test]
        fn is_so_for_distances(value in 0.0..3e7_f64, decimals in 0_usize..20) {
            prop_assert_eq!(fixed(value, decimals), format!("{value:.decimals$}"));
        }
    }
}

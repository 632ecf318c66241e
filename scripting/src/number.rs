//! Numbers as text: what a script's number is as an argument of a command, and a double in a reply.
//!
//! Redis 7.2 writes whole numbers below 2^62 as integers and all others in the fewest digits that read back the same,
//! in the form that its `fpconv` gives them; both were read off a running server.

use std::io::Write;

/// Space for any number.
pub(crate) const MAX_LEN: usize = 40;

/// The text of a number as a command's argument, appended to `out`.
pub(crate) fn write_argument(out: &mut Vec<u8>, value: f64) {
    match as_integer(value) {
        Some(integer) => push(out, format_args!("{integer}")),
        None if value.is_nan() => {
            out.extend_from_slice(if value.is_sign_negative() { b"-nan" } else { b"nan" })
        }
        None => write_shortest(out, value),
    }
}

/// The text of a double in a reply, appended to `out`: as an argument, but negative zero and nan as they are there.
pub(crate) fn write_double(out: &mut Vec<u8>, value: f64) {
    if value == 0.0 && value.is_sign_negative() {
        out.extend_from_slice(b"-0");
    } else if value.is_nan() {
        out.extend_from_slice(b"nan");
    } else {
        write_argument(out, value);
    }
}

fn as_integer(value: f64) -> Option<i64> {
    const LIMIT: f64 = (1_i64 << 62) as f64;
    (value.abs() <= LIMIT && value.trunc() == value).then_some(value as i64)
}

fn push(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a vector does not fail.
    out.write_fmt(text).ok();
}

fn write_shortest(out: &mut Vec<u8>, value: f64) {
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if value.is_infinite() {
        return out.extend_from_slice(b"inf");
    }
    let text = format!("{:e}", value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    let count = digits.len() as i32;
    // The value is 0.DIGITS times ten to the power of `point`.
    let point = exponent + 1;
    if point >= count && exponent < count + 7 {
        out.extend_from_slice(&digits);
        out.resize(out.len() + (point - count) as usize, b'0');
    } else if point < count && (point - count > -7 || exponent.abs() < 4) {
        write_fraction(out, &digits, point);
    } else {
        write_scientific(out, &digits, exponent);
    }
}

fn write_fraction(out: &mut Vec<u8>, digits: &[u8], point: i32) {
    if point <= 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + point.unsigned_abs() as usize, b'0');
        out.extend_from_slice(digits);
    } else {
        let (whole, fraction) = digits.split_at(point as usize);
        out.extend_from_slice(whole);
        out.push(b'.');
        out.extend_from_slice(fraction);
    }
}

fn write_scientific(out: &mut Vec<u8>, digits: &[u8], exponent: i32) {
    let (first, rest) = digits.split_at(1);
    out.extend_from_slice(first);
    if !rest.is_empty() {
        out.push(b'.');
        out.extend_from_slice(rest);
    }
    push(out, format_args!("e{exponent:+}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argument(value: f64) -> String {
        let mut out = Vec::new();
        write_argument(&mut out, value);
        assert!(out.len() <= MAX_LEN);
        String::from_utf8(out).unwrap()
    }

    /// Each read off a server of Redis 7.2's kind: `return redis.call('echo', n)`.
    #[test]
    fn arguments_are_those_of_redis() {
        for (value, text) in [
            (3.5, "3.5"),
            (3.0, "3"),
            (-0.0, "0"),
            (0.1, "0.1"),
            (1.0 / 3.0, "0.3333333333333333"),
            (1e15, "1000000000000000"),
            (1e17, "100000000000000000"),
            (1e19, "1e+19"),
            (1e20, "1e+20"),
            (1.5e20, "1.5e+20"),
            (1.234_567_890_123_456_7e21, "1234567890123456800000"),
            (1e100, "1e+100"),
            (1.5e300, "1.5e+300"),
            (1e-3, "0.001"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (1.5e-7, "1.5e-7"),
            (1.25e-5, "1.25e-5"),
            (1e-10, "1e-10"),
            (123_456.789, "123456.789"),
            (9_007_199_254_740_994.0, "9007199254740994"),
            (4_611_686_018_427_387_904.0, "4611686018427387904"),
            (9_223_372_036_854_775_808.0, "9223372036854776000"),
            (-9_223_372_036_854_775_808.0, "-9223372036854776000"),
            (18_446_744_073_709_551_616.0, "18446744073709552000"),
            (9_223_372_036_854_774_784.0, "9223372036854775000"),
            (12_345_678_901_234_567_890.0, "12345678901234567000"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN.copysign(-1.0), "-nan"),
            (f64::NAN.copysign(1.0), "nan"),
        ] {
            assert_eq!(argument(value), text);
        }
    }

    #[test]
    fn doubles_in_replies_differ_at_zero_and_nan() {
        for (value, text) in [(-0.0, "-0"), (0.0, "0"), (f64::NAN.copysign(-1.0), "nan"), (1e8, "100000000")]
        {
            let mut out = Vec::new();
            write_double(&mut out, value);
            assert_eq!(out, text.as_bytes());
        }
    }

    proptest::proptest! {
        #[test]
        fn every_number_reads_back(bits: u64) {
            let value = f64::from_bits(bits);
            if value.is_finite() {
                proptest::prop_assert_eq!(argument(value).parse::<f64>().unwrap(), value);
            }
        }
    }
}

//! A script's number as an argument of a command.

use lockwheel_resp::number::format_double;

/// The room for the text of any number.
pub(crate) const MAX_LEN: usize = 40;

/// Appends the text of a number as Redis 7.2 passes it to a command. The text is that of a double in a reply, except
/// for the sign of zero and of NaN.
pub(crate) fn write_argument(value: f64, out: &mut Vec<u8>) {
    if value == 0.0 {
        out.push(b'0');
    } else if value.is_nan() && value.is_sign_negative() {
        out.extend_from_slice(b"-nan");
    } else {
        format_double(value, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each text is that of a server of Redis 7.2's kind for `return redis.call('echo', n)`.
    #[test]
    fn arguments_are_those_of_redis() {
        for (value, text) in [
            (3.0, "3"),
            (3.5, "3.5"),
            (0.0, "0"),
            (-0.0, "0"),
            (1e17, "100000000000000000"),
            (1e19, "1e+19"),
            (1e-7, "1e-7"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN.copysign(-1.0), "-nan"),
            (f64::NAN.copysign(1.0), "nan"),
        ] {
            let mut out = Vec::new();
            write_argument(value, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    proptest::proptest! {
        #[test]
        fn there_is_space_for_every_number(bits: u64) {
            let mut out = Vec::new();
            write_argument(f64::from_bits(bits), &mut out);
            proptest::prop_assert!(out.len() <= MAX_LEN);
        }
    }
}

//! Tests of texts of numbers against Redis and the standard library.

use super::*;
use proptest::prelude::*;

fn double(value: f64) -> String {
    let mut out = Vec::new();
    format_double(value, &mut out);
    String::from_utf8(out).unwrap()
}

fn general(value: f64, precision: usize) -> String {
    let mut out = Vec::new();
    format_g(value, precision, &mut out);
    String::from_utf8(out).unwrap()
}

fn integer(value: i64) -> String {
    let mut out = Vec::new();
    write_i64(value, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn integers_have_one_form() {
    for (text, value) in [
        ("0", 0),
        ("7", 7),
        ("-1", -1),
        ("1234567890123456789", 1_234_567_890_123_456_789),
        ("9223372036854775807", i64::MAX),
        ("-9223372036854775808", i64::MIN),
    ] {
        assert_eq!(parse_i64(text.as_bytes()), Some(value));
        assert_eq!(integer(value), text);
    }
    for text in [
        "",
        "-",
        "-0",
        "00",
        "01",
        "+1",
        " 1",
        "1 ",
        "1.0",
        "1e3",
        "0x1",
        "--1",
        "a",
        "1a",
        "-01",
        "\0",
        "1\0",
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551616",
        "99999999999999999999",
        "123456789012345678901",
    ] {
        assert_eq!(parse_i64(text.as_bytes()), None, "{text:?}");
    }
}

#[test]
fn doubles_are_read_as_redis_reads_scores() {
    // Each text was given to redis-server 7.0.15 as a score.
    for (text, value) in [
        ("1", 1.0),
        ("+1", 1.0),
        ("01", 1.0),
        ("-0", -0.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.5", -0.5),
        ("1E+5", 1e5),
        ("1e-5", 1e-5),
        ("0x10", 16.0),
        ("0X1p4", 16.0),
        ("-0x1.8", -1.5),
        ("+0x.8", 0.5),
        ("0x1.p1", 2.0),
        ("0x0", 0.0),
        ("0x1fffffffffffff8p0", 0x1ff_ffff_ffff_fff8_u64 as f64),
        ("0x1p-1074", 5e-324),
        ("0x1.8p-1074", 1e-323),
        ("0x1.fffffffffffffp1023", f64::MAX),
        ("0x0.00000000000000000000001p92", 1.0),
        ("0x10000000000000000000000p-88", 1.0),
        ("inf", f64::INFINITY),
        ("+INFINITY", f64::INFINITY),
        ("-Inf", f64::NEG_INFINITY),
        ("4.9e-324", 5e-324),
        ("0e0", 0.0),
        ("0e999999999999", 0.0),
    ] {
        let read = parse_f64(text.as_bytes()).unwrap_or_else(|| panic!("{text:?}"));
        assert_eq!(read.to_bits(), value.to_bits(), "{text:?}");
    }
}

#[test]
fn what_redis_refuses_as_a_score_is_no_double() {
    // Each text was given to redis-server 7.0.15 as a score.
    for text in [
        "",
        ".",
        "+",
        "-",
        "1e",
        "1e+",
        "0x",
        "0x.",
        "0x1p",
        "0x1p+",
        "infinit",
        "infx",
        "nan",
        "NaN",
        "-nan",
        "nan(1)",
        " 1",
        "1 ",
        "\t1",
        "1\n",
        "abc",
        "1a",
        "1_000",
        "1,5",
        "1\0",
        "\0",
        "--1",
        "+-1",
        "1e5.5",
        "0xinf",
        "1e400",
        "-1e400",
        "1e-400",
        "2e-324",
        "0x1p1024",
        "0x1.fffffffffffff8p1023",
        "0x1p-1075",
        "0x1p-99999999999999999999",
        "1.7976931348623159e308",
    ] {
        assert_eq!(parse_f64(text.as_bytes()), None, "{text:?}");
    }
    assert_eq!(parse_f64(b"1\xff"), None);
}

#[test]
fn doubles_are_written_as_redis_writes_scores() {
    // The file has doubles as bits, and the text that valkey-server replied for each as a score; its texts are those of
    // Redis 7.2. For some forty numbers that is not the shortest text.
    let golden = include_str!("golden/doubles.txt");
    assert!(golden.lines().count() >= 340);
    for line in golden.lines() {
        let (bits, text) = line.split_once(' ').unwrap();
        let value = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
        assert_eq!(double(value), text, "{bits}");
    }
    for (value, text) in [
        (0.0, "0"),
        (-0.0, "-0"),
        (1e15, "1000000000000000"),
        (4_611_686_018_427_387_904.0, "4611686018427387904"),
        (-4_611_686_018_427_387_904.0, "-4611686018427387904"),
        (4_611_686_018_427_388_928.0, "4611686018427389000"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1e20, "1e+20"),
        (1e300, "1e+300"),
        (5e-324, "5e-324"),
        (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
        (f64::MIN_POSITIVE.next_down(), "2.225073858507201e-308"),
        (f64::MAX, "1.7976931348623157e+308"),
        (f64::INFINITY, "inf"),
        (f64::NEG_INFINITY, "-inf"),
        (f64::NAN, "nan"),
        (-f64::NAN, "nan"),
    ] {
        assert_eq!(double(value), text);
    }
}

#[test]
fn general_format_is_that_of_c() {
    for (value, precision, text) in [
        (0.0, 14, "0"),
        (-0.0, 14, "-0"),
        (0.1 + 0.2, 14, "0.3"),
        (0.1 + 0.2, 17, "0.30000000000000004"),
        (3.0, 14, "3"),
        (1e14, 14, "1e+14"),
        (123_456_789_012_345.0, 14, "1.2345678901234e+14"),
        (99_999_999_999_999.9, 14, "1e+14"),
        (1e15, 17, "1000000000000000"),
        (1e17, 17, "1e+17"),
        (0.0001, 14, "0.0001"),
        (0.00001, 14, "1e-05"),
        (1e-5, 17, "1.0000000000000001e-05"),
        (2.5, 1, "2"),
        (3.5, 0, "4"),
        (1e300, 14, "1e+300"),
        (5e-324, 17, "4.9406564584124654e-324"),
        (f64::INFINITY, 14, "inf"),
        (f64::NEG_INFINITY, 14, "-inf"),
        (f64::NAN.copysign(1.0), 14, "nan"),
        (f64::NAN.copysign(-1.0), 14, "-nan"),
    ] {
        assert_eq!(general(value, precision), text);
    }
}

#[test]
fn sums_are_those_of_incrbyfloat() {
    // Two arguments, and the result of SET with the first and INCRBYFLOAT with the second on redis-server 7.0.15 on
    // x86-64.
    let golden = include_str!("golden/sums.txt");
    assert!(golden.lines().count() >= 400);
    for line in golden.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let sum = match add_decimal(words[0].as_bytes(), words[1].as_bytes()) {
            Ok(sum) => sum,
            Err(error) => format!("{error:?}"),
        };
        assert_eq!(sum, words[2], "{line}");
    }
}

#[test]
fn sums_at_the_edges_are_those_of_incrbyfloat() {
    let (zeros, digits) = ("0".repeat(5118), "1".repeat(5110));
    let largest = format!("1{}", "0".repeat(4932));
    for (a, b, sum) in [
        ("1", "-1", Ok("0")),
        ("-0", "-0", Ok("0")),
        ("-4e-18", "0", Ok("0")),
        ("-6e-18", "0", Ok("-0.00000000000000001")),
        ("0.5e-17", "0", Ok("0")),
        ("1e18", "0.5", Ok("1000000000000000000.5")),
        ("9223372036854775807", "1", Ok("9223372036854775808")),
        ("18446744073709551615", "0.4", Ok("18446744073709551615")),
        ("18446744073709551615", "0.5", Ok("18446744073709551616")),
        ("0", "3.7e-4951", Ok("0")),
        ("0", "0x1p-16445", Ok("0")),
        ("0", "0e99999999999999999999", Ok("0")),
        ("0", &format!("{zeros}1"), Ok("1")),
        ("0", &format!("{zeros}01"), Err(DecimalError::NotAFloat)),
        ("0", &digits, Err(DecimalError::NotAFloat)),
        ("0", &largest, Ok("")),
        ("0", "1.19e4932", Err(DecimalError::NotAFloat)),
        ("0", "1e5000", Err(DecimalError::NotAFloat)),
        ("0", "1e-4951", Err(DecimalError::NotAFloat)),
        ("0", "1e-99999999999999999999", Err(DecimalError::NotAFloat)),
        ("0", "0x1p16384", Err(DecimalError::NotAFloat)),
        ("0", "0x1p-16446", Err(DecimalError::NotAFloat)),
        ("1 ", "1", Err(DecimalError::NotAFloat)),
        ("1", "nan", Err(DecimalError::NotAFloat)),
        ("", "1", Err(DecimalError::NotAFloat)),
        ("1\0", "1", Err(DecimalError::NotAFloat)),
        ("inf", "-inf", Err(DecimalError::NotFinite)),
        ("0", "+Infinity", Err(DecimalError::NotFinite)),
        ("1.1e4932", "1.1e4932", Err(DecimalError::NotFinite)),
    ] {
        let got = add_decimal(a.as_bytes(), b.as_bytes());
        if sum == Ok("") {
            let got = got.unwrap();
            assert!(got.len() == 4933 && got.starts_with("100000000000000000000601894938"));
            continue;
        }
        assert_eq!(got.as_deref().map_err(|error| *error), sum, "{:.40} + {:.40}", a, b);
    }
}

proptest! {
    #[test]
    fn integers_read_back(value in any::<i64>(), shift in 0..64_u32) {
        let value = value >> shift;
        prop_assert_eq!(integer(value), value.to_string());
        prop_assert_eq!(parse_i64(value.to_string().as_bytes()), Some(value));
    }

    #[test]
    fn integers_are_read_if_and_only_if_they_have_their_form(text in "-?[0-9]{0,21}|[-+ 0-9a]{0,6}") {
        let value = text.parse::<i64>().ok().filter(|value| value.to_string() == text);
        prop_assert_eq!(parse_i64(text.as_bytes()), value);
    }

    #[test]
    fn doubles_read_back(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        prop_assume!(!value.is_nan());
        let text = double(value);
        prop_assert!(text.len() <= 25);
        prop_assert_eq!(parse_f64(text.as_bytes()).map(f64::to_bits), Some(bits));
        prop_assert_eq!(parse_f64(general(value, 17).as_bytes()).map(f64::to_bits), Some(bits));
    }

    #[test]
    fn small_sums_are_exact(
        a in -1_000_000_000_000_i64..1_000_000_000_000,
        b in -1_000_000_000_000_i64..1_000_000_000_000,
    ) {
        // In thousandths: with 40 bits before the point, the sum is exact to far smaller units.
        let text = |value: i64| {
            let sign = if value < 0 { "-" } else { "" };
            format!("{sign}{}.{:03}", value.abs() / 1000, value.abs() % 1000)
        };
        let sum = add_decimal(text(a).as_bytes(), text(b).as_bytes()).unwrap();
        prop_assert_eq!((sum.parse::<f64>().unwrap() * 1000.0).round() as i64, a + b);
        let integers = add_decimal(a.to_string().as_bytes(), b.to_string().as_bytes()).unwrap();
        prop_assert_eq!(integers, (a + b).to_string());
        prop_assert_eq!(add_decimal(text(a).as_bytes(), text(-a).as_bytes()).unwrap(), "0");
    }

    #[test]
    fn no_text_of_a_number_panics(
        text in "[-+.0-9a-fA-FxXpPeEin]{0,60}",
        other in "-?[0-9]{0,30}[.]?[0-9]{0,30}(e-?[0-9]{1,4})?",
    ) {
        let _ = parse_f64(text.as_bytes());
        let _ = add_decimal(text.as_bytes(), other.as_bytes());
    }
}

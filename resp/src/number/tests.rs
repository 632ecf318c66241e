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

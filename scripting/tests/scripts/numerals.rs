//! Tests that long texts of numbers are read like short ones, and that long chunks are read correctly.

use crate::mock::Bench;
use proptest::prelude::*;

/// The exact result of `tonumber` for a text. `None` for nil.
fn number(text: &str, base: &str) -> Option<f64> {
    let mut bench = Bench::default();
    let script = format!("local n = tonumber(ARGV[1]{base}) return n and string.format('%.17g', n)");
    let reply = bench.eval_with(&script, &[], &[text.as_bytes()]);
    let digits = reply.split("\\r\\n").nth(1).filter(|digits| !digits.is_empty());
    digits.map(|digits| digits.parse().unwrap())
}

#[test]
fn long_numerals_are_those_of_the_short_ones() {
    let zeros = "0".repeat(10_000);
    let spaces = " ".repeat(10_000);
    let ones = "1".repeat(10_000);
    for (text, value) in [
        (format!("{zeros}12"), Some(12.0)),
        (format!("-{zeros}12"), Some(-12.0)),
        (format!("+{zeros}"), Some(0.0)),
        (format!("{spaces}12{spaces}"), Some(12.0)),
        (spaces.clone(), None),
        (format!("{spaces}-"), None),
        (format!("{spaces}inf"), Some(f64::INFINITY)),
        (format!("-inf{spaces}"), Some(f64::NEG_INFINITY)),
        (format!("{spaces}.5"), Some(0.5)),
        (format!("{spaces}."), None),
        (format!("{spaces}5."), Some(5.0)),
        (format!("1{zeros}"), Some(f64::INFINITY)),
        (format!("1{zeros}e-10000"), Some(1.0)),
        (format!("1{zeros}e-9998x"), None),
        (format!("1{zeros}e"), None),
        (format!("1{zeros}e+"), None),
        (format!("0.{zeros}1"), Some(0.0)),
        (format!("0.{zeros}25e10000"), Some(0.25)),
        (format!("1e{zeros}2"), Some(100.0)),
        (format!("1e-{zeros}2"), Some(0.01)),
        (format!("1e{ones}"), Some(f64::INFINITY)),
        (format!("1e-{ones}"), Some(0.0)),
        (format!("1.5{zeros}1"), Some(1.5)),
        // The number half way between two doubles, and one just above it.
        (format!("9007199254740993.{zeros}"), Some(9007199254740992.0)),
        (format!("9007199254740993.{zeros}1"), Some(9007199254740994.0)),
        (format!("0x{zeros}ff"), Some(255.0)),
        (format!("0X1{zeros}p-40000"), Some(1.0)),
        (format!("0x.{zeros}8p40000"), Some(0.5)),
        (format!("0x{spaces}"), None),
        (format!("{ones}.1.1"), None),
        (format!("12{spaces}3"), None),
        (format!("12\0{spaces}3"), Some(12.0)),
    ] {
        assert_eq!(number(&text, ""), value, "{}", text.replace(&zeros, "Z").replace(&spaces, "S"));
    }
}

#[test]
fn long_numbers_of_another_base_are_those_of_the_short_ones() {
    let (zeros, spaces, most) = ("0".repeat(10_000), " ".repeat(10_000), u64::MAX as f64);
    for (text, base, value) in [
        (format!("{zeros}ff"), ", 16", Some(255.0)),
        (format!("0x{zeros}ff"), ", 16", Some(255.0)),
        (format!("{spaces}zz{spaces}"), ", 36", Some(1295.0)),
        (format!("{spaces}2"), ", 2", None),
        (spaces.clone(), ", 2", None),
        (format!("1{zeros}"), ", 2", Some(most)),
        (format!("-1{zeros}"), ", 2", Some(most)),
        (format!("-{zeros}1"), ", 2", Some(most)),
        (format!("{zeros}7 7"), ", 8", None),
    ] {
        assert_eq!(number(&text, base), value, "{}", text.replace(&zeros, "Z").replace(&spaces, "S"));
        let short = text.replace(&zeros, &zeros[..100]).replace(&spaces, "  ");
        assert_eq!(number(&short, base), value, "and so does the C library: {short}");
    }
}

proptest! {
    #[test]
    fn long_decimals_are_read_to_the_last_bit(
        start in "[0-9]{1,20}",
        digit in "[0-9]",
        count in 4100_usize..6000,
        end in "[0-9]{0,20}",
        dot in 0_usize..6000,
        exponent in -6500_i32..300,
    ) {
        let mut text = format!("{start}{}{end}", digit.repeat(count));
        text.insert(dot.min(text.len()), '.');
        text.push_str(&format!("e{exponent}"));
        prop_assert_eq!(number(&text, ""), Some(text.parse().unwrap()));
    }
}

#[test]
fn chunks_are_whole_whatever_the_pieces() {
    let mut bench = Bench::default();
    for len in [4090, 4095, 4096, 4097, 8191, 8192, 8193, 100_000] {
        let script = format!(
            "local text = 'return \"' .. string.rep('x', {len} - 9) .. '\"' assert(#text == {len}) \
             local at, pieces = 0, 0 \
             local function piece() at = at + 5000 pieces = pieces + 1 \
             local p = text:sub(at - 4999, at) if p ~= '' then return p end end \
             return {{#loadstring(text)(), #load(piece)(), #loadstring(text .. ' ')(), \
             loadstring(text .. ' x') and 1 or 0}}"
        );
        let inner = len - 9;
        let expected = format!("*4\\r\\n:{inner}\\r\\n:{inner}\\r\\n:{inner}\\r\\n:0\\r\\n");
        assert_eq!(bench.eval(&script), expected);
    }
}

//! `cjson` at random.

use crate::libraries::describe::{DESCRIBE, mutate, value};
use crate::libraries::trial::{Script, compare};
use lockwheel_tests::rng::Rng;

/// The settings that scripts make. They stay for the next script.
const SETTINGS: &[&str] = &[
    "cjson.encode_number_precision(3)",
    "cjson.encode_number_precision(14)",
    "cjson.encode_number_precision(15)",
    "cjson.encode_sparse_array(true)",
    "cjson.encode_sparse_array(false)",
    "cjson.encode_sparse_array(true, 1, 3)",
    "cjson.encode_sparse_array('off', 2, 10)",
    "cjson.encode_sparse_array(true, 2, -1)",
    "cjson.encode_invalid_numbers('on')",
    "cjson.encode_invalid_numbers('null')",
    "cjson.encode_invalid_numbers(false)",
    "cjson.encode_max_depth(2)",
    "cjson.encode_max_depth(1000)",
    "cjson.decode_max_depth(2)",
    "cjson.decode_max_depth(1000)",
    "cjson.decode_invalid_numbers(false)",
    "cjson.decode_invalid_numbers(true)",
    "cjson.encode_keep_buffer(false)",
];

fn settings(rng: &mut Rng) -> &'static str {
    if rng.chance(8) { rng.pick::<&'static str>(SETTINGS) } else { "" }
}

#[test]
fn values_are_encoded_as_by_redis() {
    compare(3000, |rng| {
        let (set, value) = (settings(rng), value(rng, 4));
        let text = match rng.below(12) {
            // With any ratio, holes are filled with null up to the largest index.
            0 => "cjson.encode_sparse_array(false, 0) local ok, text = pcall(cjson.encode, {[30] = 1}) \
                  cjson.encode_sparse_array(false, 2) return text"
                .to_owned(),
            1..=6 => format!("{set} return cjson.encode({value})"),
            7..=8 => {
                let set = set.replace("cjson", "c");
                format!("local c = cjson.new() {set} return c.encode({value})")
            }
            _ => format!("{set} return cjson.encode(cjson.decode(cjson.encode({value})))"),
        };
        Script::new(text, "")
    });
}

/// A number in the notation of JSON, and in notations that only C parses.
fn number(rng: &mut Rng) -> String {
    const ODD: &[&str] = &[
        "0x10",
        "-0x1p-3",
        "0x.8",
        "0x",
        "0x1p",
        "0xg",
        "nan",
        "-NaN",
        "nan(ab_1)",
        "nan(",
        "inf",
        "-Infinity",
        "+1",
        "+inf",
        "infinit",
        "01",
        "-",
        "--1",
        "1e",
        "1e+",
        "1.",
        "-.5",
        "1e5",
        "1E-5",
        "1e400",
        "-1e400",
        "1e-400",
        "0x1p5000",
        "0x1p-5000",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "4.9e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "9007199254740993",
        "0x1.fffffffffffff8p0",
        "0x1.fffffffffffff7fffffffffp0",
        "0x0.0000000000000000001p-1000",
        "1e00000000000000000000001",
    ];
    match rng.below(6) {
        0 => (*rng.pick(ODD)).to_owned(),
        1 => format!("{:e}", f64::from_bits(rng.next_u64())),
        2 => format!("0x{:x}.{:x}p{}", rng.next_u64(), rng.next_u64(), rng.below(3000) as i64 - 1500),
        3 => format!("{}.{}e{}", rng.next_u64(), rng.next_u64(), rng.below(700) as i64 - 350),
        4 => format!("{}{}", "1".repeat(rng.below(1200)), "0".repeat(rng.below(900))),
        _ => format!("{}", rng.next_u64() as i32),
    }
}

fn string(rng: &mut Rng) -> String {
    const PARTS: &[&str] = &[
        "a",
        "é",
        "/",
        "\\/",
        "\\n",
        "\\\"",
        "\\\\",
        "\\u0041",
        "\\u00e9",
        "\\u20AC",
        "\\ud83d\\ude00",
        "\\u0000",
        "\\b\\f\\r\\t",
        "x y",
        "\\ud800",
        "\\udc00",
        "\\ud83d\\u0041",
        "\\u12",
        "\\x",
        "\u{7f}",
        "1",
    ];
    let parts: String = (0..rng.below(5)).map(|_| *rng.pick(PARTS)).collect();
    format!("\"{parts}\"")
}

fn json(rng: &mut Rng, depth: usize) -> String {
    let space = *rng.pick(&["", "", "", " ", "\n\t\r "]);
    let text = match rng.below(if depth == 0 { 4 } else { 7 }) {
        0 => number(rng),
        1 | 2 => string(rng),
        3 => (*rng.pick(&["null", "true", "false", "nul", "TRUE"])).to_owned(),
        4 | 5 => {
            let items: Vec<_> = (0..rng.below(6)).map(|_| json(rng, depth - 1)).collect();
            format!("[{}]", items.join(","))
        }
        _ => {
            let field = |rng: &mut Rng| format!("{}{space}:{}", string(rng), json(rng, depth - 1));
            let fields: Vec<_> = (0..rng.below(6)).map(|_| field(rng)).collect();
            format!("{{{}}}", fields.join(","))
        }
    };
    format!("{space}{text}{space}")
}

#[test]
fn texts_are_decoded_as_by_redis() {
    compare(4000, |rng| {
        let set = settings(rng);
        let set = if set.contains("decode") { set } else { "" };
        let mut text = json(rng, 4).into_bytes();
        if rng.chance(40) {
            mutate(rng, &mut text, b"[]{}:,\"\\ \n01-+.eEuxXaAnNiItf/\0");
        }
        let end = *rng.pick(&["d(cjson.decode(ARGV[1]))", "d({pcall(cjson.decode, ARGV[1])})"]);
        Script::new(format!("{set} {DESCRIBE} return {end}"), text)
    });
}

#[test]
fn numbers_are_read_as_by_c() {
    compare(3000, |rng| Script::new(format!("{DESCRIBE} return d(cjson.decode(ARGV[1]))"), number(rng)));
}

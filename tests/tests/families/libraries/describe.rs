//! Lua values: their generation and their description.

use lockwheel_tests::rng::Rng;

/// A function `d` that describes a value with all its contents, in the order of `pairs`, and the border of each table.
/// The order of keys that are tables is that of their addresses.
pub(crate) const DESCRIBE: &str = "local function d(v) local t = type(v) \
    if t == 'number' then return string.format('%.17g', v) elseif t ~= 'table' then return t .. tostring(v) end \
    local o, any = {}, false for k, x in pairs(v) do o[#o + 1] = d(k) .. '=' .. d(x) \
    any = any or type(k) == 'table' end \
    if any then table.sort(o) end \
    return '{' .. #v .. ':' .. table.concat(o, ',') .. '}' end ";

const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "3",
    "10",
    "11",
    "31",
    "32",
    "-32",
    "-33",
    "127",
    "128",
    "-128",
    "-129",
    "255",
    "256",
    "1.5",
    "-2.5",
    "0.1",
    "1/3",
    "1e14",
    "1e15",
    "123456789012345",
    "99999999999999",
    "65535",
    "65536",
    "-32768",
    "-32769",
    "2^31",
    "2^31-1",
    "-2^31",
    "-2^31-1",
    "2^32",
    "2^32-1",
    "2^33",
    "2^51",
    "2^52+0.5",
    "2^53",
    "2^53+2",
    "-2^53",
    "2^63",
    "-2^63",
    "2^64",
    "1e300",
    "-1e300",
    "1e-5",
    "1e-4",
    "5e-324",
    "1e-300",
    "1/0",
    "-1/0",
    "0/0",
    "-(0/0)",
    "3.4028234663852886e38",
    "1.401298464324817e-45",
];

/// A number, as Lua's source.
pub(crate) fn number(rng: &mut Rng) -> String {
    match rng.below(6) {
        0 => format!("{}", rng.below(100) as i64 - 50),
        1 => format!("{:e}", f64::from_bits(rng.next_u64())).replace("NaN", "(0/0)").replace("inf", "(1/0)"),
        2 => format!("{}", f64::from(rng.next_u64() as i32) / f64::from(1 << rng.below(20))),
        3 => format!("{}", rng.next_u64() as i64 >> rng.below(64)),
        _ => (*rng.pick(NUMBERS)).to_owned(),
    }
}

/// A string, as Lua's source.
pub(crate) fn string(rng: &mut Rng) -> String {
    const WORDS: &[&str] =
        &["", "a", "key", "1", "2", "-1", "1.5", "0x1", " 1 ", "inf", "a/b", "x\\\"y", "_NAME"];
    if rng.chance(60) {
        return format!("\"{}\"", rng.pick(WORDS));
    }
    let len = if rng.chance(5) { rng.below(300) } else { rng.below(12) };
    let bytes: String = (0..len).map(|_| format!("\\{:03}", rng.below(256))).collect();
    format!("\"{bytes}\"")
}

/// A value, nested no deeper than `depth`.
pub(crate) fn value(rng: &mut Rng, depth: usize) -> String {
    match rng.below(if depth == 0 { 5 } else { 9 }) {
        0 | 1 => number(rng),
        2 | 3 => string(rng),
        4 => (*rng.pick(&["nil", "true", "false", "cjson.null", "pairs", "true", "false"])).to_owned(),
        _ => table(rng, depth - 1),
    }
}

/// A table: an array, one with holes, an object, or all together.
pub(crate) fn table(rng: &mut Rng, depth: usize) -> String {
    if rng.chance(6) {
        // The key's address decides its position among others.
        return format!("{{[{}]={}}}", rng.pick(&["true", "{}", "pairs", "{7}"]), value(rng, depth));
    }
    let kind = rng.below(4);
    let len = if rng.chance(8) { rng.below(40) } else { rng.below(6) };
    let items: Vec<String> = (0..len)
        .map(|_| match kind {
            0 => value(rng, depth),
            1 => format!("[{}]={}", rng.below(1 + 3 * len), value(rng, depth)),
            2 => format!("[{}]={}", string(rng), value(rng, depth)),
            _ => match rng.below(8) {
                0 => format!(
                    "[{}]={}",
                    number(rng).replace("(0/0)", "8").replace("0/0", "9"),
                    value(rng, depth)
                ),
                1 => format!("[{}]={}", rng.pick(&["true", "false"]), value(rng, depth)),
                2 | 3 => value(rng, depth),
                _ => format!("[{}]={}", string(rng), value(rng, depth)),
            },
        })
        .collect();
    format!("{{{}}}", items.join(","))
}

/// Changes some bytes of a text.
pub(crate) fn mutate(rng: &mut Rng, text: &mut Vec<u8>, alphabet: &[u8]) {
    for _ in 0..rng.below(4) {
        let at = rng.below(text.len() + 1);
        let byte = if rng.chance(80) { *rng.pick(alphabet) } else { rng.below(256) as u8 };
        match rng.below(4) {
            0 => text.insert(at, byte),
            1 if at < text.len() => text[at] = byte,
            2 if at < text.len() => {
                text.remove(at);
            }
            _ => text.truncate(at),
        }
    }
}

//! Random tests of `bit`, and of Lua's own libraries on numbers.

use crate::libraries::describe::{DESCRIBE, number, string};
use crate::libraries::trial::{Script, compare};
use lockwheel_tests::rng::Rng;

fn argument(rng: &mut Rng) -> String {
    match rng.below(12) {
        0 => string(rng),
        1 => (*rng.pick(&["nil", "true", "{}", "'0x1F'", "'12'", "'1e3'", "cjson.null"])).to_owned(),
        2 | 3 => format!("{}", rng.below(80) as i64 - 40),
        _ => number(rng),
    }
}

#[test]
fn bit_operations_give_the_results_of_redis() {
    const NAMES: &[&str] = &[
        "tobit", "tohex", "bnot", "band", "bor", "bxor", "lshift", "rshift", "arshift", "rol", "ror", "bswap",
    ];
    compare(4000, |rng| {
        let count = if rng.chance(10) { rng.below(6) } else { 1 + rng.below(3) };
        let list: Vec<_> = (0..count).map(|_| argument(rng)).collect();
        Script::new(format!("{DESCRIBE} return d(bit.{}({}))", rng.pick(NAMES), list.join(", ")), "")
    });
}

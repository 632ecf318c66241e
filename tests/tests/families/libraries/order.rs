//! The order of a table's keys: that of `pairs`, and so of the fields that `cjson` writes.

use crate::libraries::trial::{Script, compare};
use lockwheel_tests::rng::Rng;

/// A random key; many keys occur repeatedly.
fn key(rng: &mut Rng) -> String {
    match rng.below(12) {
        0..=5 => format!("'name{}'", rng.below(40)),
        6..=8 => format!("{}", rng.below(20)),
        9 => format!("{}", 1000 * rng.below(9)),
        10 => format!("{}.5", rng.below(9)),
        _ => (*rng.pick(&["true", "false", "-1", "'10'"])).to_owned(),
    }
}

/// One change of the table `t`: lists grow at their end, and any key is set or removed.
fn change(rng: &mut Rng) -> String {
    match rng.below(10) {
        0..=2 => "t[#t + 1] = 1".to_owned(),
        3 => "table.insert(t, 1, 2)".to_owned(),
        4 => "table.remove(t)".to_owned(),
        5 => format!("t[{}] = nil", key(rng)),
        _ => format!("t[{}] = {}", key(rng), rng.below(100)),
    }
}

#[test]
fn growing_tables_iterate_in_the_order_of_redis() {
    compare(2000, |rng| {
        let first = *rng.pick(&["{}", "{1, 2, 3}", "{a = 1}", "{1, 2, nil, 4, a = 5, b = 6}"]);
        let changes: Vec<String> = (0..rng.below(60)).map(|_| change(rng)).collect();
        let text = format!(
            "local t, out = {first}, {{}} {} \
             for key, value in pairs(t) do out[#out + 1] = tostring(key) .. '=' .. tostring(value) end \
             return {{#t, table.maxn(t), table.concat(out, ' ')}}",
            changes.join(" ")
        );
        Script::new(text, "")
    });
}

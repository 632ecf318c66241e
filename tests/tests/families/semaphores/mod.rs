//! Semaphores, latches and rate limiters: line by line in both protocols, on a manual clock, compared with Redisson's
//! own scripts, and against models.

mod account;
mod beside_locks;
mod interop;
mod latches;
mod model_of_ids;
mod model_of_latches;
mod model_of_permits;
mod model_of_rates;
mod permits;
mod rates;
mod turns;

/// A map as RESP2 and RESP3 show it.
fn map(fields: &[(&str, &str)]) -> [String; 2] {
    let written = |between: &str| {
        let each = fields.iter().map(|(name, value)| format!("\"{name}\"{between}{value}"));
        each.collect::<Vec<_>>().join(", ")
    };
    [format!("[{}]", written(", ")), format!("{{{}}}", written(": "))]
}

/// Checks a line whose reply is a map.
macro_rules! check_map {
    ($on:expr, $line:expr, $($name:literal: $value:expr),* $(,)?) => {{
        let [resp2, resp3] = $crate::semaphores::map(&[$(($name, &$value.to_string())),*]);
        $on.check3($line, &resp2, &resp3)
    }};
}

/// Expects a reply that is a map.
macro_rules! expect_map {
    ($on:expr, $($name:literal: $value:expr),* $(,)?) => {{
        let [resp2, resp3] = $crate::semaphores::map(&[$(($name, &$value.to_string())),*]);
        $on.expect3(&resp2, &resp3)
    }};
}

use {check_map, expect_map};

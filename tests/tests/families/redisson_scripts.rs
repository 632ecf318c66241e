//! The scripts of four versions of Redisson against redis-server: all of them except those that call a command of
//! `not-here.txt`.

use lockwheel_tests::redisson_scripts::{NotHere, compare, scripts_of};
use std::io::Write;
use std::path::Path;

/// Compares a version's scripts. `scripts` is the least number of distinct ones in its sources, `succeeded` the number
/// that must end without an error; both were measured.
#[track_caller]
fn version(version: &str, scripts: usize, succeeded: usize) {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let Some((found, mixed)) = scripts_of(version, directory) else { return };
    assert!(found.len() >= scripts, "{} scripts in {version}, of {scripts}", found.len());
    let seed = std::env::var("LOCKWHEEL_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let Some(outcome) = compare(&found, seed) else { return };
    let _ = writeln!(
        std::io::stderr(),
        "Redisson {version}: {} scripts (and {mixed} put together in Java), {} run, {} succeeded",
        outcome.scripts,
        outcome.run,
        outcome.succeeded
    );
    assert_eq!(outcome.without, NotHere::called_by(version), "what is called and not here, by not-here.txt");
    let failed: Vec<String> =
        outcome.only_failed.iter().map(|(class, error)| format!("{class}: {error}")).collect();
    assert!(outcome.succeeded >= succeeded, "only {} succeeded\n{}", outcome.succeeded, failed.join("\n"));
}

#[test]
fn redisson_3_6_5() {
    version("3.6.5", 261, 258);
}

#[test]
fn redisson_3_17_0() {
    version("3.17.0", 338, 327);
}

#[test]
fn redisson_3_24_3() {
    version("3.24.3", 399, 370);
}

#[test]
fn redisson_4_7_0() {
    version("4.7.0", 477, 436);
}

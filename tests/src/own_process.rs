//! Tests that measure the memory or the time of their process: each runs in its own process.

use std::process::Command;

/// The environment variable that is set in the process of such a test.
const MARK: &str = "LOCKWHEEL_OWN_PROCESS";

/// Runs a test, by its full name, in its own process. Returns whether this is that process; otherwise the test has
/// passed there and is over.
///
/// # Panics
/// Panics if the test fails there, or if no test has this name.
#[must_use]
#[track_caller]
pub fn is_of(name: &str) -> bool {
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let mut test = Command::new(std::env::current_exe().expect("a test is a file"));
    let output = test.args(["--exact", name, "--nocapture"]).env(MARK, "1").output().expect("it starts");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("test result: ok. 1 passed"), "{name}: {said}");
    false
}

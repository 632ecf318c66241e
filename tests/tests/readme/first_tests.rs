//! The first tests in other languages, run as they stand, with the program on the search path.

use crate::Scratch;
use lockwheel_tests::redis_server::{is_wanted, skip};
use lockwheel_tests::redisson::{Redisson, Version};
use lockwheel_tests::{program, readme};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// The search path with the program's directory in front.
fn search_path() -> OsString {
    let program = program::path();
    let directory = program.parent().expect("a program is in a directory").to_path_buf();
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([directory].into_iter().chain(std::env::split_paths(&inherited)))
        .expect("they come from such a list")
}

/// Runs a command that has to succeed; all it said.
fn run(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    let said =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    said
}

#[test]
fn the_first_test_in_python_passes() {
    let has = |module: &str| {
        Command::new("python3")
            .args(["-c", &format!("import {module}")])
            .output()
            .is_ok_and(|it| it.status.success())
    };
    if !is_wanted("python3") || !has("redis") || !has("pytest") {
        return skip(&["python3"], "redis-py or pytest is not installed (pip install redis pytest)");
    }
    let scratch = Scratch::new("python");
    scratch.write("test_lease.py", &readme::block("python").text);
    let said = run(Command::new("python3")
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .current_dir(scratch.path(""))
        .env("PATH", search_path()));
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
fn the_first_test_in_java_passes() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let Some(redisson) = Redisson::prepare(Version::new(4, 7, 0), directory) else { return };
    let scratch = Scratch::new("java");
    scratch.write("LeaseTest.java", &readme::block("java").text);
    let mut test = redisson.junit(&scratch.path("LeaseTest.java"), &scratch.path("classes"));
    let said = run(test.env("PATH", search_path()));
    assert!(said.contains("1 tests successful"), "{said}");
}

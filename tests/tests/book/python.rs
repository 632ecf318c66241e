//! Blocks in Python, with redis-py and with the sources of the package: tests by pytest, in one run, and programs.

use crate::scratch::Scratch;
use crate::{blocks, name, run};
use lockwheel_tests::pages::file;
use lockwheel_tests::program;
use lockwheel_tests::redis_server::{is_wanted, skip};
use std::process::Command;

/// Whether Python has redis-py and pytest.
fn has_modules() -> bool {
    let import = Command::new("python3").args(["-c", "import redis, pytest"]).output();
    let found = is_wanted("python3") && import.is_ok_and(|it| it.status.success());
    if !found {
        skip(&["python3"], "redis-py or pytest is not installed (pip install redis pytest)");
    }
    found
}

/// Python in a directory, with the package.
fn python3(scratch: &Scratch) -> Command {
    let mut command = Command::new("python3");
    command.current_dir(scratch.path("")).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("PYTHONPATH", file("packaging/python/src"));
    command
}

#[test]
fn the_blocks_in_python_run() {
    if !has_modules() {
        return;
    }
    program::path();
    let scratch = Scratch::new("python");
    let (tests, programs): (Vec<_>, Vec<_>) =
        blocks("python").into_iter().partition(|block| block.text.contains("def test_"));
    assert!(!tests.is_empty() && !programs.is_empty(), "the pages show tests and programs");
    for block in &tests {
        scratch.write(&format!("test_{}.py", name(block)), &block.text);
    }
    let mut pytest = python3(&scratch);
    let said = run(pytest.args([
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "lockwheel._pytest",
        "-W",
        "error",
    ]));
    let wanted: usize = tests.iter().map(|block| block.text.matches("def test_").count()).sum();
    assert!(said.contains(&format!("{wanted} passed")), "{said}");
    for block in &programs {
        let program = format!("{}.py", name(block));
        scratch.write(&program, &block.text);
        run(python3(&scratch).arg(program));
    }
}

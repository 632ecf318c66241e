//! The program `lockwheel`, for tests that start it as a user does.

use std::path::PathBuf;
use std::process::Command;

/// Where it is: beside the tests, built as they are. What has not changed is not built again.
///
/// # Panics
/// When it cannot be built.
pub fn path() -> PathBuf {
    let test = std::env::current_exe().expect("a test is a file");
    let directory = test.ancestors().nth(2).expect("tests are built into target/<profile>/deps");
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--offline", "--package", "lockwheel", "--bin", "lockwheel"]);
    if directory.file_name().is_some_and(|profile| profile == "release") {
        build.arg("--release");
    }
    let output = build.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let program = directory.join(format!("lockwheel{}", std::env::consts::EXE_SUFFIX));
    assert!(program.is_file(), "{} is not there", program.display());
    program
}

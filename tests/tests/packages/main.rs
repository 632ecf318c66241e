//! The packages for other languages, tried as their users have them: packed, installed beside an empty project from the
//! package file, and run there.

mod go;
mod java;
mod npm;
mod python;

use lockwheel_tests::program;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What `packaging/build` makes of the program that these tests run with; the path that it says last.
fn package(name: &str) -> PathBuf {
    let mut build = Command::new(packaging().join("build"));
    // The build directory that these tests are in; it may be another than the workspace's.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is in the build directory");
    build.arg("--binary").arg(program::path()).arg(name).env("CARGO_TARGET_DIR", target);
    let said = run(&mut build);
    let path = PathBuf::from(said.lines().last().expect("it says where the package is"));
    assert!(path.exists(), "{said}");
    path
}

/// The sources of the packages.
fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("packaging")
}

/// An empty directory for what one test installs.
fn project(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages").join(name);
    if path.exists() {
        fs::remove_dir_all(&path).expect("what an earlier run has left can be removed");
    }
    fs::create_dir_all(&path).expect("the build directory can be written");
    path
}

/// Copies the files of a directory into a new one.
fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the build directory can be written");
    for entry in fs::read_dir(from).expect("the directory is there").flatten() {
        if entry.path().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).expect("a file can be copied");
        }
    }
}

/// Runs a command that has to succeed: its standard output.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}\n{log}", output.status);
    text
}

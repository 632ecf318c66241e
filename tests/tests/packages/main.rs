//! The packages, tried as their users get them: packed, installed next to an empty project from the package file, and
//! run there. `LOCKWHEEL_PACKAGES` names slow tests to run as well: `go`, and `static`, which packs the static release
//! build instead of the program of the other tests.

mod archive;
mod ci;
mod go;
mod image;
mod java;
mod npm;
mod python;
mod start;

use lockwheel_tests::program;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Runs `packaging/build` for this package. Returns the path that it prints last.
fn package(name: &str) -> PathBuf {
    let mut build = Command::new(packaging().join("build"));
    if !is_named("static") {
        build.arg("--binary").arg(stripped());
    }
    let said = run(build.arg(name).env("CARGO_TARGET_DIR", target()));
    let path = PathBuf::from(said.lines().last().expect("it says where the package is"));
    assert!(path.exists(), "{said}");
    path
}

/// Whether `LOCKWHEEL_PACKAGES` names this.
fn is_named(name: &str) -> bool {
    std::env::var("LOCKWHEEL_PACKAGES").is_ok_and(|names| names.split(' ').any(|named| named == name))
}

/// The program with which these tests run, without its symbols, as releases are.
fn stripped() -> &'static Path {
    static STRIPPED: OnceLock<PathBuf> = OnceLock::new();
    STRIPPED.get_or_init(|| {
        let path = project("program").join("lockwheel");
        run(Command::new("strip").arg("-o").args([&path, &program::path()]));
        path
    })
}

/// The build directory of these tests; it may be another than the workspace's.
fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is in the build directory")
}

/// The sources of the packages.
fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("packaging")
}

/// An empty directory for the installation of one test.
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

/// The variable with the folder of certificates for the packages' tests: see `lockwheel_tests::tls::Certificates`.
const CERTIFICATES: &str = "LOCKWHEEL_TEST_CERTIFICATES";

/// Prints the start times of a package's servers, which its tests have printed, past the test runner's capture of
/// output.
#[track_caller]
fn print_starts(package: &str, said: &str) {
    let line = said.lines().find(|line| line.contains("20 starts: median"));
    let line = line.unwrap_or_else(|| panic!("no start is measured in\n{said}"));
    let _ = writeln!(std::io::stderr(), "{package}: {}", line.trim_start_matches(['#', ' ']));
}

/// Runs a command that must succeed. Returns its standard output.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}\n{log}", output.status);
    text
}

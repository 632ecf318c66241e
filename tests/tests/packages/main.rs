//! The packages, tried as their users have them: packed, installed beside an empty project from the package file, and
//! run there. `LOCKWHEEL_PACKAGES` names what takes long and is done all the same: `go`; `static`, to pack the static
//! release build instead of the program that other tests run with.

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

/// What `packaging/build` makes of the program; the path that it says last.
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

/// The program that these tests run with, without its symbols, as releases are.
fn stripped() -> &'static Path {
    static STRIPPED: OnceLock<PathBuf> = OnceLock::new();
    STRIPPED.get_or_init(|| {
        let path = project("program").join("lockwheel");
        run(Command::new("strip").arg("-o").args([&path, &program::path()]));
        path
    })
}

/// The build directory that these tests are in; it may be another than the workspace's.
fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is in the build directory")
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

/// Where the packages' tests find certificates: see `lockwheel_tests::tls::Certificates`.
const CERTIFICATES: &str = "LOCKWHEEL_TEST_CERTIFICATES";

/// Says how long the starts of a package's servers took, which its tests have printed, past the test runner's capture
/// of output.
#[track_caller]
fn tell_starts(package: &str, said: &str) {
    let line = said.lines().find(|line| line.contains("20 starts: median"));
    let line = line.unwrap_or_else(|| panic!("no start is measured in\n{said}"));
    let _ = writeln!(std::io::stderr(), "{package}: {}", line.trim_start_matches(['#', ' ']));
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

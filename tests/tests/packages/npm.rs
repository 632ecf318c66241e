//! The npm packages: installed by npm into empty projects, with Vitest and with Jest, which run the README's test.

use crate::{CERTIFICATES, copy_files, package, packaging, print_starts, project, run};
use lockwheel_tests::program;
use lockwheel_tests::redis_server::{find_in_path, skip};
use lockwheel_tests::tls::Certificates;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Node and npm.
fn tools() -> Option<(PathBuf, PathBuf)> {
    let found = find_in_path("node").zip(find_in_path("npm"));
    if found.is_none() {
        skip(&["node", "npm"], "node or npm is not installed (apt-get install nodejs npm)");
    }
    found
}

/// The files of a folder with this ending, sorted.
fn files(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("the folder is there").flatten();
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    found.sort();
    found
}

/// The package files, packed once for all tests.
fn archives() -> Vec<PathBuf> {
    static PACKED: OnceLock<PathBuf> = OnceLock::new();
    let found = files(PACKED.get_or_init(|| package("npm")), ".tgz");
    assert_eq!(found.len(), 2, "the package and the program's: {found:?}");
    found
}

/// A command in a project that sees nothing of the workspace.
fn within(directory: &Path, tool: impl AsRef<Path>) -> Command {
    let mut command = Command::new(directory.join(tool));
    command
        .current_dir(directory)
        .env_remove("LOCKWHEEL_BINARY")
        .env_remove("NODE_PATH")
        .env("NO_COLOR", "1");
    command
}

/// A project of `packaging/npm/try` with the packages installed in it, and with another version of the test runner
/// if one is named.
fn installed(name: &str, npm: &Path, runner: Option<&str>) -> PathBuf {
    let directory = project(&format!("npm-{}", runner.unwrap_or(name)));
    copy_files(&packaging().join("npm/try").join(name), &directory);
    let mut install = within(&directory, npm);
    install.args(["install", "--save-dev", "--no-audit", "--no-fund", "--loglevel", "error"]);
    run(install.args(runner).args(archives()));
    directory
}

/// The output of a test runner for a test that fails on purpose.
fn failure(directory: &Path, runner: &[&str]) -> String {
    fs::rename(directory.join("failing.js"), directory.join("failing.test.js")).expect("the project has it");
    let mut command = within(directory, Path::new("node_modules/.bin").join(runner[0]));
    let output = command.args(&runner[1..]).arg("failing.test.js").output().expect("the test runner starts");
    assert!(!output.status.success(), "{output:?}");
    [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat()
}

/// The report has the seed, the client that waited at the moment of the failure, the history and the last command.
/// Another test fails because of a finding in the history. Each failure has one report, and points to a line of the
/// test.
#[track_caller]
fn check_failure_report(directory: &Path, runner: &[&str]) {
    let said = failure(directory, runner);
    let waiting = |line: &str| line.contains("name=who-waits") && line.ends_with("cmd=blpop");
    assert!(said.lines().any(waiting), "{said}");
    for wanted in [
        "Object.is equality",
        "seed 42",
        "mode=real",
        "text=the order is paid",
        "SET order:42 paid",
        "Ready to accept connections",
        "violation mutual-exclusion of order:42: ",
    ] {
        assert!(said.contains(wanted), "{wanted:?} is not in\n{said}");
    }
    assert_eq!(said.matches("lockwheel on 127.0.0.1:").count(), 4, "a report a test: {said}");
    for marked in ["toBe('cancelled')", "test('overlaps'", "// in vain", "// refused"] {
        let tests = fs::read_to_string(directory.join("failing.test.js")).expect("it was run");
        let line = tests.lines().position(|line| line.contains(marked)).expect("the test has that line") + 1;
        assert!(said.contains(&format!("failing.test.js:{line}:")), "line {line} is not in\n{said}");
    }
    assert!(!said.contains("lockwheel/lib/"), "no line of the package is named: {said}");
    assert!(!said.contains("deprecated"), "{said}");
}

#[test]
fn the_tests_of_the_package_pass() {
    let Some((node, _)) = tools() else { return };
    let tests = files(&packaging().join("npm/test"), ".test.js");
    assert!(!tests.is_empty(), "the package has tests");
    let certificates = Certificates::new();
    let said = run(Command::new(node)
        .env(CERTIFICATES, certificates.path(""))
        .args(["--test"])
        .args(tests)
        .env("LOCKWHEEL_BINARY", program::path())
        .env("NO_COLOR", "1"));
    assert!(said.contains("fail 0") && !said.contains("pass 0") && said.contains("skipped 0"), "{said}");
    print_starts("npm", &said);
}

#[test]
fn a_vitest_project_has_a_server_from_the_package_files() {
    let Some((_, npm)) = tools() else { return };
    let directory = installed("vitest", &npm, None);
    run(&mut within(&directory, "node_modules/.bin/tsc"));
    let version = run(within(&directory, "node_modules/.bin/lockwheel").arg("--version"));
    assert_eq!(version, run(Command::new(program::path()).arg("--version")));
    for pool in ["--pool=forks", "--pool=threads", "--no-isolate"] {
        let said = run(within(&directory, "node_modules/.bin/vitest").args(["run", pool]));
        assert!(said.contains("4 passed"), "{pool}: {said}");
    }
    check_failure_report(&directory, &["vitest", "run"]);
}

/// Vitest 4.1 warns of a module that the package imports.
#[test]
fn a_project_with_vitest_4_has_a_server_from_the_package_files() {
    let Some((_, npm)) = tools() else { return };
    let directory = installed("vitest", &npm, Some("vitest@4.1.12"));
    let said = run(within(&directory, "node_modules/.bin/vitest").arg("run"));
    assert!(said.contains("4 passed"), "{said}");
    check_failure_report(&directory, &["vitest", "run"]);
}

#[test]
fn a_jest_project_has_a_server_from_the_package_files() {
    let Some((_, npm)) = tools() else { return };
    let directory = installed("jest", &npm, None);
    for workers in ["--maxWorkers=2", "--runInBand"] {
        run(within(&directory, "node_modules/.bin/jest").args([
            workers,
            "--json",
            "--outputFile=results.json",
        ]));
        let results = fs::read_to_string(directory.join("results.json")).expect("Jest writes them");
        assert!(results.contains("\"numPassedTests\":4"), "{workers}: {results}");
    }
    check_failure_report(&directory, &["jest"]);
}

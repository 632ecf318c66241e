//! The Go module: its own tests, and README's in a project that knows only the module. The dependencies of the latter
//! take minutes to fetch: it runs if `LOCKWHEEL_PACKAGES` names it, as `.ci/full` does.

use super::{CERTIFICATES, copy_files, is_named, package, packaging, project, run};
use lockwheel_tests::program;
use lockwheel_tests::tls::Certificates;
use lockwheel_tests::workshop::find_tool;
use std::fs;
use std::process::Command;

/// The `go` command, with the program and the module.
fn go(directory: &std::path::Path, proxy: &str) -> Command {
    let mut go = Command::new("go");
    go.current_dir(directory).env("LOCKWHEEL_BINARY", program::path());
    go.env("GOFLAGS", "-mod=mod").env("GONOSUMDB", "github.com/lockwheel/*").env("GOPROXY", proxy);
    go
}

#[test]
fn the_tests_of_the_module_pass() {
    if find_tool("go", "apt-get install golang-go").is_none() {
        return;
    }
    let certificates = Certificates::new();
    // The module has no dependencies.
    let mut tests = go(&packaging().join("go"), "off");
    run(tests.env(CERTIFICATES, certificates.path("")).args(["test", "-count=1", "./..."]));
}

#[test]
fn the_readme_of_the_module_works_in_a_project() {
    if !is_named("go") {
        return eprintln!("LOCKWHEEL_PACKAGES does not name go");
    }
    let served = package("go");
    let usual = run(Command::new("go").args(["env", "GOPROXY"]));
    let root = project("go");
    copy_files(&packaging().join("go/example"), &root);
    let proxy = format!("file://{},{}", served.display(), usual.trim());
    run(go(&root, &proxy).args(["test", "-count=1", "./..."]));
}

#[test]
fn the_readme_shows_the_test_that_runs() {
    let read = |path: &str| fs::read_to_string(packaging().join("go").join(path)).expect("the file is there");
    let example = read("example/lease_test.go");
    let (_, test) = example.split_once("func Test").expect("a test");
    // The page has spaces in place of gofmt's tabs.
    let shown = test.trim_end().replace('\t', "    ");
    assert!(read("README.md").contains(&shown), "README has another test than example/lease_test.go");
}

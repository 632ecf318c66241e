//! The Go module: its own tests, and README's in a project that knows the module alone. Its dependencies take minutes
//! to come: it runs where `LOCKWHEEL_PACKAGES` names it, as `.ci/full` does.

use super::{copy_files, is_named, package, packaging, project, run};
use lockwheel_tests::program;
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
fn the_module_and_its_readme_work() {
    if !is_named("go") {
        return eprintln!("LOCKWHEEL_PACKAGES does not name go");
    }
    let served = package("go");
    let usual = run(Command::new("go").args(["env", "GOPROXY"]));
    run(go(&packaging().join("go"), usual.trim()).args(["test", "-count=1", "./..."]));

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
    // The page has spaces where gofmt wants tabs.
    let shown = test.trim_end().replace('\t', "    ");
    assert!(read("README.md").contains(&shown), "README has another test than example/lease_test.go");
}

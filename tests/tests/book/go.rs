//! Blocks in Go, in one module with go-redis and the package, each in its own folder. They are whole files, or parts of
//! a file, which are put into a test with their imports.

use crate::scratch::Scratch;
use crate::{blocks, name, run};
use lockwheel_tests::pages::{Block, file};
use lockwheel_tests::redis_server::{find_in_path, skip};
use std::fs;
use std::process::Command;

/// The names that a part of a file may use, and their packages.
const IMPORTS: &[(&str, &str)] = &[
    ("context.", "context"),
    ("errors.", "errors"),
    ("lockwheel.", "github.com/lockwheel/lockwheel/packaging/go"),
    ("redis.", "github.com/redis/go-redis/v9"),
    ("time.", "time"),
];

/// Converts a block to a file: a whole file as it stands, or a part with its surroundings.
fn source(block: &Block) -> String {
    if block.text.starts_with("package ") {
        return block.text.clone();
    }
    let used = IMPORTS.iter().filter(|(name, _)| block.text.contains(name));
    let imports: String = used.map(|(_, path)| format!("\t{path:?}\n")).collect();
    let name = name(block);
    format!(
        "package book\n\nimport (\n\t\"testing\"\n{imports})\n\nfunc Test_{name}(t *testing.T) {{\n{}}}\n",
        block.text
    )
}

#[test]
fn the_blocks_in_go_run() {
    let Some(go) = find_in_path("go") else {
        return skip(&["go"], "go is not installed (apt-get install golang-go)");
    };
    let module = Scratch::new("go");
    let blocks = blocks("go");
    for block in &blocks {
        module.write(&format!("{}/block_test.go", name(block)), &source(block));
    }
    // The test uses the go-redis of the clients' tests, so that it is fetched once.
    let clients = fs::read_to_string(file("tests/clients/go/go.mod")).expect("the clients have a module");
    let package = "github.com/lockwheel/lockwheel/packaging/go";
    let path = file("packaging/go").canonicalize().expect("the package is there");
    module.write(
        "go.mod",
        &format!("{clients}\nrequire {package} v0.0.0\n\nreplace {package} => {}\n", path.display()),
    );
    fs::copy(file("tests/clients/go/go.sum"), module.path("go.sum")).expect("the clients have sums");
    let said = run(Command::new(go)
        .current_dir(module.path(""))
        .env("GOFLAGS", "-mod=mod")
        .args(["test", "-count=1", "-v", "./..."]));
    let passed = said.lines().filter(|line| line.starts_with("--- PASS: ")).count();
    assert!(passed >= blocks.len(), "{} blocks: {said}", blocks.len());
}

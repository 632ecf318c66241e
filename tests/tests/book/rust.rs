//! Blocks in Rust, in one crate outside the workspace: tests, programs, and parts of a program. The crate's manifest is
//! the block in TOML.

use crate::scratch::Scratch;
use crate::{blocks, name};
use lockwheel_tests::pages::{Block, file};
use std::path::Path;
use std::process::Command;

/// The path of the server's sources in the TOML block.
const SOURCES: &str = "../lockwheel/server";

/// Converts a block to a file: a whole file as it stands, or a part of a program with its surroundings.
fn source(block: &Block) -> (String, String) {
    let name = name(block);
    if block.text.contains("#[test]") {
        (format!("tests/{name}.rs"), block.text.clone())
    } else if block.text.contains("fn main()") {
        (format!("examples/{name}.rs"), block.text.clone())
    } else {
        let begin = "fn main() -> Result<(), Box<dyn std::error::Error>> {\n";
        (format!("examples/{name}.rs"), [begin, &block.text, "Ok(())\n}\n"].concat())
    }
}

/// The manifest of the crate.
fn manifest() -> String {
    let blocks = blocks("toml");
    assert_eq!(blocks.len(), 1, "the pages show one manifest");
    let sources = file("server").canonicalize().expect("the server has a folder");
    assert!(blocks[0].text.contains(SOURCES), "it has the server's sources in {SOURCES}");
    let dependencies = blocks[0].text.replace(SOURCES, &sources.to_string_lossy());
    format!("[package]\nname = \"outside\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n{dependencies}")
}

/// Cargo in the crate.
fn cargo(scratch: &Scratch, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments).arg("--offline").current_dir(scratch.path(""));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside");
    // The build is used for this alone: without debug information it is smaller.
    command.env("CARGO_TARGET_DIR", target).env("CARGO_PROFILE_DEV_DEBUG", "0");
    crate::run(command.env_remove("JEMALLOC_SYS_WITH_MALLOC_CONF"))
}

/// The crate is outside the workspace: neither the workspace's lock file nor a patch nor a setting of its `.cargo`
/// applies. The versions are the workspace's, which cargo has at hand: nothing is fetched.
#[test]
fn the_blocks_in_rust_run_in_a_crate_outside_the_workspace() {
    let scratch = Scratch::new("rust");
    scratch.write("Cargo.toml", &manifest());
    scratch.write("src/lib.rs", "");
    std::fs::copy(file("Cargo.lock"), scratch.path("Cargo.lock")).expect("the workspace has a lock file");
    let (mut tests, mut programs) = (0, Vec::new());
    for block in &blocks("rust") {
        let (path, text) = source(block);
        scratch.write(&path, &text);
        tests += text.matches("#[test]").count();
        if path.starts_with("examples/") {
            programs.push(name(block));
        }
    }
    assert!(tests > 0 && !programs.is_empty(), "the pages show tests and programs");
    let said = cargo(&scratch, &["test", "--quiet", "--tests", "--examples"]);
    let passed = said.lines().filter(|line| line.starts_with("test result: ok.")).map(passed).sum::<usize>();
    assert_eq!(passed, tests, "{said}");
    programs.iter().for_each(|program| drop(cargo(&scratch, &["run", "--quiet", "--example", program])));

    let tree = cargo(&scratch, &["tree", "--edges", "normal,dev", "--prefix", "none"]);
    assert!(tree.contains("lockwheel-engine"), "{tree}");
    for of_the_program in ["tikv-jemallocator", "tracing-subscriber"] {
        assert!(!tree.contains(of_the_program), "a server in a test has {of_the_program}:\n{tree}");
    }
}

/// The number of passed tests in a line of results.
fn passed(line: &str) -> usize {
    let count = line.trim_start_matches("test result: ok. ").split(' ').next();
    count.and_then(|count| count.parse().ok()).expect("results have a number")
}

//! User documentation is true: every block in README.md, the book and the packages' pages runs as it stands, and every
//! link works.
//!
//! The language of a block determines how it runs: see the modules. Blocks that do not run are declared, with the
//! reason.

mod console;
mod go;
mod java;
mod language;
mod links;
mod node;
mod not_run;
mod pictures;
mod python;
mod rust;
mod scratch;
mod shell;

use lockwheel_tests::pages::{Block, Page};
use lockwheel_tests::program;
use std::ffi::OsString;
use std::process::{Command, Stdio};

/// The languages of blocks, each with its module's test.
const LANGUAGES: &[&str] =
    &["console", "go", "java", "js", "python", "redis", "rust", "sh", "toml", "xml", "yaml"];

/// The blocks of a language that are to run.
fn blocks(language: &str) -> Vec<Block> {
    assert!(LANGUAGES.contains(&language), "{language}");
    let blocks = Page::all().into_iter().flat_map(|page| page.blocks());
    blocks.filter(|block| block.language == language && not_run::reason(block).is_none()).collect()
}

/// A name for a block, usable for a file, a module or a class, made of its page and line.
fn name(block: &Block) -> String {
    let page = block.page.trim_end_matches(".md").to_lowercase();
    let letters = page.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    format!("{}_{}", letters.collect::<String>(), block.line)
}

/// The search path with the program's directory in front.
fn search_path() -> OsString {
    let program = program::path();
    let directory = program.parent().expect("a program is in a directory").to_path_buf();
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([directory].into_iter().chain(std::env::split_paths(&inherited)))
        .expect("they come from such a list")
}

/// Runs a command that must succeed, with the program on the search path. Returns its output.
#[track_caller]
fn run(command: &mut Command) -> String {
    command.env("PATH", search_path()).env_remove("LOCKWHEEL_BINARY").stdin(Stdio::null());
    let output = command.output().expect("the program starts");
    let said =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    said
}

#[test]
fn every_block_has_a_language_that_is_run() {
    for block in Page::all().iter().flat_map(Page::blocks) {
        let known = LANGUAGES.contains(&block.language.as_str());
        assert!(known, "{}:{}: no blocks of {:?} are run", block.page, block.line, block.language);
    }
}

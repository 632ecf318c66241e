//! The blocks that are not run as they stand, each with its reason.

use lockwheel_tests::pages::{Block, Page};
use std::io::Write;

/// A block: its page, its beginning, and the reason why it is not run.
const NOT_RUN: &[(&str, &str, &str)] = &[
    (
        "README.md",
        "cargo run --release        #",
        "the server would not end, and the other command runs this test",
    ),
    ("README.md", "cargo run --release -p lockwheel-bench", "the measurements take half an hour"),
    ("docs/performance.md", "cargo run --release -p lockwheel-bench", "the measurements take half an hour"),
    (
        "docs/start/ci.md",
        "      - run: lockwheel/packaging/build",
        "the tests of packages run it, in a folder with a checkout",
    ),
    (
        "packaging/go/README.md",
        "func TestALease",
        "needs redsync: the tests of packages run the file it is from",
    ),
];

/// Whether a block is declared here.
fn is_meant(block: &Block, entry: &(&str, &str, &str)) -> bool {
    block.page == entry.0 && block.text.starts_with(entry.1)
}

/// The reason why a block is not run.
pub(crate) fn reason(block: &Block) -> Option<&'static str> {
    if block.is_of_first_test() && ["sh", "xml"].contains(&block.language.as_str()) {
        return Some("the tests of packages run its section, from an empty folder to a green test");
    }
    NOT_RUN.iter().find(|entry| is_meant(block, entry)).map(|entry| entry.2)
}

#[test]
fn blocks_that_are_not_run_exist_and_are_listed() {
    let blocks: Vec<Block> = Page::all().iter().flat_map(Page::blocks).collect();
    for entry in NOT_RUN {
        let meant: Vec<&Block> = blocks.iter().filter(|block| is_meant(block, entry)).collect();
        assert_eq!(meant.len(), 1, "{}: {} begins one block", entry.0, entry.1);
        let _ = writeln!(std::io::stderr(), "not run: {}:{}: {}", meant[0].page, meant[0].line, entry.2);
    }
}

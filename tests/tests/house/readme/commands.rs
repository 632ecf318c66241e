//! The page of commands.

use lockwheel_tests::commands_page;
use std::{env, fs};

/// With `RENEW_COMMANDS=1`, the test writes the expected page.
#[test]
fn the_page_of_commands_matches_the_table() {
    let wanted = commands_page::text();
    if env::var_os("RENEW_COMMANDS").is_some() {
        fs::write(commands_page::path(), wanted).unwrap();
        return;
    }
    let page = fs::read_to_string(commands_page::path()).expect("the repository has docs/commands.md");
    let differs = page.lines().zip(wanted.lines()).find(|(page, wanted)| page != wanted);
    assert!(
        page == wanted,
        "docs/commands.md is not what the table says; RENEW_COMMANDS=1 writes it. {differs:?}"
    );
}

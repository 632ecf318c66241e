//! The pages for developers are true: they list every room, and name only existing files.

use crate::tidy::Finding;
use crate::tidy::rooms::{ENGINE, engine_rooms};
use crate::tidy::source::Source;

/// The pages.
const ARCHITECTURE: &str = "ARCHITECTURE.md";
const CONTRIBUTING: &str = "CONTRIBUTING.md";

/// Each room of the engine is in the code map.
pub(crate) fn rooms(sources: &[Source]) -> Vec<Finding> {
    let page = sources.iter().filter(|source| source.path == ARCHITECTURE);
    let missing = |page: &Source| {
        let rows: Vec<&str> = page.text.lines().filter(|line| line.starts_with("| `")).collect();
        let stands = |room: &str| rows.iter().any(|row| row.contains(&format!("`{room}/`")));
        let rooms = engine_rooms().filter(|room| !stands(room));
        let problem = |room: &str| format!("`{room}/` of `{ENGINE}` is not in the code map");
        rooms.map(|room| page.finding(0, problem(room))).collect::<Vec<_>>()
    };
    page.flat_map(missing).collect()
}

/// The greatest number of words on the page about the architecture: a reader goes through it once, before the code.
const MAX_WORDS: usize = 1_500;

/// The page about the architecture is short.
pub(crate) fn length(sources: &[Source]) -> Vec<Finding> {
    let page = sources.iter().find(|source| source.path == ARCHITECTURE);
    let words = page.map_or(0, |page| page.text.split_whitespace().count());
    let problem = || format!("{words} words, at most {MAX_WORDS}");
    page.filter(|_| words > MAX_WORDS).map(|page| page.finding(0, problem())).into_iter().collect()
}

/// Each Rust file that a page names exists; it may be named by the end of its path.
pub(crate) fn files(sources: &[Source]) -> Vec<Finding> {
    let pages = sources.iter().filter(|source| [ARCHITECTURE, CONTRIBUTING].contains(&&*source.path));
    let mut findings = Vec::new();
    for page in pages {
        for (at, name) in named(&page.text) {
            let end = format!("/{name}");
            if !sources.iter().any(|source| source.path == name || source.path.ends_with(&end)) {
                findings.push(page.finding(at, format!("there is no `{name}`")));
            }
        }
    }
    findings
}

/// The Rust files between backquotes, with their offsets.
fn named(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let quoted = text.split('`').scan(0, |at, part| {
        let start = *at;
        *at += part.len() + 1;
        Some((start, part))
    });
    quoted.filter(|(_, part)| part.ends_with(".rs") && !part.contains(char::is_whitespace))
}

#[test]
fn a_room_missing_on_the_page_is_found() {
    let all: String = engine_rooms().map(|room| format!("| `{room}/` | x |\n")).collect();
    assert_eq!(crate::tidy::findings(rooms, ARCHITECTURE, &all), [""; 0]);
    let problem = "1: `locks/` of `server/engine/src/` is not in the code map";
    assert_eq!(crate::tidy::findings(rooms, ARCHITECTURE, &all.replace("| `locks/`", "`locks/`")), [problem]);
    assert_eq!(crate::tidy::findings(rooms, "README.md", "").len(), 0);
}

#[test]
fn a_long_page_is_found() {
    let words = |count: usize| crate::tidy::findings(length, ARCHITECTURE, &"word ".repeat(count));
    assert_eq!(words(MAX_WORDS), [""; 0]);
    assert_eq!(words(MAX_WORDS + 1), ["1: 1501 words, at most 1500"]);
}

#[test]
fn a_missing_file_is_found() {
    let text = "`let x` is in\n`core/x.rs`, `y.rs`";
    let sources = [ARCHITECTURE, "a/src/core/x.rs", "a/src/xy.rs"].map(|path| {
        let text = if path == ARCHITECTURE { text } else { "//! A.\n" };
        Source::new(path, text.to_string())
    });
    let found: Vec<String> = files(&sources).into_iter().map(|finding| finding.problem).collect();
    assert_eq!(found, ["there is no `y.rs`"]);
}

//! The pages that users read, and their fenced blocks, as seen by the tests that keep them true.

use std::fs;
use std::path::PathBuf;

/// The start of the addresses of files outside the book to which its pages link.
pub const REPOSITORY: &str = "https://github.com/lockwheel/lockwheel/blob/main/";

/// The book's table of contents.
pub const SUMMARY: &str = "docs/SUMMARY.md";

/// The pages of the packages, which their registries show.
const OF_PACKAGES: &str = "packaging";

/// Packages whose pages are run by the tests of packages, since their examples need a tool, a jar or an image of their
/// own.
const RUN_ELSEWHERE: &[&str] = &["action", "archive", "image", "java"];

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The path of the page, from the root of the repository.
    pub path: String,
    /// The text of the page.
    pub text: String,
}

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The path of its page.
    pub page: String,
    /// The word behind the fence.
    pub language: String,
    /// The lines between the fences.
    pub text: String,
    /// The number of the first line of the block, counted from 1.
    pub line: usize,
    /// The heading above the block, without its marks.
    pub section: String,
    /// The last line of text above the fence.
    pub introduction: String,
}

/// The section of a page of [`START`] that leads from an empty folder to a green test. The tests of packages run the
/// section as a whole, its shell commands included.
pub const FIRST_TEST: &str = "A first test";

/// The folder of the pages that lead to a first test.
pub const START: &str = "docs/start/";

impl Block {
    /// Whether it belongs to a section that is run as a whole.
    pub fn is_of_first_test(&self) -> bool {
        self.page.starts_with(START) && self.section == FIRST_TEST
    }

    /// The file that the text above the block tells the reader to create: "Save it as `name`:".
    pub fn file_name(&self) -> Option<&str> {
        let (_, name) = self.introduction.strip_suffix("`:")?.rsplit_once(" as `")?;
        Some(name)
    }
}

/// A link of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The target of the link.
    pub target: String,
    /// The line of the link, counted from 1.
    pub line: usize,
}

/// The path of a file of the repository; the file need not exist.
pub fn file(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(path)
}

impl Page {
    /// Reads a page.
    ///
    /// # Panics
    /// Panics if it cannot be read.
    pub fn read(path: &str) -> Page {
        let text = fs::read_to_string(file(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        Page { path: path.to_owned(), text }
    }

    /// README.md of the repository.
    pub fn readme() -> Page {
        Page::read("README.md")
    }

    /// The pages of the book, in the order of its table of contents.
    pub fn of_the_book() -> Vec<Page> {
        let summary = Page::read(SUMMARY);
        summary.links().iter().map(|link| Page::read(&format!("docs/{}", link.target))).collect()
    }

    /// The pages of the packages whose examples need only the program and the package's sources.
    ///
    /// # Panics
    /// Panics if the folder cannot be read.
    pub fn of_packages() -> Vec<Page> {
        let entries = fs::read_dir(file(OF_PACKAGES)).expect("the packages have a folder").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut paths: Vec<String> = names
            .filter(|name| !RUN_ELSEWHERE.contains(&name.as_str()))
            .map(|name| format!("{OF_PACKAGES}/{name}/README.md"))
            .filter(|path| file(path).is_file())
            .collect();
        paths.sort();
        paths.iter().map(|path| Page::read(path)).collect()
    }

    /// All pages that users read.
    pub fn all() -> Vec<Page> {
        [vec![Page::readme()], Page::of_the_book(), Page::of_packages()].concat()
    }

    /// The fenced blocks of the page, in order.
    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        let (mut section, mut introduction) = (String::new(), String::new());
        for (index, line) in self.text.lines().enumerate() {
            match (line.strip_prefix("```"), open.take()) {
                (Some(language), None) => {
                    let (page, language) = (self.path.clone(), language.to_owned());
                    let (section, introduction) = (section.clone(), std::mem::take(&mut introduction));
                    let (text, line) = (String::new(), index + 2);
                    open = Some(Block { page, language, text, line, section, introduction });
                }
                (Some(_), Some(block)) => blocks.push(block),
                (None, Some(mut block)) => {
                    block.text.push_str(line);
                    block.text.push('\n');
                    open = Some(block);
                }
                (None, None) => {
                    if line.starts_with('#') {
                        section = line.trim_start_matches('#').trim().to_owned();
                    }
                    if !line.is_empty() {
                        introduction = line.to_owned();
                    }
                }
            }
        }
        blocks
    }

    /// The lines outside of fenced blocks, without quoted code, each with its number.
    fn prose(&self) -> Vec<(usize, String)> {
        let mut prose = Vec::new();
        let mut fenced = false;
        for (index, line) in self.text.lines().enumerate() {
            if line.starts_with("```") {
                fenced = !fenced;
            } else if !fenced {
                prose.push((index + 1, line.split('`').step_by(2).collect::<Vec<_>>().join("`")));
            }
        }
        prose
    }

    /// The links of the page, in order.
    pub fn links(&self) -> Vec<Link> {
        let targets = |(line, text): (usize, String)| {
            let ends: Vec<Link> = text
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split_once(')'))
                .map(|(target, _)| Link { target: target.to_owned(), line })
                .collect();
            ends
        };
        self.prose().into_iter().flat_map(targets).collect()
    }

    /// The anchors of the page's headings, as renderers of Markdown create them.
    pub fn anchors(&self) -> Vec<String> {
        let mut fenced = false;
        let mut anchors = Vec::new();
        for line in self.text.lines() {
            fenced ^= line.starts_with("```");
            let heading = line.trim_start_matches('#');
            if !fenced && heading.len() < line.len() && heading.starts_with(' ') {
                anchors.push(anchor(heading.trim()));
            }
        }
        anchors
    }
}

/// Converts a heading to an anchor.
fn anchor(heading: &str) -> String {
    let lower = heading.to_lowercase();
    let kept = lower.chars().filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Page {
        Page { path: "p.md".into(), text: text.into() }
    }

    #[test]
    fn blocks_have_their_language_and_their_place() {
        let blocks = page("# e\nSave it as `f`:\n\n```sh\nb\n\nc\n```\n```\n```\n").blocks();
        let block = |language: &str, text: &str, line, introduction: &str| Block {
            page: "p.md".into(),
            language: language.into(),
            text: text.into(),
            line,
            section: "e".into(),
            introduction: introduction.into(),
        };
        assert_eq!(blocks, [block("sh", "b\n\nc\n", 5, "Save it as `f`:"), block("", "", 10, "")]);
        assert_eq!([blocks[0].file_name(), blocks[1].file_name()], [Some("f"), None]);
    }

    #[test]
    fn links_are_those_outside_of_code() {
        let links = page("[a](b.md) `[c](d)` [e](f#g)\n```\n[h](i)\n```\n[j](k)\n").links();
        let link = |target: &str, line| Link { target: target.into(), line };
        assert_eq!(links, [link("b.md", 1), link("f#g", 1), link("k", 5)]);
    }

    #[test]
    fn anchors_are_made_of_headings() {
        let anchors = page("# `LOCK.INFO`, and more\n```\n# no heading\n```\n## A b-c\n#no\n").anchors();
        assert_eq!(anchors, ["lockinfo-and-more", "a-b-c"]);
    }
}

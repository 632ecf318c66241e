//! The book's table of contents lists all its pages, and every link leads to an existing file and heading.

use lockwheel_tests::pages::{Link, Page, REPOSITORY, SUMMARY, file};
use lockwheel_tests::redis_server::find_in_path;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// The pages for developers; their links must work too.
const FOR_DEVELOPERS: &[&str] = &["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];

/// The folder of the book's pages.
const BOOK: &str = "docs";

/// A path without its `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(plain.pop(), "{} leads out of the repository", path.display()),
            part => plain.push(part),
        }
    }
    plain
}

/// The file of the repository to which a link leads. `None` for other addresses.
fn target(page: &Page, address: &str) -> Option<PathBuf> {
    if let Some(path) = address.strip_prefix(REPOSITORY) {
        return Some(path.into());
    }
    if address.contains("://") {
        return None;
    }
    let beside = Path::new(&page.path).with_file_name(address);
    Some(if address.is_empty() { page.path.clone().into() } else { plain(&beside) })
}

/// The problem of a link, if it has one.
fn problem(page: &Page, link: &Link) -> Option<String> {
    let (address, anchor) = link.target.split_once('#').unwrap_or((&link.target, ""));
    let target = target(page, address)?;
    if !file(&target.to_string_lossy()).exists() {
        return Some(format!("{} is not there", target.display()));
    }
    if page.path.starts_with(BOOK) && !target.starts_with(BOOK) && !address.starts_with(REPOSITORY) {
        return Some(format!("{} is not in the book: say {REPOSITORY}…", target.display()));
    }
    let known = || Page::read(&target.to_string_lossy()).anchors().iter().any(|known| known == anchor);
    (!anchor.is_empty() && !known()).then(|| format!("{} has no heading #{anchor}", target.display()))
}

#[test]
fn every_link_has_a_target() {
    let for_developers = FOR_DEVELOPERS.iter().map(|path| Page::read(path));
    for page in Page::all().into_iter().chain(for_developers).chain([Page::read(SUMMARY)]) {
        for link in page.links() {
            let problem = problem(&page, &link);
            assert_eq!(problem, None, "{}:{}: {}", page.path, link.line, link.target);
        }
    }
}

#[test]
fn a_dead_link_is_found() {
    let page = Page { path: "docs/clock.md".into(), text: String::new() };
    let problem = |target: &str| problem(&page, &Link { target: target.into(), line: 1 });
    for dead in ["no.md", "commands.md#no-heading", "../README.md", &format!("{REPOSITORY}no.md")] {
        assert!(problem(dead).is_some(), "{dead}");
    }
    for alive in ["commands.md#lists", "https://redis.io/", &format!("{REPOSITORY}README.md")] {
        assert_eq!(problem(alive), None, "{alive}");
    }
}

/// The pages below a folder.
fn pages(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(file("").join(folder)).expect("the folder is there").flatten() {
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") && path != Path::new(SUMMARY) {
            found.push(path.to_string_lossy().into_owned());
        }
    }
}

#[test]
fn the_table_of_contents_has_each_page_once() {
    let mut there = Vec::new();
    pages(Path::new(BOOK), &mut there);
    let mut listed: Vec<String> = Page::of_the_book().into_iter().map(|page| page.path).collect();
    there.sort();
    listed.sort();
    assert_eq!(listed, there);
}

/// If mdBook is installed, it builds the book without a complaint.
#[test]
fn mdbook_builds_the_book() {
    let Some(mdbook) = find_in_path("mdbook") else { return };
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("book/html");
    let said = crate::run(Command::new(mdbook).arg("build").arg(file(BOOK)).arg("--dest-dir").arg(&out));
    assert!(!said.contains("WARN") && !said.contains("ERROR"), "{said}");
    assert!(out.join("index.html").is_file(), "{said}");
}

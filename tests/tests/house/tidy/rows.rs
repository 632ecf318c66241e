//! A command has one row in the table.

use crate::tidy::Finding;
use crate::tidy::source::{Source, behind_closing};
use std::collections::BTreeMap;

/// The constants named `ROWS` hold commands, each once in the whole server. Other constants of rows hold subcommands,
/// each once in its constant.
pub(crate) fn unique(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut commands: BTreeMap<String, String> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.path.starts_with(crate::tidy::rooms::ENGINE)) {
        for (constant, rows) in tables(source) {
            let mut here: BTreeMap<String, String> = BTreeMap::new();
            let seen = if constant == "ROWS" { &mut commands } else { &mut here };
            for (at, name) in rows {
                let place = format!("{}:{}", source.path, source.line_at(at));
                if let Some(first) = seen.insert(name.clone(), place) {
                    findings.push(source.finding(at, format!("`{name}` has a row already: {first}")));
                }
            }
        }
    }
    findings
}

/// Each constant slice of rows of a file: its name, and its rows' names with their offsets.
fn tables(source: &Source) -> Vec<(String, Vec<(usize, String)>)> {
    let mut tables = Vec::new();
    for (start, declaration) in source.shipped.match_indices(": &[Row<") {
        let before = &source.shipped[..start];
        let name_start =
            before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |offset| offset + 1);
        let Some(equals) = source.shipped[start + declaration.len()..].find("= &[") else { continue };
        let open = start + declaration.len() + equals + "= &".len();
        tables.push((before[name_start..].to_string(), row_names(source, open)));
    }
    tables
}

/// The names in a slice of rows: the string that opens each call at its top level, `Row::new("get", …)`.
fn row_names(source: &Source, open: usize) -> Vec<(usize, String)> {
    let end = behind_closing(&source.shipped, open);
    let (mut names, mut depth) = (Vec::new(), 0);
    for (offset, byte) in source.shipped.bytes().enumerate().take(end).skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b'"' if depth == 2 && opens_row(&source.shipped, offset) => {
                let name = source.text[offset + 1..].split('"').next().unwrap_or_default();
                names.push((offset, name.to_string()));
            }
            _ => {}
        }
    }
    names
}

/// Whether the string at this offset is the first argument of a call that begins an element: not of a method.
fn opens_row(code: &str, quote: usize) -> bool {
    let Some(call) = code[..quote].trim_end().strip_suffix('(') else { return false };
    let path = call.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
    path.len() < call.len() && path.trim_end().ends_with(['[', ','])
}

#[test]
fn a_second_row_is_found() {
    let commands = |text: &str| {
        let file = |path: &str, rows: &str| Source::new(path, format!("const ROWS: &[Row<H>] = &[{rows}];"));
        let sources = [
            file(
                "server/engine/src/commands/a.rs",
                "Row::new(\"get\", 2, get).about(\"string\", \"1\").syntax(\"key\")",
            ),
            file("server/engine/src/commands/b.rs", text),
        ];
        unique(&sources).into_iter().map(|finding| finding.problem).collect::<Vec<_>>()
    };
    assert_eq!(commands("Row::new(\"set\", 3, set), row(\"string\", 1)"), [""; 0]);
    let expected = "`get` has a row already: server/engine/src/commands/a.rs:1";
    assert_eq!(commands("Row::new(\"set\", 3, set),\n Row::container(\n\"get\", 2, SUB)"), [expected]);
}

#[test]
fn subcommands_are_unique_in_their_own_list() {
    let list = |rows: &str| {
        let text = format!("const A: &[Row<H>] = &[{rows}]; const B: &[Row<H>] = &[row(\"help\")];");
        crate::tidy::findings(unique, "server/engine/src/core/x.rs", &text).len()
    };
    assert_eq!(list("row(\"help\"), row(\"list\")"), 0);
    assert_eq!(list("row(\"help\"), row(\"list\"), row(\"help\")"), 1);
}

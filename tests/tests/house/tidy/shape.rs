//! Rules about the form of files, functions and lines, and about private information in them.

use crate::tidy::Finding;
use crate::tidy::source::{Source, behind_closing, body_or_end, occurrences};

/// The longest file, in lines.
const MAX_FILE_LINES: usize = 900;
/// The longest function, in lines, from its `fn` to its closing brace.
const MAX_FUNCTION_LINES: usize = 70;
/// The widest line of Rust, in characters.
const MAX_COLUMNS: usize = 120;

/// Functions that are longer for now: file, name, lines. An entry may only shrink, and is removed when the function is
/// short enough.
const LONG_FUNCTIONS: &[(&str, &str, usize)] = &[];

/// Directories of the machines on which this was written.
const MACHINE_PATHS: &[&str] = &["/root/", "/home/"];

/// Each file is short enough, and each Rust file begins with a description.
pub(crate) fn files(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        let lines = source.text.lines().count();
        if lines > MAX_FILE_LINES {
            findings.push(source.finding(0, format!("{lines} lines, at most {MAX_FILE_LINES}")));
        }
        if !source.text.starts_with("//! ") {
            findings.push(source.finding(0, "does not begin with a `//!` that says what it is".to_string()));
        }
    }
    findings
}

/// Each function is short enough, or listed, and the list has no superfluous entry.
pub(crate) fn functions(sources: &[Source]) -> Vec<Finding> {
    functions_except(sources, LONG_FUNCTIONS)
}

fn functions_except(sources: &[Source], listed: &[(&str, &str, usize)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut met = Vec::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        for (at, name, lines) in function_lengths(source) {
            let entry = listed.iter().find(|(path, function, _)| *path == source.path && *function == name);
            let limit = entry.map_or(MAX_FUNCTION_LINES, |(_, _, limit)| *limit);
            met.extend(entry.filter(|_| lines > MAX_FUNCTION_LINES && lines == limit));
            if lines > limit {
                findings.push(source.finding(at, format!("`{name}` has {lines} lines, at most {limit}")));
            }
        }
    }
    for (path, function, lines) in listed.iter().filter(|entry| !met.contains(entry)) {
        let problem =
            format!("the list says `{function}` has {lines} lines, and it has not: let the list shrink");
        findings.push(Finding { path: (*path).to_string(), line: 0, problem });
    }
    findings
}

/// Every function with a body: its start, its name, its lines.
fn function_lengths(source: &Source) -> Vec<(usize, String, usize)> {
    let mut lengths = Vec::new();
    for start in occurrences(&source.code, "fn") {
        let rest = source.code[start + 2..].trim_start();
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let Some(open) = body_or_end(&source.code, start) else { continue };
        if name.is_empty() || source.code.as_bytes()[open] != b'{' {
            continue;
        }
        let end = behind_closing(&source.code, open);
        lengths.push((start, name, source.line_at(end) + 1 - source.line_at(start)));
    }
    lengths
}

/// Lines are not too wide, and have no tab and no white space at the end.
pub(crate) fn lines(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        let mut note = |line: usize, problem: String| {
            findings.push(Finding { path: source.path.clone(), line, problem });
        };
        let code: Vec<&str> = source.code.split('\n').collect();
        let comments: Vec<&str> = source.comments.split('\n').collect();
        for (index, line) in source.text.split('\n').enumerate() {
            let columns = line.chars().count();
            if source.is_rust() && columns > MAX_COLUMNS {
                note(index + 1, format!("{columns} columns, at most {MAX_COLUMNS}"));
            }
            // Tabs inside a Rust string may belong to another language.
            let written = if source.is_rust() {
                format!("{}{}", code[index], comments[index])
            } else {
                line.to_string()
            };
            // Go is indented by tabs.
            let may_have_tabs = source.path.ends_with(".go") || source.path.ends_with("go.mod");
            if written.contains('\r') || !may_have_tabs && written.contains('\t') {
                note(index + 1, "a tab or a carriage return".to_string());
            }
            if line.ends_with(' ') {
                note(index + 1, "a space at the end".to_string());
            }
        }
        if !source.text.is_empty() && (!source.text.ends_with('\n') || source.text.ends_with("\n\n")) {
            note(source.text.lines().count(), "does not end with one line feed".to_string());
        }
    }
    findings
}

/// There is no path of one machine, and no number of one tracker: other readers could not follow them.
pub(crate) fn traces(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| !source.path.starts_with("tests/tests/house/tidy/")) {
        for path in MACHINE_PATHS {
            let places = source.text.match_indices(path).filter(|(at, _)| begins_path(&source.text, *at));
            findings.extend(places.map(|(at, _)| source.finding(at, format!("`{path}` is of one machine"))));
        }
        let numbers = source.comments.match_indices('#').map(|(at, _)| (at, 1));
        let words = source.comments.match_indices("issue ").map(|(at, word)| (at, word.len()));
        for (at, length) in numbers.chain(words) {
            let behind = source.comments[at + length..].chars().next();
            let alone = at == 0 || source.comments.as_bytes()[at - 1].is_ascii_whitespace();
            if alone && behind.is_some_and(|c| c.is_ascii_digit()) {
                findings.push(source.finding(at, "the number of an issue".to_string()));
            }
        }
    }
    findings
}

/// Whether a slash begins a path, and is not inside one: `/root/` but not `$HOME/root/`.
fn begins_path(text: &str, at: usize) -> bool {
    at == 0 || !text.as_bytes()[at - 1].is_ascii_alphanumeric()
}

#[test]
fn long_and_nameless_files_are_found() {
    let long = format!("//! x\n{}", "\n".repeat(MAX_FILE_LINES));
    assert_eq!(crate::tidy::findings(files, "resp/src/x.rs", &long), ["1: 901 lines, at most 900"]);
    let found = crate::tidy::findings(files, "resp/src/x.rs", "// x\n");
    assert_eq!(found, ["1: does not begin with a `//!` that says what it is"]);
    assert_eq!(crate::tidy::findings(files, "README.md", &long), [""; 0]);
}

#[test]
fn long_functions_are_found_and_the_list_may_only_shrink() {
    let body = "    // }\n".repeat(69);
    let text = format!("fn short() {{}}\nfn long(x: [u8; 3]) -> String {{\n{body}}}\nfn declared();\n");
    let check = |listed: &[(&str, &str, usize)]| {
        let sources = [Source::new("resp/src/x.rs", text.clone())];
        functions_except(&sources, listed).into_iter().map(|finding| finding.problem).collect::<Vec<_>>()
    };
    assert_eq!(check(&[]), ["`long` has 71 lines, at most 70"]);
    assert_eq!(check(&[("resp/src/x.rs", "long", 71)]), [""; 0]);
    assert_eq!(check(&[("resp/src/x.rs", "long", 80)]).len(), 1);
    assert_eq!(check(&[("resp/src/x.rs", "long", 71), ("resp/src/x.rs", "short", 75)]).len(), 1);
}

#[test]
fn untidy_lines_are_found() {
    let wide = format!("//! {}\n", "x".repeat(117));
    assert_eq!(crate::tidy::findings(lines, "resp/src/x.rs", &wide), ["1: 121 columns, at most 120"]);
    assert_eq!(crate::tidy::findings(lines, "README.md", &wide), [""; 0]);
    let found = crate::tidy::findings(lines, "README.md", "a\tb\nc \nd");
    assert_eq!(
        found,
        ["1: a tab or a carriage return", "2: a space at the end", "3: does not end with one line feed"]
    );
}

#[test]
fn traces_are_found() {
    let text = "// see #12 and issue 3\nlet x = \"/root/y\"; let z = \"#1\";\n";
    let found = crate::tidy::findings(traces, "resp/src/x.rs", text);
    let expected =
        ["2: `/root/` is of one machine", "1: the number of an issue", "1: the number of an issue"];
    assert_eq!(found, expected);
    let fine = "// a tissue 3, RFC 3339 #[x], a#1, src/root/x, an issue of its own\n";
    assert_eq!(crate::tidy::findings(traces, "resp/src/x.rs", fine), [""; 0]);
}

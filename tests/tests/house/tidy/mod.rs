//! Rules of the sources: reads the sources of the whole workspace and fails if one breaks a rule that `ARCHITECTURE.md`
//! and `CONTRIBUTING.md` state. Each rule has a test that shows it can fail.

mod circles;
mod engine_surface;
mod knots;
mod page;
mod rooms;
mod rows;
mod shape;
mod source;
mod words;

use source::Source;
use std::path::{Path, PathBuf};

/// A broken rule: the place and the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    /// The line, counted from 1; 0 for the file as a whole.
    line: usize,
    problem: String,
}

/// A rule, over all sources.
type Rule = fn(&[Source]) -> Vec<Finding>;

/// Every rule with its description.
const RULES: &[(&str, Rule)] = &[
    ("no global state in the engine", words::global_state),
    ("unsafe only in its leaves, each with a reason", words::unsafe_code),
    ("nothing unfinished, no test switched off", words::unfinished),
    ("imports run downwards", rooms::imports),
    ("no circle of files", circles::circles),
    ("no knot of sub-rooms but those listed", knots::knots),
    ("crates know only what they may", rooms::manifests),
    ("the engine's surface is exactly the bound", engine_surface::surface),
    ("a command has one row", rows::unique),
    ("the page of the house names its rooms", page::rooms),
    ("the page of the house is short", page::length),
    ("the pages name files that there are", page::files),
    ("files of readable length that say what they are", shape::files),
    ("functions of readable length", shape::functions),
    ("lines of readable width", shape::lines),
    ("no trace of one machine or one tracker", shape::traces),
];

#[test]
fn the_sources_keep_every_rule() {
    let sources = read_workspace();
    let rust = sources.iter().filter(|source| source.is_rust()).count();
    assert!(rust > 10, "only {rust} Rust files found: is this the workspace?");
    let mut report = String::new();
    for (rule, check) in RULES {
        let findings = check(&sources);
        if !findings.is_empty() {
            report.push_str(&format!("\n{rule}:\n"));
        }
        for Finding { path, line, problem } in findings {
            report.push_str(&format!("  {path}:{line}: {problem}\n"));
        }
    }
    assert!(report.is_empty(), "{report}");
}

/// All handwritten files of the workspace, with paths from its root.
fn read_workspace() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests' crate is in the workspace");
    let mut paths = Vec::new();
    collect(root, &mut paths);
    paths.sort();
    let read = |path: PathBuf| {
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let relative = path.strip_prefix(root).expect("it was found below the root");
        Source::new(&relative.to_string_lossy().replace('\\', "/"), text)
    };
    paths.into_iter().map(read).collect()
}

/// Finds the files of the kinds that have rules. Build output and fetched files are excluded.
fn collect(directory: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory of the workspace can be read") {
        let path = entry.expect("a directory of the workspace can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let hidden = name.starts_with('.') && name != ".ci";
        if path.is_dir() {
            if !hidden && name != "target" && name != "node_modules" {
                collect(&path, paths);
            }
        } else if is_ours(&path, &name) {
            paths.push(path);
        }
    }
}

fn is_ours(path: &Path, name: &str) -> bool {
    let kind = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    let kinds = ["rs", "toml", "md", "java", "xml", "sh", "py", "js", "go"];
    kinds.contains(&kind.as_str()) || name == "run"
}

/// The findings of one rule on one made-up file, as `line: problem`.
#[cfg(test)]
fn findings(rule: Rule, path: &str, text: &str) -> Vec<String> {
    let sources = [Source::new(path, text.to_string())];
    rule(&sources).into_iter().map(|finding| format!("{}: {}", finding.line, finding.problem)).collect()
}

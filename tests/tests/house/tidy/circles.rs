//! No cycle of files: a file may name others only if they, and all that they name, do not name it.

use crate::tidy::Finding;
use crate::tidy::source::{Source, behind_closing, occurrences};
use std::collections::{BTreeMap, BTreeSet};

/// The path component with which the modules of a crate begin.
const ROOT: &str = "/src/";

/// The files that each file names, by path, with the first place of each.
type Edges<'a> = BTreeMap<&'a str, BTreeMap<&'a str, usize>>;

/// Files that name each other in a loop, each loop once. A name that `mod.rs` or `lib.rs` only re-exports counts for
/// the file that defines it.
pub(crate) fn circles(sources: &[Source]) -> Vec<Finding> {
    let modules = Modules::of(sources);
    let mut edges: Edges<'_> = BTreeMap::new();
    for (module, source) in &modules.files {
        let named = edges.entry(&source.path).or_default();
        for (at, path) in paths(&source.shipped) {
            if let Some(target) = modules.resolve(module, &path)
                && target.path != source.path
            {
                named.entry(&target.path).or_insert(at);
            }
        }
    }
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for source in modules.files.values() {
        if let Some(circle) = circle_through(&edges, &source.path)
            && circle.iter().all(|path| !seen.contains(path))
        {
            seen.extend(circle.iter().copied());
            let at = edges[&*source.path][circle[1]];
            findings.push(source.finding(at, format!("files in a circle: {}", circle.join(" → "))));
        }
    }
    findings
}

/// The files of all crates by the path of their module; `server/engine` and `core::engine` are joined.
pub(crate) struct Modules<'a> {
    pub(crate) files: BTreeMap<String, &'a Source>,
}

impl<'a> Modules<'a> {
    pub(crate) fn of(sources: &'a [Source]) -> Self {
        let shipped = |source: &&Source| source.is_rust() && !source.shipped.trim().is_empty();
        let files =
            sources.iter().filter(shipped).filter_map(|source| Some((module_of(&source.path)?, source)));
        Modules { files: files.collect() }
    }

    /// The file that a path names from within a module.
    pub(crate) fn resolve(&self, from: &str, path: &[String]) -> Option<&'a Source> {
        let (krate, module) = from.split_once(ROOT)?;
        let mut at: Vec<&str> = module.split("::").filter(|part| !part.is_empty()).collect();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => {
                at.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|part| part == "super") {
                    at.pop()?;
                    rest = &rest[1..];
                }
            }
            _ => return None,
        }
        self.descend(krate, at, rest, 0)
    }

    /// Follows names downwards as far as they are modules, then a module's re-exports.
    fn descend(&self, krate: &str, at: Vec<&str>, rest: &[String], passed_on: usize) -> Option<&'a Source> {
        /// Longer chains of re-exports do not exist.
        const MAX_PASSED_ON: usize = 4;
        let mut at: Vec<String> = at.into_iter().map(str::to_owned).collect();
        let mut rest = rest;
        while let Some(next) = rest.first() {
            let below = format!("{krate}{ROOT}{}", [&at[..], std::slice::from_ref(next)].concat().join("::"));
            if !self.files.contains_key(&below) {
                break;
            }
            at.push(next.clone());
            rest = &rest[1..];
        }
        let module = format!("{krate}{ROOT}{}", at.join("::"));
        let source = *self.files.get(&module)?;
        if let Some(name) = rest.first()
            && passed_on < MAX_PASSED_ON
            && let Some(path) = paths_passed_on(&source.shipped).remove(name.as_str())
        {
            let from: Vec<&str> = match path[0].as_str() {
                "crate" => Vec::new(),
                _ => at.iter().map(String::as_str).collect(),
            };
            let names = if matches!(path[0].as_str(), "crate" | "self") { &path[1..] } else { &path[..] };
            return self.descend(krate, from, names, passed_on + 1);
        }
        Some(source)
    }
}

/// `server/engine/src/core/mod.rs` is `server/engine/src/core`; `…/core/time.rs` is `server/engine/src/core::time`.
fn module_of(path: &str) -> Option<String> {
    let (krate, inside) = path.split_once(ROOT)?;
    let inside = inside.strip_suffix(".rs")?;
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    let inside = if matches!(inside, "lib" | "main" | "mod") { "" } else { inside };
    Some(format!("{krate}{ROOT}{}", inside.replace('/', "::")))
}

/// All paths that begin in the crate, with their offsets; groups in braces are expanded. The visibility of an item, as
/// in `pub(in crate::a)`, is not a path.
pub(crate) fn paths(code: &str) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    for start in ["crate", "super", "self"] {
        for at in occurrences(code, start) {
            let goes_on = code[at + start.len()..].starts_with("::");
            let is_inside = code[..at].ends_with("::") || code[..at].ends_with("(in ");
            if goes_on && !is_inside {
                found.extend(expand(&code[at..]).into_iter().map(|path| (at, path)));
            }
        }
    }
    found
}

/// The names that a module re-exports, each with its path from that module.
fn paths_passed_on(code: &str) -> BTreeMap<String, Vec<String>> {
    let mut passed_on = BTreeMap::new();
    for at in occurrences(code, "use") {
        let before = code[..at].trim_end();
        if before.ends_with("pub") || before.ends_with(')') && before.rsplit('\n').next().is_some_and(is_pub)
        {
            for path in expand(code[at + "use".len()..].trim_start()) {
                if path.len() > 1 {
                    passed_on.insert(path[path.len() - 1].clone(), path);
                }
            }
        }
    }
    passed_on
}

fn is_pub(line: &str) -> bool {
    line.trim_start().starts_with("pub(")
}

/// `a::b::{c, d::{e, f}}` as the paths that it stands for.
fn expand(code: &str) -> Vec<Vec<String>> {
    let name: String = code.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let rest = &code[name.len()..];
    if name.is_empty() {
        return Vec::new();
    }
    let Some(rest) = rest.strip_prefix("::") else { return vec![vec![name]] };
    let tails: Vec<Vec<String>> = if rest.starts_with('{') {
        let inside = &rest[1..behind_closing(rest, 0).saturating_sub(1).max(1)];
        elements(inside).into_iter().flat_map(expand).collect()
    } else {
        expand(rest)
    };
    // A glob, or a type's brackets: the path ends here.
    let tails = if tails.is_empty() { vec![Vec::new()] } else { tails };
    tails.into_iter().map(|tail| [vec![name.clone()], tail].concat()).collect()
}

/// The elements of a group, separated by commas outside inner groups.
fn elements(group: &str) -> Vec<&str> {
    let (mut found, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, byte) in group.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                found.push(group[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(group[start..].trim());
    found
}

/// The shortest way from a file back to itself, the file at both ends.
fn circle_through<'a>(edges: &Edges<'a>, start: &'a str) -> Option<Vec<&'a str>> {
    let mut ways = BTreeMap::from([(start, None)]);
    let mut next = vec![start];
    while !next.is_empty() {
        let mut further = Vec::new();
        for from in next {
            for &to in edges.get(from).into_iter().flat_map(BTreeMap::keys) {
                if to == start {
                    return Some(way_back(&ways, from, start));
                }
                if !ways.contains_key(to) {
                    ways.insert(to, Some(from));
                    further.push(to);
                }
            }
        }
        next = further;
    }
    None
}

fn way_back<'a>(ways: &BTreeMap<&'a str, Option<&'a str>>, last: &'a str, start: &'a str) -> Vec<&'a str> {
    let mut way = vec![start, last];
    let mut at = last;
    while let Some(Some(before)) = ways.get(at) {
        way.push(before);
        at = before;
    }
    if way.last() != Some(&start) {
        way.push(start);
    }
    way.reverse();
    way.dedup();
    if way.len() == 1 { vec![start, start] } else { way }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> =
            files.iter().map(|(path, text)| Source::new(path, text.to_string())).collect();
        circles(&sources).into_iter().map(|finding| finding.problem).collect()
    }

    #[test]
    fn an_import_cycle_is_found_in_every_spelling() {
        let circle = ["files in a circle: x/src/a/b.rs → x/src/a/c.rs → x/src/a/b.rs"];
        for (b, c) in [
            ("use super::c::C;", "use super::b::B;"),
            ("use super::{d, c::C};", "fn f() -> crate::a::b::B {}"),
            ("use crate::a::{c::{C, D}};", "use crate::a::B;"),
        ] {
            let passes_on = "mod b;\nmod c;\npub(crate) use b::{A, B};\npub use c::C;";
            assert_eq!(
                found(&[("x/src/a/mod.rs", passes_on), ("x/src/a/b.rs", b), ("x/src/a/c.rs", c)]),
                circle,
                "{b} {c}"
            );
        }
        let three = found(&[
            ("x/src/lib.rs", "mod a; mod b; mod c;"),
            ("x/src/a.rs", "use crate::b::B;"),
            ("x/src/b.rs", "use crate::c;"),
            ("x/src/c.rs", "use crate::a::A;"),
        ]);
        assert_eq!(three, ["files in a circle: x/src/a.rs → x/src/b.rs → x/src/c.rs → x/src/a.rs"]);
    }

    #[test]
    fn files_without_an_import_cycle_give_no_finding() {
        let none: [String; 0] = [];
        let files = [
            ("x/src/lib.rs", "mod a; pub use a::B;"),
            ("x/src/a/mod.rs", "mod b;\nmod c;\npub use b::B;\npub use c::C;"),
            ("x/src/a/b.rs", "use super::C; #[cfg(test)] mod tests { use crate::Z; }"),
            ("x/src/a/c.rs", "// super::b::B\nuse std::fmt; #[cfg(test)] mod tests { use super::super::B; }"),
            // Another crate has the same module names.
            ("y/src/a/c.rs", "use super::b::B;"),
            ("y/src/a/b.rs", "pub struct B;"),
        ];
        assert_eq!(found(&files), none);
    }
}

//! No knot of sub-rooms: the imports between the folders and files of a large room run in one direction only.

use crate::tidy::Finding;
use crate::tidy::circles::{Modules, paths};
use crate::tidy::rooms::all_rooms;
use crate::tidy::source::{Source, occurrences};
use std::collections::{BTreeMap, BTreeSet};

/// The sub-rooms of a room with more lines than this are checked.
const MAX_LINES_UNCHECKED: usize = 5_000;

/// A room and the sub-rooms of one knot, both in the order of their names.
type Knot<'k> = (&'k str, &'k [&'k str]);

/// The remaining knots. The list may only shrink.
const LEFT: &[Knot<'static>] = &[("keyspace", &["eviction", "keyspace"])];

/// The name of a room's own `mod.rs` among its sub-rooms.
const ROOF: &str = "mod";

/// Imports between the sub-rooms of a room: from, to, and the first place of each.
type Imports<'s> = BTreeMap<String, BTreeMap<String, (&'s Source, usize)>>;

/// Knots that are not listed, and listed knots that do not exist.
pub(crate) fn knots(sources: &[Source]) -> Vec<Finding> {
    compare(sources, LEFT)
}

fn compare(sources: &[Source], left: &[Knot<'_>]) -> Vec<Finding> {
    let modules = Modules::of(sources);
    let mut findings = Vec::new();
    for (crate_sources, room) in all_rooms() {
        let path = format!("{crate_sources}{room}");
        let is_inside = |source: &&Source| {
            let inside = source.path.strip_prefix(&path);
            inside.is_some_and(|inside| inside.starts_with('/') || inside == ".rs")
        };
        let lines: usize = sources.iter().filter(is_inside).map(|source| source.text.lines().count()).sum();
        if lines <= MAX_LINES_UNCHECKED {
            continue;
        }
        let imports = imports_between(&modules, &path);
        let found = knots_of(&imports);
        let is_listed =
            |knot: &BTreeSet<&str>| left.iter().any(|(in_room, of)| *in_room == room && same(knot, of));
        for knot in found.iter().filter(|knot| !is_listed(knot)) {
            findings.extend(imports_inside(&imports, knot, room));
        }
        for (_, gone) in
            left.iter().filter(|(in_room, of)| *in_room == room && !found.iter().any(|knot| same(knot, of)))
        {
            let problem = format!("no such knot any more, take it from the list: {}", gone.join(", "));
            findings.push(Finding { path: path.clone(), line: 0, problem });
        }
    }
    findings
}

fn same(knot: &BTreeSet<&str>, listed: &[&str]) -> bool {
    knot.iter().eq(listed)
}

/// The imports of the files of a room from sub-rooms other than their own.
fn imports_between<'s>(modules: &Modules<'s>, room: &str) -> Imports<'s> {
    let mut imports: Imports<'s> = BTreeMap::new();
    for (module, &source) in &modules.files {
        let Some(own) = sub_room(room, &source.path) else { continue };
        let mut named: Vec<(usize, String)> = paths(&source.shipped)
            .into_iter()
            .filter_map(|(at, path)| Some((at, sub_room(room, &modules.resolve(module, &path)?.path)?)))
            .collect();
        if own == ROOF {
            let passed_on = passed_on(&source.shipped);
            named.retain(|(at, _)| !passed_on.iter().any(|range| range.contains(at)));
            named.extend(own_modules_used(&source.shipped));
        }
        for (at, other) in named.into_iter().filter(|(_, other)| *other != own) {
            imports.entry(own.clone()).or_default().entry(other).or_insert((source, at));
        }
    }
    imports
}

/// The folder or file directly below a room to which a file belongs.
fn sub_room(room: &str, path: &str) -> Option<String> {
    let inside = path.strip_prefix(room)?.strip_prefix('/')?;
    inside.split(['/', '.']).next().map(str::to_owned)
}

/// The modules that a `mod.rs` declares and uses by their bare names, other than in re-exports.
fn own_modules_used(code: &str) -> Vec<(usize, String)> {
    let declared = occurrences(code, "mod").into_iter().filter_map(|at| {
        let (name, _) = code[at + "mod".len()..].split_once(';')?;
        let name = name.trim();
        name.chars().all(|c| c.is_alphanumeric() || c == '_').then_some(name)
    });
    let passed_on = passed_on(code);
    let mut used = Vec::new();
    for name in declared {
        let is_use = |at: &usize| {
            code[at + name.len()..].starts_with("::")
                && !code[..*at].ends_with("::")
                && !passed_on.iter().any(|range| range.contains(at))
        };
        used.extend(occurrences(code, name).into_iter().find(is_use).map(|at| (at, name.to_owned())));
    }
    used
}

/// The offsets of the re-exports of a file.
fn passed_on(code: &str) -> Vec<std::ops::Range<usize>> {
    let is_public = |at: &usize| {
        let line = code[..*at].rsplit('\n').next().unwrap_or_default().trim();
        line.starts_with("pub")
    };
    let uses = occurrences(code, "use").into_iter().filter(is_public);
    uses.map(|at| at..code[at..].find(';').map_or(code.len(), |length| at + length)).collect()
}

/// The sets of two or more sub-rooms that reach each other by imports.
fn knots_of<'i>(imports: &'i Imports<'_>) -> Vec<BTreeSet<&'i str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|from| (&**from, reached(imports, from))).collect();
    let reaches = |from: &str, to: &str| reach.get(from).is_some_and(|reached| reached.contains(to));
    let mut knots: Vec<BTreeSet<&str>> = Vec::new();
    for &from in reach.keys().filter(|from| reaches(from, from)) {
        if !knots.iter().any(|knot| knot.contains(from)) {
            knots.push(reach[from].iter().copied().filter(|to| reaches(to, from)).collect());
        }
    }
    knots
}

fn reached<'i>(imports: &'i Imports<'_>, from: &str) -> BTreeSet<&'i str> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(at) = next.pop() {
        for to in imports.get(at).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(&**to) {
                next.push(to);
            }
        }
    }
    reached
}

/// The members of a knot, then each pair of them.
fn imports_inside(imports: &Imports<'_>, knot: &BTreeSet<&str>, room: &str) -> Vec<Finding> {
    let members = knot.iter().copied().collect::<Vec<_>>().join(", ");
    let problem = format!("sub-rooms of {room} in a knot: {members}");
    let mut findings = vec![Finding { path: room.to_owned(), line: 0, problem }];
    for (from, named) in imports.iter().filter(|(from, _)| knot.contains(&***from)) {
        for (to, (source, at)) in named.iter().filter(|(to, _)| knot.contains(&***to)) {
            findings.push(source.finding(*at, format!("{from} → {to}")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)], left: &[Knot<'_>]) -> Vec<String> {
        let long = "\n".repeat(MAX_LINES_UNCHECKED + 1);
        let mut sources: Vec<Source> =
            files.iter().map(|(path, text)| Source::new(path, text.to_string())).collect();
        sources.push(Source::new("server/engine/src/locks/long.rs", long));
        compare(&sources, left).into_iter().map(|finding| finding.problem).collect()
    }

    const MOD: (&str, &str) = (
        "server/engine/src/locks/mod.rs",
        "mod a;\nmod b;\nmod c;\npub(crate) use a::x::X;\nfn f() { c::g() }",
    );

    #[test]
    fn a_knot_that_no_single_file_closes_is_found_unless_it_is_listed() {
        let files = [
            MOD,
            ("server/engine/src/locks/a/mod.rs", "pub(in crate::locks) mod x;\nmod y;"),
            ("server/engine/src/locks/a/x.rs", "pub struct X;"),
            ("server/engine/src/locks/a/y.rs", "use super::super::b::B;"),
            ("server/engine/src/locks/b.rs", "pub struct B(crate::locks::X);"),
            ("server/engine/src/locks/c.rs", "use super::b;"),
        ];
        let knot = ["sub-rooms of locks in a knot: a, b", "a → b", "b → a"];
        assert_eq!(found(&files, &[]), knot);
        assert_eq!(found(&files, &[("locks", &["a", "b"])]), [""; 0]);
        let gone = found(&files, &[("locks", &["a", "b"]), ("locks", &["a", "c"])]);
        assert_eq!(gone, ["no such knot any more, take it from the list: a, c"]);
    }

    #[test]
    fn a_sub_room_that_uses_a_function_of_the_room_which_uses_it_is_in_a_knot() {
        let files = [MOD, ("server/engine/src/locks/c.rs", "pub fn g() { super::f() }")];
        let knot = ["sub-rooms of locks in a knot: c, mod", "c → mod", "mod → c"];
        assert_eq!(found(&files, &[]), knot);
    }

    #[test]
    fn imports_one_way_are_no_knot() {
        let files = [
            MOD,
            ("server/engine/src/locks/a/mod.rs", "pub(in crate::locks) mod x;"),
            (
                "server/engine/src/locks/a/x.rs",
                "pub struct X; #[cfg(test)] mod tests { use crate::locks::b; }",
            ),
            ("server/engine/src/locks/b.rs", "use super::a::x::X;"),
            ("server/engine/src/locks/c.rs", "use super::{a, b::B};"),
        ];
        assert_eq!(found(&files, &[]), [""; 0]);
    }
}

//! The ratchet on the engine: the number of its methods, of its fields that other rooms see, and of the functions of
//! other rooms that take it. Each number may only fall.

use crate::tidy::Finding;
use crate::tidy::rooms::ENGINE;
use crate::tidy::source::{Source, behind_closing, body_or_end, occurrences};

/// The number of methods of `Engine` in all its `impl` blocks, private ones too. The aim: 100.
const METHODS: usize = 262;
/// The number of fields of `Engine` that are visible outside `core/`. The aim: 0.
const VISIBLE_FIELDS: usize = 8;
/// The number of functions outside `core/` that take the engine by reference. The aim: only those that see all of it.
const TAKERS: usize = 10;

/// The file that declares the engine; only there the numbers are checked.
const DECLARATION: &str = "server/engine/src/core/engine.rs";

/// The numbers are exactly the bounds: a greater one breaks the rule, a smaller one lowers its bound.
pub(crate) fn surface(sources: &[Source]) -> Vec<Finding> {
    let Some(at) = sources.iter().find(|source| source.path == DECLARATION) else { return Vec::new() };
    let engine = || sources.iter().filter(|source| source.is_rust() && source.path.starts_with(ENGINE));
    let outside = || engine().filter(|source| !source.path[ENGINE.len()..].starts_with("core/"));
    let counts = [
        ("METHODS", METHODS, engine().map(|source| methods(&source.shipped)).sum()),
        ("VISIBLE_FIELDS", VISIBLE_FIELDS, visible_fields(&at.shipped)),
        ("TAKERS", TAKERS, outside().map(|source| takers(&source.shipped)).sum()),
    ];
    counts.into_iter().filter_map(|(name, bound, count)| compare(name, bound, count)).collect()
}

/// The finding for a number that is not its bound.
fn compare(name: &str, bound: usize, count: usize) -> Option<Finding> {
    let problem = match count.cmp(&bound) {
        std::cmp::Ordering::Equal => return None,
        std::cmp::Ordering::Less => format!("lower `{name}` from {bound} to {count}"),
        std::cmp::Ordering::Greater => format!("`{name}` is {count}, at most {bound}"),
    };
    Some(Finding { path: DECLARATION.to_owned(), line: 0, problem })
}

/// The number of functions directly in `impl` blocks whose type is `Engine`.
fn methods(code: &str) -> usize {
    let blocks = occurrences(code, "impl").into_iter().filter_map(|start| {
        let open = body_or_end(code, start)?;
        let is_block = code.as_bytes()[open] == b'{' && implements_for_engine(&code[start..open]);
        is_block.then(|| &code[open + 1..behind_closing(code, open).saturating_sub(1)])
    });
    blocks.map(|block| functions(block).filter(|&at| depth(block, at) == 0).count()).sum()
}

/// Whether the head of an `impl` block names `Engine` as its type: `impl Engine`, `impl<T> Trait<T> for Engine`.
fn implements_for_engine(head: &str) -> bool {
    let subject = head.strip_prefix("impl").unwrap_or(head).trim();
    let subject = subject.rsplit_once(" for ").map_or(subject, |(_, subject)| subject);
    let path = subject.split_whitespace().last().unwrap_or_default();
    path == "Engine" || path.ends_with("::Engine")
}

/// The offsets of all functions that have a name.
fn functions(code: &str) -> impl Iterator<Item = usize> {
    let is_named = |start: &usize| {
        let rest = code[start + 2..].trim_start();
        rest.starts_with(|first: char| first.is_alphabetic() || first == '_')
    };
    occurrences(code, "fn").into_iter().filter(is_named)
}

/// The number of braces that are open at an offset.
fn depth(code: &str, at: usize) -> usize {
    let before = code[..at].bytes();
    before.fold(0, |depth: usize, byte| match byte {
        b'{' => depth + 1,
        b'}' => depth.saturating_sub(1),
        _ => depth,
    })
}

/// The number of fields of `struct Engine` that are visible outside the folder of its file.
fn visible_fields(code: &str) -> usize {
    let Some(start) = occurrences(code, "struct Engine").first().copied() else { return 0 };
    let Some(open) = body_or_end(code, start) else { return 0 };
    let lines = code[open..behind_closing(code, open)].lines().map(str::trim_start);
    lines.filter(|line| line.starts_with("pub ") || line.starts_with("pub(crate)")).count()
}

/// The number of functions one of whose parameters is a reference to the engine.
fn takers(code: &str) -> usize {
    let signature = |start: usize| body_or_end(code, start).map_or("", |end| &code[start..end]);
    functions(code).filter(|&start| has_engine(signature(start))).count()
}

/// Whether a signature has `&Engine`, `&mut Engine`, or either with a lifetime, before its result.
fn has_engine(signature: &str) -> bool {
    let open = signature.find('(').unwrap_or(signature.len());
    let parameters = &signature[open..behind_closing(signature, open)];
    occurrences(parameters, "Engine").into_iter().any(|at| {
        let before = parameters[..at].trim_end();
        let before = before.strip_suffix("mut").unwrap_or(before).trim_end();
        let lifetime = before
            .rfind('\'')
            .filter(|&quote| before[quote + 1..].chars().all(|c| c.is_alphanumeric() || c == '_'));
        lifetime.map_or(before, |quote| before[..quote].trim_end()).ends_with('&')
    })
}

#[test]
fn methods_of_the_engine_are_counted() {
    let code =
        "impl Engine { fn a() { fn inner() {} } pub(crate) const fn b<'a>(&'a self) -> impl Fn(&Engine) {} }
                impl<T> From<T> for Engine { fn from(_: T) -> Self {} }
                impl Caller for Client<'_> { fn c(engine: &Engine) {} }
                impl EngineTime { fn d() {} }
                fn e() -> impl Iterator<Item = Engine> { f() }";
    assert_eq!(methods(code), 3);
}

#[test]
fn fields_of_the_engine_that_others_see_are_counted() {
    let code = "pub struct EngineStart { pub a: u8 }
                pub struct Engine {
                    pub b: u8,
                    pub(crate) c: u8,
                    pub(super) d: u8,
                    e: u8,
                }";
    assert_eq!(visible_fields(code), 2);
}

#[test]
fn functions_that_take_the_engine_are_counted() {
    let code = "fn a(engine: &mut Engine) {} fn b(&self, _: &Engine, x: u8) -> bool;
                fn c<'a>(engine: &'a mut Engine, x: &'a Engine) {} fn d(x: &EngineTime) -> &Engine {}
                fn e(run: impl Fn(&mut Engine)) {} type F = fn(&mut Engine);
                fn g(self, call: Call) { h(|engine: &Engine| 0) }";
    assert_eq!(takers(code), 4);
}

#[test]
fn a_number_above_or_below_its_bound_is_found() {
    let problem = |bound, count| compare("X", bound, count).map(|finding| finding.problem);
    assert_eq!(problem(3, 3), None);
    assert_eq!(problem(3, 4).as_deref(), Some("`X` is 4, at most 3"));
    assert_eq!(problem(3, 2).as_deref(), Some("lower `X` from 3 to 2"));
}

//! Forbidden words: ambient state below `net/`, unsafe code outside the allowed places, unfinished work.

use crate::tidy::Finding;
use crate::tidy::rooms::{ENGINE, STORE};
use crate::tidy::source::{Source, body_or_end, occurrences};

/// The type names that make a `static` more than a constant.
const MUTABLE_INSIDE: &[&str] = &["Atomic", "Cell", "Mutex", "Lock", "Once", "Lazy"];

/// The places where unsafe code is allowed.
const UNSAFE_LEAVES: &[&str] = &["scripting/"];

/// The greatest distance of an `unsafe` from its reason above, in lines.
const MAX_REASON_LINES: usize = 8;

/// Whether a file must not use ambient state: the engine and all below it, and the crates on which it depends. Clippy
/// finds clocks, threads, locks, files and randomness there, by `server/engine/clippy.toml`.
fn is_below_net(path: &str) -> bool {
    [ENGINE, STORE, "resp/src/", "scripting/src/"].iter().any(|below| path.starts_with(below))
}

/// No global state in the engine and below it.
pub(crate) fn global_state(sources: &[Source]) -> Vec<Finding> {
    let below = sources.iter().filter(|source| is_below_net(&source.path));
    below.flat_map(|source| [mutable_statics(source), thread_locals(source)].concat()).collect()
}

/// Whether the word at this offset is the name of a lifetime.
fn is_lifetime(code: &str, at: usize) -> bool {
    at > 0 && code.as_bytes()[at - 1] == b'\''
}

fn thread_locals(source: &Source) -> Vec<Finding> {
    let found = |at| source.finding(at, "`thread_local`: no state beside the engine".to_string());
    occurrences(&source.shipped, "thread_local").into_iter().map(found).collect()
}

/// Statics whose values can change.
fn mutable_statics(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for start in occurrences(&source.shipped, "static") {
        let end = body_or_end(&source.shipped, start).unwrap_or(source.shipped.len());
        let declared = source.shipped[start..end].split('=').next().unwrap_or_default();
        let changes = declared.starts_with("static mut ")
            || MUTABLE_INSIDE.iter().any(|inside| declared.contains(inside));
        if !is_lifetime(&source.shipped, start) && changes {
            findings.push(
                source.finding(start, "a `static` that changes: no state beside the engine".to_string()),
            );
        }
    }
    findings
}

/// `unsafe` occurs only in the allowed places, each use with its reason above it.
pub(crate) fn unsafe_code(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        let lines: Vec<&str> = source.text.lines().collect();
        let allowed = UNSAFE_LEAVES.iter().any(|leaf| source.path.starts_with(leaf));
        for at in occurrences(&source.code, "unsafe") {
            // `#[unsafe(no_mangle)]` and the type of a function pointer hold no code.
            if is_function_type(&source.code, at) {
                continue;
            }
            let line = source.line_at(at);
            let above = &lines[line.saturating_sub(MAX_REASON_LINES + 1)..line];
            if !allowed {
                findings.push(source.finding(at, "`unsafe` outside its leaves".to_string()));
            } else if !above.iter().any(|text| text.contains("SAFETY:") || text.contains("# Safety")) {
                findings.push(source.finding(at, "`unsafe` without a `// SAFETY:` above it".to_string()));
            }
        }
    }
    findings
}

/// Whether the `unsafe` at this offset is part of `unsafe extern "C" fn(..)` as a type: there, no name follows `fn`.
fn is_function_type(code: &str, at: usize) -> bool {
    let end = body_or_end(code, at).unwrap_or(code.len());
    let head = &code[at..end];
    let behind_fn = occurrences(head, "fn").first().map(|&offset| head[offset + 2..].trim_start());
    behind_fn.is_some_and(|rest| rest.starts_with('('))
}

/// No unfinished work, and no disabled test.
pub(crate) fn unfinished(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        for word in ["todo!", "unimplemented!", "dbg!"] {
            let places = occurrences(&source.code, word);
            findings.extend(places.into_iter().map(|at| source.finding(at, format!("`{word}`"))));
        }
        for mark in ["#[ignore", "#![allow("] {
            let places = source.code.match_indices(mark);
            findings.extend(places.map(|(at, _)| source.finding(at, format!("`{mark}`"))));
        }
        for word in ["TODO", "FIXME", "XXX", "HACK"] {
            let places = occurrences(&source.comments, word);
            findings.extend(places.into_iter().map(|at| source.finding(at, format!("`{word}`"))));
        }
    }
    findings
}

#[test]
fn global_state_is_found_below_net_only() {
    let problem = "1: a `static` that changes: no state beside the engine";
    for code in
        ["static mut N: u64 = 0;", "static N: AtomicU64 = AtomicU64::new(0);", "static L: OnceLock<u8> = X;"]
    {
        for path in ["server/engine/src/core/x.rs", "resp/src/x.rs", "scripting/src/x.rs"] {
            assert_eq!(crate::tidy::findings(global_state, path, code), [problem]);
        }
        for path in ["server/src/net/x.rs", "server/program/src/main.rs", "tests/src/x.rs"] {
            assert_eq!(crate::tidy::findings(global_state, path, code), [""; 0]);
        }
    }
    let found = crate::tidy::findings(global_state, "resp/src/x.rs", "thread_local! {}");
    assert_eq!(found, ["1: `thread_local`: no state beside the engine"]);
    let good = "fn f(_: &'static mut u8) {}\n\
                const A: &'static str = \"Mutex\"; static T: [u8; 2] = [1, 2];\n\
                #[cfg(test)]\nmod tests { static N: AtomicU64 = AtomicU64::new(0); }";
    assert_eq!(crate::tidy::findings(global_state, "server/engine/src/core/x.rs", good), [""; 0]);
}

#[test]
fn unsafe_needs_its_leaf_and_its_reason() {
    let bare = "fn f() {\n    unsafe { g() }\n}\n";
    let reasoned = "fn f() {\n    // SAFETY: g has no conditions.\n    unsafe { g() }\n}\n";
    assert_eq!(
        crate::tidy::findings(unsafe_code, "server/src/net/x.rs", reasoned),
        ["3: `unsafe` outside its leaves"]
    );
    let found = crate::tidy::findings(unsafe_code, "scripting/src/x.rs", bare);
    assert_eq!(found, ["2: `unsafe` without a `// SAFETY:` above it"]);
    assert_eq!(crate::tidy::findings(unsafe_code, "scripting/src/x.rs", reasoned), [""; 0]);
    let pointer = "type F = unsafe extern \"C\" fn(u8) -> u8; // unsafe\n";
    assert_eq!(crate::tidy::findings(unsafe_code, "scripting/src/x.rs", pointer), [""; 0]);
    let function = "unsafe extern \"C\" fn f(x: u8) {}\n";
    assert_eq!(crate::tidy::findings(unsafe_code, "scripting/src/x.rs", function).len(), 1);
}

#[test]
fn unfinished_work_is_found() {
    let text = "fn f() { todo!() }\n#[ignore]\n// FIXME later\n#![allow(dead_code)]\n";
    let found = crate::tidy::findings(unfinished, "bench/src/x.rs", text);
    assert_eq!(found, ["1: `todo!`", "2: `#[ignore`", "4: `#![allow(`", "3: `FIXME`"]);
    assert_eq!(crate::tidy::findings(unfinished, "bench/src/x.rs", "// to do: \"todo!\"\n"), [""; 0]);
}

//! Words that may not appear: ambient state below `net/`, unsafe code outside its leaves, unfinished work.

use crate::Finding;
use crate::source::{Source, body_or_end, occurrences};

/// What has no place where everything comes in as an argument, and why.
const AMBIENT: &[(&str, &str)] = &[
    ("tokio", "no runtime"),
    ("mio", "no sockets"),
    ("socket2", "no sockets"),
    ("TcpStream", "no sockets"),
    ("TcpListener", "no sockets"),
    ("UnixStream", "no sockets"),
    ("UnixListener", "no sockets"),
    ("UdpSocket", "no sockets"),
    ("std::thread", "no threads"),
    ("thread::spawn", "no threads"),
    ("thread::sleep", "no threads"),
    ("mpsc", "no threads"),
    ("parking_lot", "no locks"),
    ("dashmap", "no locks"),
    ("Mutex", "no locks"),
    ("RwLock", "no locks"),
    ("Condvar", "no locks"),
    ("Instant::now", "time comes in as an argument"),
    ("SystemTime", "time comes in as an argument"),
    ("thread_local", "no state beside the engine"),
    ("OnceLock", "no state beside the engine"),
    ("LazyLock", "no state beside the engine"),
    ("lazy_static", "no state beside the engine"),
    ("once_cell", "no state beside the engine"),
    ("static mut", "no state beside the engine"),
    ("rand", "randomness comes in as a seed"),
    ("fastrand", "randomness comes in as a seed"),
    ("getrandom", "randomness comes in as a seed"),
    ("RandomState", "randomness comes in as a seed"),
    ("DefaultHashBuilder", "randomness comes in as a seed"),
    ("std::fs", "no files"),
    ("std::env", "no environment"),
    ("std::process", "no processes"),
];

/// Maps whose default hasher is seeded by the system.
const AMBIENT_MAPS: &[&str] = &["HashMap", "HashSet"];

/// What makes a `static` more than a constant.
const MUTABLE_INSIDE: &[&str] = &["Atomic", "Cell", "Mutex", "Lock", "Once", "Lazy"];

/// The places where unsafe code is allowed.
const UNSAFE_LEAVES: &[&str] = &["scripting/"];

/// How far above an `unsafe` its reason may begin, in lines.
const REASON_LINES_MAX: usize = 8;

/// Whether a file has to do without anything ambient: the engine and all below it, and the crates it stands on.
fn is_below_net(path: &str) -> bool {
    [crate::rooms::ENGINE, "resp/src/", "scripting/src/"].iter().any(|below| path.starts_with(below))
}

/// No runtime, thread, lock, clock, randomness or global state below `net/` and `admin/`.
pub(crate) fn ambient(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| is_below_net(&source.path)) {
        for (word, why) in AMBIENT {
            // `&'static mut T` is a reference to something, not a static that can change.
            let places = occurrences(&source.shipped, word).into_iter();
            let places = places.filter(|&at| !is_lifetime(&source.shipped, at));
            findings.extend(places.map(|at| source.finding(at, format!("`{word}`: {why}"))));
        }
        findings.extend(ambient_maps(source));
        findings.extend(mutable_statics(source));
    }
    findings
}

/// `std::collections::HashMap` and its kin, however they are imported.
fn ambient_maps(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for start in occurrences(&source.shipped, "std::collections") {
        let path_end =
            source.shipped[start..].find([';', '(', '<']).map_or(source.shipped.len(), |n| start + n);
        for map in AMBIENT_MAPS {
            if !occurrences(&source.shipped[start..path_end], map).is_empty() {
                let problem = format!("std's `{map}` hashes by the system's randomness");
                findings.push(source.finding(start, problem));
            }
        }
    }
    findings
}

/// Whether the word at this offset is the name of a lifetime.
fn is_lifetime(code: &str, at: usize) -> bool {
    at > 0 && code.as_bytes()[at - 1] == b'\''
}

/// Statics that can change.
fn mutable_statics(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for start in occurrences(&source.shipped, "static") {
        let end = body_or_end(&source.shipped, start).unwrap_or(source.shipped.len());
        let declared = source.shipped[start..end].split('=').next().unwrap_or_default();
        if !is_lifetime(&source.shipped, start)
            && MUTABLE_INSIDE.iter().any(|inside| declared.contains(inside))
        {
            findings.push(
                source.finding(start, "a `static` that changes: no state beside the engine".to_string()),
            );
        }
    }
    findings
}

/// `unsafe` only in its leaves, each use with its reason above it.
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
            let above = &lines[line.saturating_sub(REASON_LINES_MAX + 1)..line];
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

/// Nothing left open, no test switched off.
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
fn ambient_state_is_found_below_net_only() {
    let bad = [
        ("use tokio::net;", "`tokio`: no runtime"),
        ("let t = std::time::Instant::now();", "`Instant::now`: time comes in as an argument"),
        ("use std::sync::{Arc, Mutex};", "`Mutex`: no locks"),
        ("thread_local! {}", "`thread_local`: no state beside the engine"),
        ("use std::collections::{BTreeMap, HashMap};", "std's `HashMap` hashes by the system's randomness"),
        ("static mut N: u64 = 0;", "`static mut`: no state beside the engine"),
        ("static N: AtomicU64 = AtomicU64::new(0);", "a `static` that changes: no state beside the engine"),
    ];
    for (code, problem) in bad {
        for path in [
            "server/engine/src/core/x.rs",
            "server/engine/src/time/wheel/mod.rs",
            "resp/src/x.rs",
            "scripting/src/x.rs",
        ] {
            assert_eq!(crate::findings(ambient, path, code), [format!("1: {problem}")]);
        }
        for path in ["server/src/net/x.rs", "server/src/main.rs", "tests/src/x.rs"] {
            assert_eq!(crate::findings(ambient, path, code), [""; 0]);
        }
    }
    let good = "// no tokio\nfn f(_: &'static mut u8) {}\n\
                const A: &'static str = \"Mutex\"; static T: [u8; 2] = [1, 2];\n\
                use hashbrown::HashMap;\n\
                #[cfg(test)]\nmod tests { use std::collections::HashMap; }";
    assert_eq!(crate::findings(ambient, "server/engine/src/core/x.rs", good), [""; 0]);
}

#[test]
fn unsafe_needs_its_leaf_and_its_reason() {
    let bare = "fn f() {\n    unsafe { g() }\n}\n";
    let reasoned = "fn f() {\n    // SAFETY: g has no conditions.\n    unsafe { g() }\n}\n";
    assert_eq!(
        crate::findings(unsafe_code, "server/src/net/x.rs", reasoned),
        ["3: `unsafe` outside its leaves"]
    );
    let found = crate::findings(unsafe_code, "scripting/src/x.rs", bare);
    assert_eq!(found, ["2: `unsafe` without a `// SAFETY:` above it"]);
    assert_eq!(crate::findings(unsafe_code, "scripting/src/x.rs", reasoned), [""; 0]);
    let pointer = "type F = unsafe extern \"C\" fn(u8) -> u8; // unsafe\n";
    assert_eq!(crate::findings(unsafe_code, "scripting/src/x.rs", pointer), [""; 0]);
    let function = "unsafe extern \"C\" fn f(x: u8) {}\n";
    assert_eq!(crate::findings(unsafe_code, "scripting/src/x.rs", function).len(), 1);
}

#[test]
fn unfinished_work_is_found() {
    let text = "fn f() { todo!() }\n#[ignore]\n// FIXME later\n#![allow(dead_code)]\n";
    let found = crate::findings(unfinished, "bench/src/x.rs", text);
    assert_eq!(found, ["1: `todo!`", "2: `#[ignore`", "4: `#![allow(`", "3: `FIXME`"]);
    assert_eq!(crate::findings(unfinished, "bench/src/x.rs", "// to do: \"todo!\"\n"), [""; 0]);
}

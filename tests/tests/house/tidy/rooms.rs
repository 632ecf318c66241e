//! The rooms of the engine and the store, and the rooms that each may name: imports run downwards, never up.

use crate::tidy::Finding;
use crate::tidy::source::{Source, behind_closing, occurrences};
use Knows::{AllBelowBut, These};

/// A crate whose folders are rooms.
struct House {
    /// The folder of the crate's sources.
    sources: &'static str,
    /// The rooms from the lowest to the highest, each with those it may name: earlier ones only, so that there is no
    /// cycle.
    rooms: &'static [(&'static str, Knows)],
    /// Files at the crate's root that are no rooms: they assemble the rooms, and may name all.
    roofs: &'static [&'static str],
    /// The beginnings of paths to its rooms.
    roots: &'static [&'static str],
}

/// The rooms that a room may name.
#[derive(Clone, Copy)]
enum Knows {
    These(&'static [&'static str]),
    /// Every earlier room except these.
    AllBelowBut(&'static [&'static str]),
}

impl House {
    /// Whether a room may name another one.
    fn may_name(&self, room: &str, other: &str) -> bool {
        let place = |name: &str| self.rooms.iter().position(|(room, _)| *room == name);
        let (Some(at), Some(below)) = (place(room), place(other)) else { return false };
        below < at
            && match self.rooms[at].1 {
                These(rooms) => rooms.contains(&other),
                AllBelowBut(rooms) => !rooms.contains(&other),
            }
    }
}

const HOUSES: &[House] = &[
    House {
        sources: STORE,
        rooms: &[
            ("memory", These(&[])),
            ("pages", These(&["memory"])),
            ("time", These(&["pages"])),
            ("values", These(&["memory"])),
            ("rdb", These(&["values"])),
            ("keyspace", AllBelowBut(&["rdb"])),
        ],
        roofs: &["lib"],
        roots: &["crate::"],
    },
    House {
        sources: ENGINE,
        rooms: &[
            // The rooms of the store.
            ("memory", These(&[])),
            ("pages", These(&[])),
            ("time", These(&[])),
            ("values", These(&[])),
            ("rdb", These(&[])),
            ("keyspace", These(&[])),
            ("finally", These(&[])),
            ("spec", These(&["memory", "time", "values", "keyspace"])),
            ("acl", These(&["memory", "keyspace", "spec"])),
            ("commands", These(&["time", "values", "rdb", "keyspace", "spec"])),
            ("pubsub", These(&["memory", "keyspace"])),
            ("locks", These(&["memory", "finally", "time", "values", "keyspace", "spec", "pubsub"])),
            ("sentinel", These(&["keyspace"])),
            ("config", These(&["time", "values", "keyspace", "spec", "acl", "sentinel"])),
            ("clock", These(&["time", "keyspace", "spec"])),
            ("statistics", These(&["memory", "keyspace", "spec"])),
            ("slow_log", These(&[])),
            ("monitors", These(&[])),
            ("latency", These(&[])),
            ("propagation", These(&["time", "values", "rdb", "keyspace", "spec"])),
            (
                "persistence",
                These(&["time", "values", "rdb", "keyspace", "spec", "config", "clock", "propagation"]),
            ),
            ("outbound", These(&[])),
            (
                "clients",
                These(&[
                    "memory",
                    "time",
                    "keyspace",
                    "spec",
                    "acl",
                    "pubsub",
                    "locks",
                    "clock",
                    "propagation",
                    "persistence",
                ]),
            ),
            ("deadlines", These(&["time", "keyspace", "locks", "clock", "clients"])),
            ("scripts", These(&["keyspace", "spec", "config", "clients"])),
            ("faults", These(&["memory", "keyspace", "spec", "clock", "clients", "scripts"])),
            (
                "replication",
                These(&[
                    "memory",
                    "time",
                    "values",
                    "rdb",
                    "keyspace",
                    "spec",
                    "config",
                    "clock",
                    "outbound",
                    "clients",
                    "propagation",
                ]),
            ),
            ("member", These(&["keyspace", "spec", "locks", "config", "clock", "replication", "faults"])),
            ("tracking", These(&["memory", "keyspace", "spec", "clients"])),
            ("pauses", These(&["keyspace", "spec", "clock", "clients", "scripts"])),
            ("shutdown", These(&["keyspace", "spec", "config", "clock", "replication"])),
            (
                "limits",
                These(&[
                    "memory",
                    "time",
                    "keyspace",
                    "spec",
                    "acl",
                    "locks",
                    "config",
                    "clock",
                    "statistics",
                    "clients",
                    "scripts",
                    "faults",
                    "replication",
                ]),
            ),
            (
                "cluster",
                These(&[
                    "memory",
                    "time",
                    "keyspace",
                    "spec",
                    "config",
                    "clock",
                    "outbound",
                    "clients",
                    "scripts",
                    "replication",
                    "member",
                ]),
            ),
            (
                "sentinel_server",
                These(&["time", "keyspace", "spec", "sentinel", "config", "clock", "outbound"]),
            ),
            (
                "waits",
                These(&[
                    "time",
                    "keyspace",
                    "spec",
                    "pubsub",
                    "locks",
                    "config",
                    "clock",
                    "statistics",
                    "clients",
                    "faults",
                    "replication",
                    "cluster",
                ]),
            ),
            (
                "client_list",
                These(&[
                    "time",
                    "keyspace",
                    "spec",
                    "acl",
                    "clients",
                    "faults",
                    "replication",
                    "tracking",
                    "cluster",
                    "waits",
                ]),
            ),
            ("core", AllBelowBut(&["commands", "pages"])),
            (
                "topology",
                These(&[
                    "clients",
                    "outbound",
                    "locks",
                    "faults",
                    "spec",
                    "clock",
                    "replication",
                    "member",
                    "sentinel_server",
                    "core",
                ]),
            ),
            ("server_commands", AllBelowBut(&["commands", "pages"])),
        ],
        roofs: &["lib", "families"],
        roots: &["crate::", "lockwheel_store::"],
    },
    House {
        sources: "server/src/",
        rooms: &[("net", These(&[]))],
        roofs: &["lib", "server"],
        roots: &["crate::"],
    },
];

/// All rooms: the folder of each crate's sources, and the name of the room.
pub(crate) fn all_rooms() -> impl Iterator<Item = (&'static str, &'static str)> {
    HOUSES.iter().flat_map(|house| house.rooms.iter().map(|(room, _)| (house.sources, *room)))
}

/// The rooms of the engine and of the store.
pub(crate) fn engine_rooms() -> impl Iterator<Item = &'static str> {
    HOUSES.iter().filter(|house| house.sources == ENGINE).flat_map(|house| house.rooms).map(|(room, _)| *room)
}

/// The folder of the engine's sources. The engine performs no I/O.
pub(crate) const ENGINE: &str = "server/engine/src/";
/// The folder of the data's sources.
pub(crate) const STORE: &str = "server/store/src/";

/// Crates and the words that may not appear among their dependencies.
const MANIFESTS: &[(&str, &[&str])] = &[
    (
        "resp/Cargo.toml",
        &["tokio", "lockwheel-lua-sys", "lockwheel", "lockwheel-scripting", "parking_lot", "dashmap"],
    ),
    ("scripting/lua-src/Cargo.toml", &["tokio", "lockwheel", "lockwheel-resp", "lockwheel-scripting"]),
    ("scripting/Cargo.toml", &["tokio", "lockwheel", "parking_lot", "dashmap"]),
    (
        "server/engine/Cargo.toml",
        &[
            "dashmap",
            "fastrand",
            "getrandom",
            "lockwheel",
            "mio",
            "parking_lot",
            "once_cell",
            "quanta",
            "rand",
            "rustix",
            "socket2",
            "tikv-jemalloc-ctl",
            "tikv-jemallocator",
            "tokio",
            "tracing-subscriber",
        ],
    ),
    (
        "server/store/Cargo.toml",
        &[
            "fastrand",
            "getrandom",
            "lockwheel",
            "lockwheel-engine",
            "lockwheel-scripting",
            "parking_lot",
            "rand",
        ],
    ),
];

/// A room names only rooms below it.
pub(crate) fn imports(sources: &[Source]) -> Vec<Finding> {
    let rust = sources.iter().filter(|source| source.is_rust());
    let inside = |source: &Source| {
        HOUSES.iter().find_map(|house| Some((house, source.path.strip_prefix(house.sources)?.to_owned())))
    };
    rust.filter_map(|source| inside(source).map(|(house, inside)| imports_of(source, house, &inside)))
        .flatten()
        .collect()
}

fn imports_of(source: &Source, house: &House, inside: &str) -> Vec<Finding> {
    let room = inside.split(['/', '.']).next().unwrap_or_default();
    if !house.rooms.iter().any(|(name, _)| *name == room) {
        let unknown = || source.finding(0, format!("`{room}` is not a room of the house: give it a place"));
        return if house.roofs.contains(&room) { Vec::new() } else { vec![unknown()] };
    }
    let mut findings = Vec::new();
    for (at, named) in root_names(&source.shipped, house.roots) {
        let is_room = house.rooms.iter().any(|(name, _)| *name == named);
        if named != room && !house.may_name(room, &named) {
            let what = if is_room { "room" } else { "name at the root" };
            findings.push(source.finding(at, format!("{room} may not know the {what} `{named}`")));
        }
    }
    findings.extend(climbs(source, inside));
    findings
}

/// The first names of all paths from one of these roots: `crate::a::b` and `crate::{a, b::c}`.
fn root_names(code: &str, roots: &'static [&'static str]) -> Vec<(usize, String)> {
    let paths = |root: &'static str| occurrences(code, root).into_iter().map(move |at| (at, at + root.len()));
    let mut names = Vec::new();
    for (start, path) in roots.iter().flat_map(|root| paths(root)) {
        // `$crate::` in a macro is the same root.
        if code[path..].starts_with('{') {
            let end = behind_closing(code, path).saturating_sub(1);
            names.extend(group_heads(&code[path + 1..end]).into_iter().map(|name| (start, name)));
        } else {
            names.push((start, head(&code[path..])));
        }
    }
    names.retain(|(_, name)| !name.is_empty());
    names
}

/// The first name of each element of `a, b::c, d::{e, f}`.
fn group_heads(group: &str) -> Vec<String> {
    let (mut heads, mut depth, mut begins) = (Vec::new(), 0, true);
    for (offset, byte) in group.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => begins = true,
            b if begins && !b.is_ascii_whitespace() => {
                heads.push(head(&group[offset..]));
                begins = false;
            }
            _ => {}
        }
    }
    heads
}

fn head(path: &str) -> String {
    path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Finds `super::super::…` that leaves the room and evades the rule above.
fn climbs(source: &Source, inside: &str) -> Vec<Finding> {
    let mut steps: Vec<&str> = inside.trim_end_matches(".rs").split('/').collect();
    if steps.last() == Some(&"mod") {
        steps.pop();
    }
    let mut findings = Vec::new();
    let mut last_end = 0;
    for start in occurrences(&source.code, "super::") {
        if start < last_end {
            continue;
        }
        let rest = &source.code[start..];
        let climbed = rest.split("::").take_while(|step| step.trim() == "super").count();
        last_end = start + climbed * "super::".len();
        if climbed >= steps.len() + inline_depth(&source.code, start) {
            let problem = "`super` up to the crate's root: write `crate::`".to_string();
            findings.push(source.finding(start, problem));
        }
    }
    findings
}

/// The number of inline modules that enclose an offset.
fn inline_depth(code: &str, at: usize) -> usize {
    let opens = occurrences(code, "mod").into_iter().filter(|&start| start < at).filter_map(|start| {
        let open = start + code[start..].find(['{', ';'])?;
        (code.as_bytes()[open] == b'{').then_some(open)
    });
    opens.filter(|&open| open < at && at < behind_closing(code, open)).count()
}

/// The crates below the server do not depend on the words that are forbidden for them.
pub(crate) fn manifests(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        let Some((_, banned)) = MANIFESTS.iter().find(|(path, _)| *path == source.path) else { continue };
        let mut offset = 0;
        for line in source.text.lines() {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
            if banned.contains(&name) {
                findings.push(source.finding(offset, format!("{} may not know `{name}`", source.path)));
            }
            offset += line.len() + 1;
        }
    }
    findings
}

#[test]
fn the_table_names_existing_and_lower_rooms() {
    for House { rooms, .. } in HOUSES {
        for (index, (room, knows)) in rooms.iter().enumerate() {
            let (These(named) | AllBelowBut(named)) = knows;
            for below in *named {
                assert!(rooms[..index].iter().any(|(name, _)| name == below), "{room} knows {below}");
            }
        }
    }
}

#[test]
fn an_import_upwards_or_sideways_is_found() {
    let cases = [
        (
            "server/store/src/keyspace/tx.rs",
            "use crate::rdb::Payload;",
            "keyspace may not know the room `rdb`",
        ),
        (
            "server/store/src/time/mod.rs",
            "fn f(x: crate::values::X) {}",
            "time may not know the room `values`",
        ),
        (
            "server/engine/src/commands/hash.rs",
            "use crate::{keyspace::Tx, locks::{a, b}};",
            "commands may not know the room `locks`",
        ),
        (
            "server/engine/src/core/mod.rs",
            "use crate::Server;",
            "core may not know the name at the root `Server`",
        ),
        ("server/engine/src/new/mod.rs", "", "`new` is not a room of the house: give it a place"),
        (
            "server/store/src/values/set.rs",
            "use super::super::keyspace;",
            "`super` up to the crate's root: write `crate::`",
        ),
        (
            "server/store/src/values/mod.rs",
            "use super::keyspace;",
            "`super` up to the crate's root: write `crate::`",
        ),
        (
            "server/store/src/values/mod.rs",
            "mod a { use super::super::keyspace; }",
            "`super` up to the crate's root: write `crate::`",
        ),
    ];
    for (path, code, problem) in cases {
        assert_eq!(crate::tidy::findings(imports, path, code), [format!("1: {problem}")], "{path}");
    }
    let fine = [
        (
            "server/engine/src/core/x.rs",
            "use crate::{locks, core::y, time::Now}; use super::z; // crate::net",
        ),
        ("server/src/net/mod.rs", "use lockwheel_engine::Engine; mod tests { use super::*; }"),
        ("server/store/src/values/a/b.rs", "use super::super::c;"),
        ("server/src/lib.rs", "use crate::net;"),
        ("tests/src/x.rs", "use crate::anything;"),
    ];
    for (path, code) in fine {
        assert_eq!(crate::tidy::findings(imports, path, code), [""; 0], "{path}");
    }
}

#[test]
fn a_dependency_upwards_is_found() {
    let text = "[dependencies]\nbytes.workspace = true\ntokio.workspace = true\n";
    assert_eq!(
        crate::tidy::findings(manifests, "resp/Cargo.toml", text),
        ["3: resp/Cargo.toml may not know `tokio`"]
    );
    assert_eq!(crate::tidy::findings(manifests, "server/Cargo.toml", text), [""; 0]);
}

//! Prefixed names for all symbols that the linker sees, because a program may contain another Lua.

use crate::{edit, files};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The prefix of every name, also spelled in `src/lib.rs`.
const PREFIX: &str = "lockwheel_";
/// The prefixes of declarations that are visible outside of their file.
const SHARED: [&str; 4] = ["LUA_API", "LUALIB_API", "LUAI_FUNC", "LUAI_DATA"];

/// Renames the declared symbols, by macro definitions at the start of the header that all sources include first.
pub(crate) fn rename(dir: &Path) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for path in [files(dir, "h")?, files(dir, "c")?].concat() {
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        names.extend(text.lines().filter_map(declared).map(str::to_owned));
    }
    // `luaI_openlib` is a second name for `luaL_openlib`; its definition would contradict this one. `lua_ident` is a
    // copyright text.
    names.remove("luaI_openlib");
    names.extend(["luaL_openlib", "lua_ident"].map(str::to_owned));
    let definitions: String = names.iter().map(|name| format!("#define {name} {PREFIX}{name}\n")).collect();
    edit(&dir.join("luaconf.h"), |text| Ok(definitions + text))
}

/// Returns the name that a line declares, if it is visible outside of its file. The name is in parentheses of its own,
/// or precedes an opening bracket or the end of the declaration.
fn declared(line: &str) -> Option<&str> {
    let words = SHARED.iter().find_map(|shared| line.strip_prefix(shared))?;
    let names = || {
        let starts = words.match_indices("lua").map(|(at, _)| at);
        starts.map(|at| {
            let len =
                words[at..].find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(words.len() - at);
            (&words[..at], &words[at..at + len], words[at + len..].trim_start())
        })
    };
    let in_brackets = names().find(|(before, _, after)| before.ends_with('(') && after.starts_with(')'));
    let (_, name, _) =
        in_brackets.or_else(|| names().find(|(_, _, after)| after.starts_with(['(', '[', ';'])))?;
    Some(name)
}

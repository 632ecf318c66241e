//! Names of our own for everything that the linker sees: a program may have another Lua beside this one.

use crate::{edit, files};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What every name begins with. `src/lib.rs` has it too.
const PREFIX: &str = "lockwheel_";
/// What a declaration begins with that is seen beyond its file.
const SHARED: [&str; 4] = ["LUA_API", "LUALIB_API", "LUAI_FUNC", "LUAI_DATA"];

/// Renames what is declared in the sources, by definitions at the start of the header that all of them include first.
pub(crate) fn rename(dir: &Path) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for path in [files(dir, "h")?, files(dir, "c")?].concat() {
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        names.extend(text.lines().filter_map(declared).map(str::to_owned));
    }
    // A second name for `luaL_openlib`, made by a definition that would contradict ours; a text with a copyright.
    names.remove("luaI_openlib");
    names.extend(["luaL_openlib", "lua_ident"].map(str::to_owned));
    let definitions: String = names.iter().map(|name| format!("#define {name} {PREFIX}{name}\n")).collect();
    edit(&dir.join("luaconf.h"), |text| Ok(definitions + text))
}

/// The name that a line declares, if it is seen beyond its file: in brackets of its own, or before one or the end.
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

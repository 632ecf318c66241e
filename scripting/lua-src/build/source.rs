//! The origin of the unmodified sources.

use std::fs;
use std::path::Path;

/// The text with which the crate `lua-src` encloses three headers.
const AROUND: (&str, &str) = ("extern \"C\" {\n", "\n}");
const HEADERS: [&str; 3] = ["lauxlib.h", "lua.h", "lualib.h"];

/// Copies the unmodified sources of Lua 5.1.5 into `to`, by way of `scratch`.
///
/// The crate `lua-src` contains them, but does not tell where cargo has put it. Its build for Emscripten begins by
/// copying the sources, with three headers marked as C. For an unknown machine the build ends there. The manifest
/// requires the exact release whose build was examined for this.
pub(crate) fn copy(to: &Path, scratch: &Path) -> Result<(), String> {
    let told = |path: &Path, error| format!("{}: {error}", path.display());
    let build =
        lua_src::Build::new().target("none-none-emscripten").out_dir(scratch).try_build(lua_src::Lua51);
    let copied = scratch.join("cpp_source");
    if !copied.join("lvm.c").is_file() {
        let reason = build.err().map(|error| error.to_string()).unwrap_or_default();
        return Err(format!("lua-src has not copied its sources: {reason}"));
    }
    fs::create_dir_all(to).map_err(|error| told(to, error))?;
    for path in [crate::files(&copied, "c")?, crate::files(&copied, "h")?].concat() {
        let name = path.file_name().ok_or("a file without a name")?;
        let text = fs::read_to_string(&path).map_err(|error| told(&path, error))?;
        let text = if HEADERS.iter().any(|header| name == *header) { unmarked(&text)? } else { &text };
        let copy = to.join(name);
        fs::write(&copy, text).map_err(|error| told(&copy, error))?;
    }
    fs::remove_dir_all(scratch).map_err(|error| told(scratch, error))
}

/// Returns the text of a header without the enclosing text.
fn unmarked(text: &str) -> Result<&str, String> {
    let inner = text.strip_prefix(AROUND.0).and_then(|text| text.strip_suffix(AROUND.1));
    inner.ok_or_else(|| "lua-src has not marked its headers as it used to".to_owned())
}

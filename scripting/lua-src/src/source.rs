//! Where the untouched sources are.

use std::env;
use std::path::{Path, PathBuf};

/// The version of the original crate that the manifest asks for.
const VERSION: &str = "550.0.0";

/// The directory of the untouched Lua 5.1.5 sources.
///
/// The dependency on the original crate makes cargo unpack it, and every kind of source that cargo has (a registry's
/// cache, a local registry, `cargo vendor`) unpacks crates side by side: it lies beside `mlua-sys`, whose build script
/// this runs in. `LUA_SRC_DIR` names another place, for a build that has `mlua-sys` elsewhere.
pub(crate) fn find() -> Result<PathBuf, String> {
    if let Some(dir) = env::var_os("LUA_SRC_DIR") {
        return checked(PathBuf::from(dir));
    }
    let caller = env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?;
    let crates = Path::new(&caller).parent().ok_or("mlua-sys has no directory above it")?;
    let names = [format!("lua-src-{VERSION}"), "lua-src".to_owned()];
    let found = names.iter().map(|name| crates.join(name)).find(|path| path.is_dir());
    let found = found.ok_or_else(|| format!("neither {} is in {}", names.join(" nor "), crates.display()))?;
    checked(found.join("lua-5.1.5"))
}

fn checked(dir: PathBuf) -> Result<PathBuf, String> {
    if dir.join("lvm.c").is_file() { Ok(dir) } else { Err(format!("no Lua sources in {}", dir.display())) }
}

//! Builds Lua. It copies the unmodified sources and applies the changes listed in [`patches`], each of which must fit
//! exactly. Then it adds the files of `c/`, renames the linker symbols, and compiles the result. No Lua source is
//! stored in this repository.

use std::path::{Path, PathBuf};
use std::{env, fs};

mod names;
mod patches;
mod source;

use patches::{Change, PATCHES};

const LIB: &str = "lockwheel_lua";
/// The environment variable that selects a sanitizer of the C compiler: `address`, with gcc.
const SANITIZE: &str = "LOCKWHEEL_LUA_SANITIZE";
/// The directory of the project's own C files, which are additions to Lua.
const OWN: &str = "c";

fn main() {
    if let Err(reason) = build() {
        panic!("Lua was not built: {reason}");
    }
}

fn build() -> Result<(), String> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let dir = out.join("lua");
    let lib_dir = out.join("lib");
    if dir.exists() {
        fs::remove_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    }
    source::copy(&dir, &out.join("scratch"))?;
    for change in PATCHES.iter().copied().flatten() {
        apply(&dir, change)?;
    }
    add_own(&dir)?;
    names::rename(&dir)?;
    compile(&dir, &lib_dir)?;
    let lines = [
        "cargo::rerun-if-changed=build".to_owned(),
        format!("cargo::rerun-if-changed={OWN}"),
        format!("cargo::rerun-if-env-changed={SANITIZE}"),
        format!("cargo::rustc-link-search=native={}", lib_dir.display()),
        format!("cargo::rustc-link-lib=static={LIB}"),
    ];
    // The sanitizer must precede the C library, whose functions it replaces. So it is a library of this crate: a linker
    // argument would come at the end.
    let sanitizer = is_sanitized()?.then(|| "cargo::rustc-link-lib=dylib=asan".to_owned());
    #[expect(clippy::print_stdout, reason = "the way a build script talks to cargo")]
    for line in lines.into_iter().chain(sanitizer) {
        println!("{line}");
    }
    Ok(())
}

/// Whether Lua is built with the address sanitizer.
fn is_sanitized() -> Result<bool, String> {
    match env::var(SANITIZE).as_deref() {
        Ok("address") => Ok(true),
        Ok("") | Err(env::VarError::NotPresent) => Ok(false),
        _ => Err(format!("{SANITIZE} may be `address`, or not set")),
    }
}

fn apply(dir: &Path, change: &Change) -> Result<(), String> {
    for (file, step) in change.edits {
        let fits = edit(&dir.join(file), |text| step.apply(text));
        fits.map_err(|reason| format!("{file}: {reason} ({})", change.why))?;
    }
    Ok(())
}

/// Copies the project's own files beside those of Lua. No file of Lua is replaced.
fn add_own(dir: &Path) -> Result<(), String> {
    for path in [files(Path::new(OWN), "c")?, files(Path::new(OWN), "h")?].concat() {
        let copy = dir.join(path.file_name().ok_or("a file without a name")?);
        if copy.exists() {
            return Err(format!("{} has the name of a file of Lua's", path.display()));
        }
        fs::copy(&path, &copy).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Rewrites the text of a file.
fn edit(path: &Path, change: impl FnOnce(&str) -> Result<String, String>) -> Result<(), String> {
    let told = |error| format!("{}: {error}", path.display());
    let text = fs::read_to_string(path).map_err(told)?;
    fs::write(path, change(&text)?).map_err(told)
}

/// Returns the files of a directory with this extension, in order.
fn files(dir: &Path, ending: &str) -> Result<Vec<PathBuf>, String> {
    let told = |error| format!("cannot read {}: {error}", dir.display());
    let entries: Result<Vec<_>, _> = fs::read_dir(dir).map_err(told)?.collect();
    let paths = entries.map_err(told)?.into_iter().map(|entry| entry.path());
    let mut found: Vec<_> = paths.filter(|path| path.extension().is_some_and(|it| it == ending)).collect();
    found.sort();
    Ok(found)
}

fn compile(dir: &Path, lib_dir: &Path) -> Result<(), String> {
    let target = env::var("TARGET").map_err(|_| "TARGET is not set")?;
    let mut config = cc::Build::new();
    config
        .cargo_metadata(false)
        .warnings(false)
        .include(dir)
        .out_dir(lib_dir)
        .flag_if_supported("-fno-common");
    config.flag_if_supported("-Werror=implicit-function-declaration");
    if !target.contains("windows") {
        // Use `_setjmp`, which does not save the signal mask. Without dynamic loading and readline, no library is
        // linked.
        config
            .define("LUA_USE_ULONGJMP", None)
            .define("LUA_USE_MKSTEMP", None)
            .define("LUA_USE_ISATTY", None);
    }
    if env::var_os("CARGO_CFG_DEBUG_ASSERTIONS").is_some() {
        config.define("LUA_USE_APICHECK", None);
    }
    if is_sanitized()? {
        // Lua's own assertions are enabled, too.
        config
            .flag("-fsanitize=address")
            .flag("-fno-omit-frame-pointer")
            .flag("-include")
            .flag("assert.h")
            .define("LUA_USE_APICHECK", None)
            .define("lua_assert(c)", "assert(c)");
    }
    config.files(files(dir, "c")?).try_compile(LIB).map_err(|error| error.to_string())
}

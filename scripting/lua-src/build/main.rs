//! Builds Lua: takes the untouched sources of Lua 5.1.5, makes the changes of the table of [`patches`], each of which
//! must fit exactly, renames what the linker sees, and compiles the result. No Lua source is kept here.

use std::path::{Path, PathBuf};
use std::{env, fs};

mod names;
mod patches;
mod source;

use patches::{Change, PATCHES};

const LIB: &str = "lockwheel_lua";

fn main() {
    if let Err(reason) = build() {
        panic!("Lua was not built: {reason}");
    }
}

fn build() -> Result<(), String> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let dir = out.join("lua-5.1.5");
    let lib_dir = out.join("lib");
    source::copy(&dir, &out.join("scratch"))?;
    for change in PATCHES.iter().copied().flatten() {
        apply(&dir, change)?;
    }
    names::rename(&dir)?;
    compile(&dir, &lib_dir)?;
    let lines = [
        "cargo::rerun-if-changed=build".to_owned(),
        format!("cargo::rustc-link-search=native={}", lib_dir.display()),
        format!("cargo::rustc-link-lib=static={LIB}"),
    ];
    #[expect(clippy::print_stdout, reason = "the way a build script talks to cargo")]
    for line in lines {
        println!("{line}");
    }
    Ok(())
}

fn apply(dir: &Path, change: &Change) -> Result<(), String> {
    edit(&dir.join(change.file), |text| change.apply(text))
}

/// Writes a file's text anew.
fn edit(path: &Path, change: impl FnOnce(&str) -> Result<String, String>) -> Result<(), String> {
    let told = |error| format!("{}: {error}", path.display());
    let text = fs::read_to_string(path).map_err(told)?;
    fs::write(path, change(&text)?).map_err(told)
}

/// The files of a directory with this ending, in order.
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
        // `_setjmp`, which leaves the signal mask alone, and no dynamic loading or readline: no library to link.
        config
            .define("LUA_USE_ULONGJMP", None)
            .define("LUA_USE_MKSTEMP", None)
            .define("LUA_USE_ISATTY", None);
    }
    if env::var_os("CARGO_CFG_DEBUG_ASSERTIONS").is_some() {
        config.define("LUA_USE_APICHECK", None);
    }
    config.files(files(dir, "c")?).try_compile(LIB).map_err(|error| error.to_string())
}

//! A stand-in for the crate `lua-src`, with the part of its interface that the build script of `mlua-sys` calls.
//!
//! It takes the untouched Lua 5.1.5 sources from the registry's copy of the original crate, applies the table of
//! [`patches`], each of which must fit exactly, and compiles the result. No Lua source is kept here.

use std::path::{Path, PathBuf};
use std::{env, fs};

mod patches;
mod source;

use patches::{Change, PATCHES};

pub use Version::Lua51;

/// The version of Lua to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Lua 5.1.5, the only one that is patched.
    Lua51,
}

/// A build of Lua, run from the build script of `mlua-sys`.
#[derive(Debug, Default)]
pub struct Build(());

/// What a build has made.
#[derive(Clone, Debug)]
pub struct Artifacts {
    lib_dir: PathBuf,
    include_dir: PathBuf,
}

const LIB: &str = "lua5.1";

impl Build {
    /// A build with the settings of the running build script.
    pub fn new() -> Build {
        Build(())
    }

    /// Copies, patches and compiles the sources into `OUT_DIR`.
    ///
    /// # Panics
    ///
    /// With the reason, which cargo shows, when the sources are not found, a patch does not fit or the compiler fails.
    pub fn build(&self, _version: Version) -> Artifacts {
        match self.try_build() {
            Ok(artifacts) => artifacts,
            Err(reason) => panic!("Lua was not built: {reason}"),
        }
    }

    fn try_build(&self) -> Result<Artifacts, String> {
        let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
        let patched = out.join("lua-5.1.5-patched");
        let artifacts = Artifacts { lib_dir: out.join("lib"), include_dir: out.join("include") };
        copy_sources(&source::find()?, &patched)?;
        for change in PATCHES.iter().copied().flatten() {
            apply(&patched, change)?;
        }
        for header in ["lauxlib.h", "lua.h", "luaconf.h", "lualib.h"] {
            copy(&patched.join(header), &artifacts.include_dir.join(header))?;
        }
        compile(&patched, &artifacts.lib_dir)?;
        Ok(artifacts)
    }
}

impl Artifacts {
    /// Tells cargo where the library is and what to link.
    pub fn print_cargo_metadata(&self) {
        let lines = [
            format!("cargo:rustc-link-search=native={}", self.lib_dir.display()),
            format!("cargo:rustc-link-lib=static={LIB}"),
            format!("cargo:include={}", self.include_dir.display()),
            format!("cargo:lib={}", self.lib_dir.display()),
        ];
        #[expect(clippy::print_stdout, reason = "the way a build script talks to cargo")]
        for line in lines {
            println!("{line}");
        }
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let told = |error| format!("cannot copy {} to {}: {error}", from.display(), to.display());
    if let Some(dir) = to.parent() {
        fs::create_dir_all(dir).map_err(told)?;
    }
    // Not `fs::copy`: a read-only source (a vendored directory) would make a copy that cannot be patched.
    fs::write(to, fs::read(from).map_err(told)?).map_err(told)
}

fn copy_sources(from: &Path, to: &Path) -> Result<(), String> {
    let told = |error| format!("cannot read {}: {error}", from.display());
    for entry in fs::read_dir(from).map_err(told)? {
        let path = entry.map_err(told)?.path();
        if path.extension().is_some_and(|ext| ext == "c" || ext == "h") {
            let name = path.file_name().ok_or("a file without a name")?;
            copy(&path, &to.join(name))?;
        }
    }
    Ok(())
}

fn apply(dir: &Path, change: &Change) -> Result<(), String> {
    let path = dir.join(change.file);
    let told = |error| format!("{}: {error}", change.file);
    let text = fs::read_to_string(&path).map_err(told)?;
    fs::write(&path, change.apply(&text)?).map_err(told)
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
    let told = |error| format!("cannot read {}: {error}", dir.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(told)? {
        let path = entry.map_err(told)?.path();
        if path.extension().is_some_and(|ext| ext == "c") {
            files.push(path);
        }
    }
    files.sort();
    config.files(files).try_compile(LIB).map_err(|error| error.to_string())
}

//! Redis' own test suite, which is written in Tcl and runs against any server: `tests/tcl-suite/` fetches and runs it.

mod expected;
mod outcome;

pub use expected::{Expected, Mode};
pub use outcome::Outcome;

use crate::redis_server::{find_in_path, free_port, skip};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// How often a run is tried again that did not begin.
const ATTEMPTS_MAX: u32 = 5;

/// The suite, fetched.
#[derive(Debug)]
pub struct Suite {
    /// Where it is kept, below `target/`.
    cache: PathBuf,
}

impl Suite {
    /// Fetches the suite, if it is not there from an earlier run. `None`, after one line on standard error, where this
    /// machine lacks what it needs.
    ///
    /// # Panics
    /// When it is missing and the environment says `CI=true`.
    pub fn fetch() -> Option<Suite> {
        for (program, package) in [("tclsh", "tcl"), ("redis-cli", "redis-tools")] {
            if find_in_path(program).is_none() {
                skip(&[program], &format!("{program} is not installed (apt-get install {package})"));
                return None;
            }
        }
        let cache = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tcl-suite");
        let output = script("fetch").arg(&cache).output().expect("a script starts");
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            skip(&["tclsh"], &format!("Redis' source package cannot be fetched: {}", said.trim_end()));
            return None;
        }
        Some(Suite { cache })
    }

    /// Runs one unit against the server on a port of this machine.
    ///
    /// `skipped`: the tests not to run.
    ///
    /// # Panics
    /// When the suite cannot be run.
    pub fn run(&self, mode: Mode, unit: &str, port: u16, skipped: &[&str]) -> Outcome {
        let mut said = String::new();
        for _ in 0..ATTEMPTS_MAX {
            let output = self.attempt(mode, unit, port, skipped);
            if output.status.success() {
                return Outcome::parse(unit, &String::from_utf8_lossy(&output.stdout));
            }
            said = String::from_utf8_lossy(&output.stderr).into_owned();
        }
        panic!("{unit} did not run: {said}");
    }

    /// One attempt: another process may take a port that the suite's own parts were to talk on.
    fn attempt(&self, mode: Mode, unit: &str, port: u16, skipped: &[&str]) -> Output {
        script("run")
            .env("TCL_SUITE_BASEPORT", free_port().to_string())
            .env("TCL_SUITE_SKIP", skipped.join("\n"))
            .arg(&self.cache)
            .args([mode.name(), &port.to_string(), unit])
            .stdin(Stdio::null())
            .output()
            .expect("a script starts")
    }
}

/// A script of `tests/tcl-suite/`.
fn script(name: &str) -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tcl-suite").join(name))
}

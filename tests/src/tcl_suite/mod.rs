//! Redis' own test suite, which is written in Tcl and runs against any server: `tests/tcl-suite/` fetches and runs it.

mod expected;
mod outcome;

pub use expected::{Expected, Mode};
pub use outcome::Outcome;

use crate::redis_server::{find_in_path, free_port, skip};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of attempts for a run that does not begin.
const MAX_ATTEMPTS: u32 = 5;

/// The number of ports of a run in which the suite starts servers, and of those that its own parts use.
const PORTS: u32 = 128;

/// The server against which a unit runs.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// The server that listens on this port of this machine.
    Port(u16),
    /// The suite starts this program itself.
    Program(&'a Path),
}

/// The fetched suite.
#[derive(Debug)]
pub struct Suite {
    /// The directory of the suite, below `target/`.
    cache: PathBuf,
}

impl Suite {
    /// Fetches the suite, if no earlier run has done so. Returns `None`, after one line on standard error, if this
    /// machine lacks a requirement.
    ///
    /// # Panics
    /// Panics if a requirement is missing and the environment has `CI=true`.
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

    /// Runs one unit against a server.
    ///
    /// `skipped` names the tests not to run.
    ///
    /// # Panics
    /// Panics if the suite cannot be run.
    pub fn run(&self, mode: Mode, unit: &str, target: Target<'_>, skipped: &[&str]) -> Outcome {
        let mut said = String::new();
        for _ in 0..MAX_ATTEMPTS {
            let output = self.attempt(mode, unit, target, skipped);
            if output.status.success() {
                return Outcome::parse(unit, &String::from_utf8_lossy(&output.stdout));
            }
            said = String::from_utf8_lossy(&output.stderr).into_owned();
        }
        panic!("{unit} did not run: {said}");
    }

    /// Makes one attempt. Another process may take a port that the suite's own parts need.
    fn attempt(&self, mode: Mode, unit: &str, target: Target<'_>, skipped: &[&str]) -> Output {
        let (base, server) = match target {
            Target::Port(port) => (u32::from(free_port()), port.to_string()),
            Target::Program(path) => (spawn_ports(), path.display().to_string()),
        };
        script("run")
            .env("TCL_SUITE_BASEPORT", base.to_string())
            .env("TCL_SUITE_SKIP", skipped.join("\n"))
            .arg(&self.cache)
            .args([mode.name(), &server, unit])
            .stdin(Stdio::null())
            .output()
            .expect("a script starts")
    }
}

/// Returns the first port of the next run that starts servers. The ports lie below those that systems give out, and
/// apart from those of other runs and test processes. The suite skips ports in use.
fn spawn_ports() -> u32 {
    const FIRST: u32 = 11_000;
    const RUNS: u32 = 160;
    static RUN: AtomicU32 = AtomicU32::new(0);
    let run = std::process::id().wrapping_mul(31).wrapping_add(RUN.fetch_add(1, Ordering::Relaxed));
    FIRST + run % RUNS * PORTS
}

/// A script of `tests/tcl-suite/`.
fn script(name: &str) -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tcl-suite").join(name))
}

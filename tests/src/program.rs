//! The program `lockwheel`, for tests that start it as a user does.

use crate::redis_server::fresh_directory;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;

/// Where it is: beside the tests, built as they are, when a process of tests first asks for it. What has not changed is
/// not built again: the selection of packages decides the features of what they share, so it is the one of
/// `cargo test --workspace`, which has built the program already.
///
/// # Panics
/// When it cannot be built.
pub fn path() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(build).clone()
}

/// Builds it; where it is.
fn build() -> PathBuf {
    let test = std::env::current_exe().expect("a test is a file");
    let directory = test.ancestors().nth(2).expect("tests are built into target/<profile>/deps");
    let mut build = Command::new(env!("CARGO"));
    build.args(["test", "--no-run", "--quiet", "--offline", "--workspace", "--test", "process"]);
    if directory.file_name().is_some_and(|profile| profile == "release") {
        build.arg("--release");
    }
    // The package of the running test is not that of the build: what is built by these names would be built again.
    let names = std::env::vars_os().map(|(name, _)| name);
    let of_package = |name: &OsString| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    };
    names.filter(of_package).for_each(|name| _ = build.env_remove(name));
    let output = build.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let program = directory.join(format!("lockwheel{}", std::env::consts::EXE_SUFFIX));
    assert!(program.is_file(), "{} is not there", program.display());
    program
}

/// Reads a log up to the line that says that its server is ready; that, or nothing at the end.
///
/// # Panics
/// When it cannot be read.
pub fn ready_line(log: &mut impl BufRead) -> String {
    loop {
        let mut line = String::new();
        log.read_line(&mut line).expect("the log is text");
        if line.is_empty() || line.contains("eady to accept connections") {
            return line;
        }
    }
}

/// The program, running on a free port; killed when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    addr: SocketAddr,
    /// What it saves stands in a directory of its own.
    directory: PathBuf,
}

impl Process {
    /// Starts it with these options, and returns once it accepts connections.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(options: &[&str]) -> Process {
        let mut command = Command::new(path());
        let directory = fresh_directory();
        command.args(["--port", "0"]).arg("--dir").arg(&directory).args(options).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut log = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        let ready = ready_line(&mut log);
        let port = ready.trim_end().rsplit_once("port=").and_then(|(_, port)| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("not ready: {ready}"));
        // The pipe has to be emptied for as long as it lives, or its next line would block it.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Process { child, addr: (Ipv4Addr::LOCALHOST, port).into(), directory }
    }

    /// The address it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Waits until it has ended by itself; how it has.
    ///
    /// # Panics
    /// When it cannot be waited for.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("it is a child")
    }

    /// Its process id.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Errors mean that it has ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

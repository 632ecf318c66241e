//! The program `lockwheel`, for tests that start it as a user does.

use crate::redis_server::fresh_directory;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;

/// Returns the path of the program. It lies beside the tests, and is built with their profile when a process of tests
/// first asks for it. An unchanged program is not built again: the build selects the packages of `cargo test
/// --workspace`, which has built the program already, because the selection decides the features of shared packages.
///
/// # Panics
/// Panics if it cannot be built.
pub fn path() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(build).clone()
}

/// Builds the program and returns its path.
fn build() -> PathBuf {
    let test = std::env::current_exe().expect("a test is a file");
    let directory = test.ancestors().nth(2).expect("tests are built into target/<profile>/deps");
    let mut build = Command::new(env!("CARGO"));
    build.args(["test", "--no-run", "--quiet", "--offline", "--workspace", "--test", "process"]);
    if directory.file_name().is_some_and(|profile| profile == "release") {
        build.arg("--release");
    }
    // Variables of the running test's package are removed: cargo would build the program again because of them.
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

/// Reads a log up to the line that says that its server is ready. Returns this line, or nothing at the end of the log.
///
/// # Panics
/// Panics if it cannot be read.
pub fn ready_line(log: &mut impl BufRead) -> String {
    loop {
        let mut line = String::new();
        log.read_line(&mut line).expect("the log is text");
        if line.is_empty() || line.contains("eady to accept connections") {
            return line;
        }
    }
}

/// The program, running on a free port. Dropping it kills the process.
#[derive(Debug)]
pub struct Process {
    child: Child,
    addr: SocketAddr,
    /// The program's own directory for the files that it saves.
    directory: PathBuf,
}

impl Process {
    /// Starts the program with these options, and returns once it accepts connections.
    ///
    /// # Panics
    /// Panics if it does not start.
    pub fn start(options: &[&str]) -> Process {
        let mut command = Command::new(path());
        let directory = fresh_directory();
        command.args(["--port", "0"]).arg("--dir").arg(&directory).args(options).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut log = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        let ready = ready_line(&mut log);
        let port = ready.trim_end().rsplit_once("port=").and_then(|(_, port)| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("not ready: {ready}"));
        // The pipe must be emptied for as long as the program lives, or its next line would block it.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Process { child, addr: (Ipv4Addr::LOCALHOST, port).into(), directory }
    }

    /// The address on which the program listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Waits until the program has ended by itself, and returns its exit status.
    ///
    /// # Panics
    /// Panics if it cannot be waited for.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("it is a child")
    }

    /// The process id of the program.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Errors mean that the program has ended already, which is the purpose.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

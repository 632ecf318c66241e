//! A compared server: started by this program and ended when dropped, or already running.

use super::affinity::{Layout, Pinned};
use super::client::Client;
use super::find::{Candidate, Located};
use super::{cpu, memory};
use crate::error::{Error, Result};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The time after which a server that is not ready counts as failed.
const MAX_START_TIME: Duration = Duration::from_secs(20);
/// The number of attempts to start a server. Another process may take a port between its choice and its use.
const MAX_START_ATTEMPTS: u32 = 10;

/// The number of the next directory.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// A server that replies.
pub struct Server {
    /// The name in the results.
    pub name: String,
    /// The version that the server reports: `redis 7.0.15`.
    pub version: String,
    /// The address on which the server listens.
    pub addr: SocketAddr,
    /// The time from exec to the first PONG; `None` if the server was already running.
    pub startup: Option<Duration>,
    pid: Option<u32>,
    process: Option<Process>,
}

/// A child process and its directory. Dropping it ends the process and removes the directory.
struct Process {
    child: Child,
    directory: PathBuf,
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both calls fail only if the process has ended by itself.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
        let _removed = fs::remove_dir_all(&self.directory);
    }
}

impl Server {
    /// Starts a server without persistence and waits for its first PONG, or connects to a running server. A started
    /// server uses `threads` threads for its sockets, on the cores of the layout.
    ///
    /// # Errors
    /// Returns an error if the server does not start within 20 seconds, or does not reply like a server.
    pub fn start(candidate: &Candidate, threads: usize, layout: &Layout) -> Result<Server> {
        let (addr, process, startup) = match &candidate.place {
            Located::Running(addr) => (*addr, None, None),
            Located::Lockwheel(path) => launch(path, &own_options(threads), layout)?,
            Located::Redis(path) => launch(path, &redis_options(threads), layout)?,
        };
        let pid = match &process {
            Some(process) => Some(process.child.id()),
            None => pid_of_listener(addr),
        };
        let version = version(addr)?;
        Ok(Server { name: candidate.name.clone(), version, addr, startup, pid, process })
    }

    /// Opens a connection for requests that are not measured.
    ///
    /// # Errors
    /// Returns an error if the server does not listen any more.
    pub fn client(&self) -> Result<Client> {
        Client::connect(self.addr)
    }

    /// Returns the process id, if the server is on this machine.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Returns the CPU time so far, if the server is a process of this machine.
    pub fn cpu(&self) -> Option<cpu::Sample> {
        cpu::Sample::of(self.pid?)
    }

    /// Returns the resident memory in bytes, if the server is a process of this machine.
    pub fn resident(&self) -> Option<u64> {
        memory::resident(self.pid?)
    }

    /// Whether this program started the server, so that it contains only keys of this program.
    pub fn is_ours(&self) -> bool {
        self.process.is_some()
    }
}

fn own_options(threads: usize) -> Vec<String> {
    vec!["--threads".to_string(), threads.to_string()]
}

fn redis_options(threads: usize) -> Vec<String> {
    let mut options: Vec<String> =
        ["--save", "", "--appendonly", "no", "--daemonize", "no"].map(String::from).to_vec();
    if threads > 1 {
        options.extend(["--io-threads".to_string(), threads.to_string()]);
        options.extend(["--io-threads-do-reads".to_string(), "yes".to_string()]);
    }
    options
}

fn launch(
    program: &Path,
    options: &[String],
    layout: &Layout,
) -> Result<(SocketAddr, Option<Process>, Option<Duration>)> {
    let mut last = Error::other("never tried");
    for _ in 0..MAX_START_ATTEMPTS {
        match try_launch(program, options, layout) {
            Ok((addr, process, startup)) => return Ok((addr, Some(process), Some(startup))),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn try_launch(
    program: &Path,
    options: &[String],
    layout: &Layout,
) -> Result<(SocketAddr, Process, Duration)> {
    let directory = std::env::temp_dir().join(format!(
        "lockwheel-bench-{}-{}",
        std::process::id(),
        STARTED.fetch_add(1, Ordering::Relaxed)
    ));
    fs::create_dir_all(&directory).map_err(Error::io(format!("make {}", directory.display())))?;
    let log = fs::File::create(directory.join("log")).map_err(Error::io("make a log file"))?;
    let errors = log.try_clone().map_err(Error::io("make a log file"))?;
    let addr = free_address()?;
    let mut command = Command::new(program);
    command.args(["--port", &addr.port().to_string(), "--bind", "127.0.0.1"]).args(options);
    command.current_dir(&directory).stdin(Stdio::null()).stdout(log).stderr(errors);
    let begin = Instant::now();
    // A process begins with the cores of the thread that starts it.
    let pinned = Pinned::to(&layout.server);
    let child = command.spawn().map_err(Error::io(format!("start {}", program.display())));
    drop(pinned);
    let mut process = Process { child: child?, directory };
    loop {
        if is_ready(addr) {
            return Ok((addr, process, begin.elapsed()));
        }
        let ended = process.child.try_wait().map_err(Error::io("look after a server"))?;
        if ended.is_some() || begin.elapsed() > MAX_START_TIME {
            let log = fs::read_to_string(process.directory.join("log")).unwrap_or_default();
            let text = format!("{} does not start:\n{log}", program.display());
            return Err(Error::other(text));
        }
        thread::sleep(Duration::from_micros(100));
    }
}

/// Returns a free port of 127.0.0.1.
fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Error::io("find a free port"))?;
    listener.local_addr().map_err(Error::io("find a free port"))
}

fn is_ready(addr: SocketAddr) -> bool {
    // While no server listens, connecting fails at once. A foreign program on that port does not reply PONG.
    Client::connect(addr).and_then(|mut client| client.expect(&[b"PING"], b"+PONG\r\n")).is_ok()
}

/// Returns the name and the version that a server reports.
fn version(addr: SocketAddr) -> Result<String> {
    let info = Client::connect(addr)?.text(&[b"INFO", b"server"])?.unwrap_or_default();
    let fields =
        [("lockwheel", "lockwheel_version:"), ("valkey", "valkey_version:"), ("redis", "redis_version:")];
    let named = fields.iter().find_map(|(name, field)| {
        let value = info.lines().find_map(|line| line.strip_prefix(field))?;
        Some(format!("{name} {}", value.trim()))
    });
    Ok(named.unwrap_or_else(|| "unknown".to_string()))
}

/// Returns the process of this machine that listens there: the owner of the socket in `/proc/net/tcp`.
fn pid_of_listener(addr: SocketAddr) -> Option<u32> {
    if !addr.ip().is_loopback() {
        return None;
    }
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let inode = tables.iter().find_map(|table| inode_of_listener(table, addr.port()))?;
    let link = PathBuf::from(format!("socket:[{inode}]"));
    fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let mut files = fs::read_dir(entry.path().join("fd")).ok()?.flatten();
        files.any(|file| fs::read_link(file.path()).is_ok_and(|target| target == link)).then_some(pid)
    })
}

/// Returns the inode of the listening socket with this port, from the text of `/proc/net/tcp`.
fn inode_of_listener(table: &str, port: u16) -> Option<u64> {
    const LISTENS: &str = "0A";
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let local = fields.get(1)?.rsplit_once(':')?.1;
        let is_it = u16::from_str_radix(local, 16) == Ok(port) && *fields.get(3)? == LISTENS;
        is_it.then(|| fields.get(9)?.parse().ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_found_in_the_table() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode\n\
            0: 0100007F:1B58 0100007F:9999 01 00000000:00000000 00:00000000 00000000 0 0 111 1 0\n\
            1: 0100007F:1B58 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4242 1 0\n";
        assert_eq!(inode_of_listener(table, 7000), Some(4242));
        assert_eq!(inode_of_listener(table, 7001), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_process_behind_a_port_is_found() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert_eq!(pid_of_listener(listener.local_addr().unwrap()), Some(std::process::id()));
    }
}

//! One server of a shape: a process on a port that the others know in advance.

use crate::client::{Client, encode, split};
use crate::program;
use crate::redis_server::{Kind, free_port, fresh_directory, skip};
use crate::reply::Reply;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The number of attempts to start a shape. A start is repeated if another process took one of its ports.
const MAX_START_ATTEMPTS: u32 = 20;

/// The highest port for clients. It leaves room for the port for nodes, 10000 above.
const MAX_PORT: u16 = 55_000;

/// The file of a server's log, in its directory.
pub(super) const LOG: &str = "server.log";

/// The time between two polls of a state that no event reports.
const LOOK: Duration = Duration::from_millis(20);

/// The longest wait for a state, enough for any slow machine. Without a limit, a run would hang and not report the
/// missing state.
const NEVER: Duration = Duration::from_secs(600);

/// The program to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Make {
    /// Lockwheel.
    Ours,
    /// redis-server.
    Redis,
}

impl Make {
    /// Returns the path of the program. Returns `None`, after a line on standard error, if it is missing.
    pub(super) fn program(self) -> Option<PathBuf> {
        let found = match self {
            Make::Ours => Some(program::path()),
            Make::Redis => Kind::Redis.find(),
        };
        if found.is_none() {
            skip(&["redis-server"], "redis-server is not installed (apt-get install redis-server)");
        }
        found
    }
}

/// The script writes 48 megabytes, more than the buffers of the kernel's two sockets hold.
const MUCH: &str = "for _ = 1, 48 do redis.call('set', KEYS[1], string.rep('x', 1048576)) end";

/// Whether the slow counterparts with real servers are wanted: `LOCKWHEEL_SHAPES=redis`.
pub fn is_full() -> bool {
    std::env::var("LOCKWHEEL_SHAPES").is_ok_and(|words| words.split_whitespace().any(|word| word == "redis"))
}

/// Waits for a state.
///
/// # Panics
/// Panics with its description if the state has not come within [`NEVER`].
#[track_caller]
pub fn until(what: &str, mut is_reached: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_reached() {
        assert!(start.elapsed() < NEVER, "waited for: {what}");
        std::thread::sleep(LOOK);
    }
}

/// Ports that are free now.
pub(super) fn free_ports(count: usize) -> Vec<u16> {
    let mut ports = Vec::new();
    while ports.len() < count {
        let port = free_port();
        if port < MAX_PORT && !ports.contains(&port) {
            ports.push(port);
        }
    }
    ports
}

/// Starts a shape, again and again until no other process has taken one of its ports meanwhile.
pub(super) fn attempts<T>(start: impl FnMut() -> Option<T>) -> T {
    let mut attempts = std::iter::repeat_with(start).take(MAX_START_ATTEMPTS as usize);
    attempts.find_map(|started| started).expect("the machine has free ports")
}

/// Starts this number of independent servers. Returns `None` if the program is missing.
pub fn strangers(make: Make, count: usize) -> Option<Vec<Process>> {
    let program = make.program()?;
    Some(attempts(|| {
        let start = |port: &u16| Process::start(&program, *port, Process::arguments(*port, &[]), None);
        free_ports(count).iter().map(start).collect()
    }))
}

/// A server with its own directory. Dropping it kills the process.
#[derive(Debug)]
pub struct Process {
    program: PathBuf,
    arguments: Vec<String>,
    child: Child,
    port: u16,
    directory: PathBuf,
}

impl Process {
    /// Starts a server with these arguments, and a file of this name and text in its directory. Returns `None` if the
    /// server ends at once.
    pub(super) fn start(
        program: &Path,
        port: u16,
        arguments: Vec<String>,
        file: Option<(&str, &str)>,
    ) -> Option<Process> {
        let directory = fresh_directory();
        if let Some((name, text)) = file {
            std::fs::write(directory.join(name), text).expect("it can be written");
        }
        let child = spawn(program, &arguments, &directory);
        let mut process = Process { program: program.to_owned(), arguments, child, port, directory };
        process.is_ready().then_some(process)
    }

    /// The arguments of a server that saves nothing.
    pub(super) fn arguments(port: u16, more: &[&str]) -> Vec<String> {
        let port = port.to_string();
        let own =
            ["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--logfile", LOG];
        own.iter().chain(more).map(|word| (*word).to_owned()).collect()
    }

    /// Waits until the server answers. Returns false if it ends instead, for example because another process has taken
    /// its port.
    fn is_ready(&mut self) -> bool {
        let mut has_ended = false;
        until("it answers or ends", || {
            has_ended = self.child.try_wait().expect("it is ours").is_some();
            has_ended || self.is_there().unwrap_or(false)
        });
        !has_ended
    }

    /// Whether this process, and no other, listens on its port.
    fn is_there(&self) -> io::Result<bool> {
        let mut stream = TcpStream::connect(self.addr())?;
        // The listener on this port may be any program.
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"INFO server\r\n")?;
        let own = format!("process_id:{}\r\n", self.child.id());
        let (mut told, mut part) = (Vec::new(), [0; 4096]);
        // A sentinel knows no QUIT, so that the stream does not end by itself.
        while !String::from_utf8_lossy(&told).contains(&own) {
            match stream.read(&mut part)? {
                0 => return Ok(false),
                count => told.extend_from_slice(&part[..count]),
            }
        }
        Ok(true)
    }

    /// The address on which the server listens.
    pub fn addr(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// The port on which the server listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A connection to the server.
    #[track_caller]
    pub fn client(&self) -> Client {
        Client::connect(self.addr())
    }

    /// Returns the answer to a line, as text. The text is empty if the server is not there, or hangs up first: a
    /// failover disconnects clients.
    ///
    /// # Panics
    /// Panics if a running server does not answer.
    pub fn says(&self, line: &str) -> String {
        let no_answer =
            |error: &io::Error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
        match self.try_ask(line) {
            Ok(Some(reply)) => match reply.as_bytes() {
                Some(text) => String::from_utf8_lossy(text).into_owned(),
                None => reply.to_string(),
            },
            Err(error) if no_answer(&error) => panic!("{line}: {error}"),
            Ok(None) | Err(_) => String::new(),
        }
    }

    fn try_ask(&self, line: &str) -> io::Result<Option<Reply>> {
        drop(TcpStream::connect(self.addr())?);
        let mut client = self.client();
        client.try_send_raw(&encode(&split(line)))?;
        client.try_read_frame()
    }

    /// The server's log so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory.join(LOG)).expect("it has a log")
    }

    /// Kills the server, as a power failure does.
    pub fn kill(&mut self) {
        let _it_has_ended = self.child.kill();
        let _it_has_ended = self.child.wait();
    }

    /// Stops the process, as a debugger does: the server accepts connections and requests, and answers nothing.
    pub fn stand_still(&self) {
        self.signal("-STOP");
    }

    /// Resumes the process. It then serves the requests that have come meanwhile.
    pub fn go_on(&self) {
        self.signal("-CONT");
    }

    /// Writes more data to a key with this tag than the buffers to a stopped replica hold.
    pub(super) fn write_much(&self, tag: &str) {
        let told = self.client().cmd(&["EVAL", MUCH, "1", &format!("{{{tag}}}much")]);
        assert!(!told.is_error(), "{told}");
    }

    fn signal(&self, name: &str) {
        let told = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(told.expect("there is a kill").success(), "{name}");
    }

    /// Starts the server again, with its port and its directory.
    ///
    /// # Panics
    /// Panics if the server does not start.
    pub fn restart(&mut self) {
        self.kill();
        self.child = spawn(&self.program, &self.arguments, &self.directory);
        assert!(self.is_ready(), "it starts again");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        let _gone = std::fs::remove_dir_all(&self.directory);
    }
}

fn spawn(program: &Path, arguments: &[String], directory: &Path) -> Child {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("it starts")
}

//! Helpers of the process tests: starting the program, sending requests, waiting for its end.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The longest wait for any event. It is a safety net, not part of a test's meaning.
pub(crate) const SAFETY_NET: Duration = Duration::from_secs(30);

pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockwheel"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).env_remove("RUST_LOG");
    command.env_remove("NOTIFY_SOCKET").env_remove("UPSTART_JOB");
    command
}

/// Reads the log up to the line that the server is ready, and returns it; empty at the end of the log.
pub(crate) fn ready_line(out: &mut impl BufRead) -> String {
    loop {
        let mut line = String::new();
        out.read_line(&mut line).expect("standard output is text");
        if line.is_empty() || line.contains("eady to accept connections") {
            return line;
        }
    }
}

pub(crate) struct Process {
    pub(crate) child: Child,
    /// The line that says that the server is ready.
    pub(crate) ready: String,
    pub(crate) port: u16,
}

impl Process {
    /// Starts a server on a free port and waits for the ready line.
    pub(crate) fn start(arguments: &[&str]) -> Process {
        Self::from(program().args(["--port", "0"]).args(arguments))
    }

    pub(crate) fn from(command: &mut Command) -> Process {
        let mut child = command.spawn().expect("the program starts");
        let mut out = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        let ready = ready_line(&mut out);
        let port = match ready.trim_end().rsplit_once("port=") {
            Some((_, port)) => port.parse().ok(),
            // The server does not listen for clients of the network.
            None => ready.contains("now ready to accept connections at").then_some(0),
        };
        let Some(port) = port else { panic!("not ready: {ready}{:?}", child.wait_with_output()) };
        Process { child, ready, port }
    }

    pub(crate) fn client(&self) -> Client {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).expect("it listens");
        stream.set_read_timeout(Some(SAFETY_NET)).expect("the time is not zero");
        Client::over(stream)
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(sent.expect("there is a kill").success());
    }

    pub(crate) fn wait(&mut self) -> (ExitStatus, Duration) {
        let begin = Instant::now();
        (self.child.wait().expect("it is our child"), begin.elapsed())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Errors mean that the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) trait Stream: Read + Write {}

impl<S: Read + Write> Stream for S {}

pub(crate) struct Client(pub(crate) BufReader<Box<dyn Stream>>);

impl Client {
    pub(crate) fn over(stream: impl Stream + 'static) -> Client {
        Client(BufReader::new(Box::new(stream)))
    }

    /// Sends an inline request and returns the raw reply: one line, one bulk string, or an array of these.
    pub(crate) fn ask(&mut self, line: &str) -> String {
        self.send(line);
        self.read()
    }

    pub(crate) fn send(&mut self, line: &str) {
        self.0.get_mut().write_all(format!("{line}\r\n").as_bytes()).expect("the server listens");
    }

    pub(crate) fn read(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("the server answers");
        let line = line.trim_end().to_owned();
        if let Some(count) = line.strip_prefix('*').and_then(|count| count.parse::<usize>().ok()) {
            return (0..count).map(|_| self.read()).collect::<Vec<_>>().join(" ");
        }
        match line.strip_prefix('$').and_then(|len| len.parse::<usize>().ok()) {
            Some(len) => {
                let mut text = vec![0; len + 2];
                self.0.read_exact(&mut text).expect("the bulk string comes whole");
                String::from_utf8_lossy(&text[..len]).into_owned()
            }
            None => line,
        }
    }

    pub(crate) fn parameter(&mut self, name: &str) -> String {
        let pair = self.ask(&format!("CONFIG GET {name}"));
        pair.strip_prefix(name).unwrap_or_else(|| panic!("{name}: {pair}")).trim_start().to_owned()
    }
}

/// An empty temporary directory, removed when dropped.
pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new() -> Directory {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lockwheel process {} {number}", std::process::id()));
        fs::create_dir_all(&path).expect("the system has a place for temporary files");
        Directory(path)
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("the path is text").to_owned()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Asserts that a process ends with 0 within a second of a signal. A busy machine gets three tries.
#[track_caller]
pub(crate) fn ends_at_once(signal: &str, start: impl Fn() -> Process) {
    let mut times = Vec::new();
    for _ in 0..3 {
        let mut process = start();
        process.signal(signal);
        let (status, took) = process.wait();
        assert_eq!(status.code(), Some(0));
        if took < Duration::from_secs(1) {
            return;
        }
        times.push(took);
    }
    panic!("it took {times:?}");
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    program().args(arguments).output().expect("the program starts")
}

/// Asserts that the program ends with code 1 and these words on standard error, and has no other log.
#[track_caller]
pub(crate) fn refused(arguments: &[&str], words: &[&str]) {
    let output = run(arguments);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {told}");
    // The errors of the log also appear on standard error.
    for line in String::from_utf8_lossy(&output.stdout).lines().filter(|line| !line.contains(" * ")) {
        assert!(told.lines().any(|told| line.ends_with(&format!(" # {told}"))), "{arguments:?}: {line}");
    }
    for word in words {
        assert!(told.contains(word), "{arguments:?}: no {word:?} in {told:?}");
    }
}

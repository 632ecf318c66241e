//! The append-only file: kept by the program and by redis-server, in directories that both can read.

mod broken_files;
#[cfg(target_os = "linux")]
mod disk;
mod exchange;
mod faults;
mod kills;
mod loading;
mod replicas;
mod restarts;

use lockwheel_tests::client::Client;
use lockwheel_tests::program;
use lockwheel_tests::redis_server::{Kind, find_in_path, free_port};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A new directory, removed when dropped.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lockwheel-aof-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("it can be made");
        Directory(path)
    }

    /// Returns the path of one of the files.
    fn file(&self, name: &str) -> PathBuf {
        self.0.join("appendonlydir").join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Writes one of the files.
    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(self.0.join("appendonlydir")).expect("it can be made");
        fs::write(self.file(name), bytes).expect("it can be written");
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.0);
    }
}

/// The kinds of programs that keep the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeper {
    Ours,
    Redis,
    Valkey,
}

impl Keeper {
    /// Returns the path of the program, if it is there.
    fn path(self) -> Option<PathBuf> {
        match self {
            Keeper::Ours => Some(program::path()),
            Keeper::Redis => Kind::Redis.find(),
            Keeper::Valkey => Kind::Valkey.find(),
        }
    }
}

/// A program that keeps the file, killed when dropped.
struct Kept {
    child: Child,
    out: BufReader<ChildStdout>,
    port: u16,
    log: Vec<String>,
}

/// The log of a program that has not started.
struct NotStarted {
    log: Vec<String>,
}

impl Kept {
    /// Starts a program with these options in a directory, without save points.
    fn try_start(path: &PathBuf, directory: &Directory, options: &[&str]) -> Result<Kept, NotStarted> {
        Kept::try_start_with(path, directory, options, &|_| ())
    }

    /// Starts a program as [`Kept::try_start`] does, after `prepare`.
    fn try_start_with(
        path: &PathBuf,
        directory: &Directory,
        options: &[&str],
        prepare: &dyn Fn(&mut Command),
    ) -> Result<Kept, NotStarted> {
        loop {
            let port = free_port();
            let mut command = Command::new(path);
            command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
            command.args(["--appendonly", "yes", "--enable-debug-command", "yes", "--dir"]).arg(&directory.0);
            prepare(&mut command);
            let (output, input) = (Stdio::piped(), Stdio::null());
            let mut child = command
                .args(options)
                .stdin(input)
                .stdout(output)
                .stderr(Stdio::null())
                .spawn()
                .expect("it starts");
            let mut out = BufReader::new(child.stdout.take().expect("it is a pipe"));
            let mut log = Vec::new();
            loop {
                let mut line = String::new();
                out.read_line(&mut line).expect("the log is text");
                let has_ended = line.is_empty();
                log.push(line.trim_end().to_owned());
                if line.contains("eady to accept connections") {
                    return Ok(Kept { child, out, port, log });
                }
                if has_ended {
                    break;
                }
            }
            let _code = child.wait();
            if !log.iter().any(|line| line.contains("Address already in use")) {
                return Err(NotStarted { log });
            }
        }
    }

    /// Starts our program.
    fn ours(directory: &Directory, options: &[&str]) -> Kept {
        Kept::try_start(&program::path(), directory, options)
            .unwrap_or_else(|NotStarted { log }| panic!("not started: {log:#?}"))
    }

    /// Starts one of the programs. `None`: it is not installed.
    fn of(keeper: Keeper, directory: &Directory, options: &[&str]) -> Option<Kept> {
        let started = Kept::try_start(&keeper.path()?, directory, options);
        Some(started.unwrap_or_else(|NotStarted { log }| panic!("{keeper:?} has not started: {log:#?}")))
    }

    fn client(&self) -> Client {
        Client::connect((Ipv4Addr::LOCALHOST, self.port))
    }

    /// Kills the process: nothing more is written.
    fn kill(mut self) {
        self.child.kill().expect("it is a child");
        self.child.wait().expect("it is a child");
    }

    /// Ends the server in order, and returns its log.
    fn shut_down(self) -> Vec<String> {
        self.client().send(&["SHUTDOWN"]);
        self.rest_of_log()
    }

    /// Waits until the server has ended, and returns its log.
    fn rest_of_log(mut self) -> Vec<String> {
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).expect("the log is text");
        self.child.wait().expect("it is a child");
        let mut log = std::mem::take(&mut self.log);
        log.extend(rest.lines().map(str::to_owned));
        log
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Errors mean that the program has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the reply to a request as text.
fn ask(client: &mut Client, line: &str) -> String {
    client.line(line).to_string()
}

/// Returns a field of INFO.
fn info(client: &mut Client, field: &str) -> String {
    let info = client.line("INFO");
    let text = String::from_utf8_lossy(info.as_bytes().expect("a text")).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.map(str::to_owned).unwrap_or_else(|| panic!("no {field}: {text}"))
}

/// Waits until no rewrite runs or is scheduled.
fn await_rewrite(client: &mut Client) {
    while info(client, "aof_rewrite_in_progress") == "1" || info(client, "aof_rewrite_scheduled") == "1" {}
}

/// The words of a request in the file's form.
fn request(line: &str) -> Vec<u8> {
    lockwheel_tests::client::encode(&line.split(' ').collect::<Vec<_>>())
}

/// Whether redis-check-aof finds the files right. `None`: it is not installed.
fn is_checked(directory: &Directory) -> Option<bool> {
    let checker = find_in_path("redis-check-aof")?;
    let manifest = directory.file("appendonly.aof.manifest");
    let output = Command::new(checker).arg(manifest).output().expect("it starts");
    Some(output.status.success())
}

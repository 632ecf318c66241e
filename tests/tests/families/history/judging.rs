//! The judges of `tests/judges`. Clojure's own reader reads an EDN history. Porcupine decides whether locks and
//! semaphores behaved as if one client at a time had used them.

use crate::history::fixture::Server;
use lockwheel_tests::workshop::{Sources, find_tool, install, java, maven_classpath};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The command that starts Clojure's reader, and the program that calls Porcupine.
pub(crate) struct Judges {
    java: PathBuf,
    classpath: String,
    reader: PathBuf,
    porcupine: PathBuf,
}

/// Porcupine's verdict on each kind of object: the number of operations, and whether they are legal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) locks: (usize, bool),
    pub(crate) sections: (usize, bool),
    pub(crate) semaphores: (usize, bool),
}

impl Judges {
    /// Prepares the judges. Returns `None`, after a line that says so, if their tools are not installed.
    pub(crate) fn find() -> Option<Judges> {
        let java = find_tool("java", "apt-get install openjdk-17-jdk maven")?;
        let maven = find_tool("mvn", "apt-get install maven")?;
        let go = find_tool("go", "apt-get install golang-go")?;
        let clojure = prepared("clojure", "classpath", |directory| maven_classpath(&maven, directory));
        let porcupine = prepared("porcupine", "judge", |directory| {
            install(Command::new(&go).current_dir(directory).args(["build", "-o", "judge", "."]));
        });
        let classpath = fs::read_to_string(clojure.join("classpath")).expect("Maven wrote it");
        let (reader, porcupine) = (clojure.join("read.clj"), porcupine.join("judge"));
        Some(Judges { java, classpath: classpath.trim_end().to_owned(), reader, porcupine })
    }

    /// The operations of a history as Clojure reads it: JSON, one a line.
    #[track_caller]
    pub(crate) fn read(&self, edn: &str) -> String {
        let mut command = java(&self.java);
        command.args(["-cp", &self.classpath, "clojure.main"]).arg(&self.reader);
        pipe(&mut command, edn)
    }

    /// Returns Porcupine's verdict on a history.
    #[track_caller]
    pub(crate) fn judge(&self, edn: &str) -> Verdict {
        let said = pipe(&mut Command::new(&self.porcupine), &self.read(edn));
        let of_kind = |kind: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix(kind)).expect("each kind is judged");
            let (count, verdict) = line.trim().split_once(' ').expect("a number and a verdict");
            (count.parse().expect("a number"), verdict == "legal")
        };
        Verdict { locks: of_kind("locks"), sections: of_kind("sections"), semaphores: of_kind("semaphores") }
    }
}

/// See [`Sources::prepared`].
fn prepared(judge: &str, product: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("judges");
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).join("judges");
    Sources { folder, build }.prepared(judge, product, make)
}

/// Runs a program on its input and returns its output. The program must succeed.
#[track_caller]
fn pipe(command: &mut Command, input: &str) -> String {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().expect("the judge starts");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("the judge ends");
    let written = writer.join().expect("the writer does not panic");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && written.is_ok(), "{command:?}: {said}");
    said
}

impl Server {
    /// The history in the form of a Jepsen test.
    pub(crate) fn edn(&mut self) -> String {
        let reply = self.ask("LOCK.HISTORY FORMAT EDN");
        let (_, text) = reply.split_once("\r\n").expect("a bulk string");
        text.trim_end().to_owned()
    }
}

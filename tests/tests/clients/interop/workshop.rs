//! The programs of `tests/lock-libraries`, each with one lock of its library. Steps are written to them, a line each,
//! and they print the results.

use lockwheel_tests::workshop::{Sources, find_tool, install, java as jvm, maven_classpath, npm_install};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A running program. Dropping it kills the process.
pub(crate) struct Program {
    child: Child,
    steps: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Program {
    fn start(mut command: Command, port: u16, name: &str, lease: u64) -> Program {
        command.args([&port.to_string(), name, &lease.to_string()]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the client starts");
        let steps = child.stdin.take().expect("standard input is a pipe");
        let answers = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        Program { child, steps, answers }
    }

    /// Runs a step (`take`, `extend` or `release`) and returns its result.
    #[track_caller]
    pub(crate) fn step(&mut self, step: &str) -> String {
        writeln!(self.steps, "{step}").expect("the program reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("the program answers in text");
        assert!(!answer.is_empty(), "the program ended at the step {step}");
        answer.trim_end().to_string()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Errors mean that the program has ended already, which is the purpose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A Python program, with the packages of `requirements.txt`.
pub(crate) fn python(program: &str, port: u16, name: &str, lease: u64) -> Option<Program> {
    let python = find_tool("python3", "apt-get install python3-pip")?;
    let directory = prepared("python", "packages", |directory| {
        let mut pip = Command::new(&python);
        pip.current_dir(directory).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        install(pip.args(["--target", "packages", "--requirement", "requirements.txt"]));
    });
    let mut command = Command::new(python);
    command.arg(directory.join(program)).env("PYTHONPATH", directory.join("packages"));
    Some(Program::start(command, port, name, lease))
}

/// A Node program, with the packages of `package.json`.
pub(crate) fn node(program: &str, port: u16, name: &str, lease: u64) -> Option<Program> {
    let node = find_tool("node", "apt-get install nodejs npm")?;
    let npm = find_tool("npm", "apt-get install npm")?;
    let directory = prepared("node", "node_modules", |directory| npm_install(&npm, directory));
    let mut command = Command::new(node);
    command.arg(directory.join(program));
    Some(Program::start(command, port, name, lease))
}

/// The Go program, with the modules of `go.sum`.
pub(crate) fn go(port: u16, name: &str, lease: u64) -> Option<Program> {
    let go = find_tool("go", "apt-get install golang-go")?;
    let directory = prepared("go", "program", |directory| {
        install(Command::new(&go).current_dir(directory).args(["build", "-o", "program", "."]));
    });
    Some(Program::start(Command::new(directory.join("program")), port, name, lease))
}

/// The Java class, with the jars of the pom, compiled at its start.
pub(crate) fn java(port: u16, name: &str, lease: u64) -> Option<Program> {
    let java = find_tool("java", "apt-get install openjdk-17-jdk maven")?;
    let maven = find_tool("mvn", "apt-get install maven")?;
    let directory = prepared("java", "classpath", |directory| maven_classpath(&maven, directory));
    let classpath = fs::read_to_string(directory.join("classpath")).expect("Maven wrote it");
    let mut command = jvm(&java);
    command.args(["-cp", classpath.trim_end()]).arg(directory.join("ShedLock.java"));
    Some(Program::start(command, port, name, lease))
}

/// See [`Sources::prepared`].
fn prepared(language: &str, product: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("lock-libraries");
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lock-libraries");
    Sources { folder, build }.prepared(language, product, make)
}

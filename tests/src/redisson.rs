//! A runner of the scenarios of `tests/java` with a real Redisson from Maven, against any server.
//!
//! The jars of a version are fetched from Maven once, and the sources are compiled against them once. Both are kept in
//! a directory that the caller names. A run is then one JVM with all scenarios.

use crate::redis_server::{find_in_path, is_wanted, skip};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Flags of a short run on few cores.
const JVM_FLAGS: [&str; 5] = [
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xmx256m",
    "-Dfile.encoding=UTF-8",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
];

/// The number of attempts before Maven's failure counts: the network to its registry is not the subject of the tests.
const MAX_MAVEN_ATTEMPTS: u32 = 3;

/// The number of lines of the JVM's standard error that a failure shows.
const MAX_LOG_LINES: usize = 60;

/// A version of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    major: u16,
    minor: u16,
    patch: u16,
}

impl Version {
    /// The version `major.minor.patch`.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Version {
        Version { major, minor, patch }
    }

    /// The directories of sources, below `tests/java`, with which this version is compiled: those of all versions, and
    /// each `since/M.N` and `before/M.N` that applies.
    fn sources(self, java: &Path) -> Vec<PathBuf> {
        let mut directories = vec![java.join("src")];
        for (bound, wanted) in [("since", true), ("before", false)] {
            for directory in sorted_entries(&java.join(bound)) {
                let name = directory.file_name().and_then(OsStr::to_str).unwrap_or_default();
                let (major, minor) = name.split_once('.').expect("the directory is named major.minor");
                let part = |text: &str| text.parse().expect("the directory is named by numbers");
                if (self >= Version::new(part(major), part(minor), 0)) == wanted {
                    directories.push(directory);
                }
            }
        }
        directories
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// One version of the client, ready to run.
#[derive(Debug)]
pub struct Redisson {
    version: Version,
    tools: Tools,
    classpath: OsString,
}

/// The scenarios to run, and their settings.
#[derive(Clone, Debug, Default)]
pub struct Run<'a> {
    /// The ports of the servers on 127.0.0.1. The scenarios of MultiLock and RedLock need three, the others use the
    /// first.
    pub ports: &'a [u16],
    /// The ports of the replicas of the first server. If there are any, clients read from them and subscribe to them.
    pub replicas: &'a [u16],
    /// The ports of the nodes of a cluster that is used in place of the first server.
    pub nodes: &'a [u16],
    /// The ports of the sentinels that know the first server by the name `m`.
    pub sentinels: &'a [u16],
    /// The ports of a master and its replicas, which report their roles themselves, used in place of the first server.
    pub replicated: &'a [u16],
    /// Whether clients subscribe to those replicas instead of the master.
    pub listens_to_replicas: bool,
    /// The names of the scenarios. Empty means all.
    pub only: &'a [&'a str],
    /// The milliseconds to wait for an expected event. `None` means the default, which no sound server needs. A shorter
    /// time suits an event that is known not to happen.
    pub patience: Option<u64>,
    /// Whether the clients are to speak RESP3, which versions since 3.25 can.
    pub resp3: bool,
    /// Whether the servers are Lockwheel, so that the scenarios with native locks run too.
    pub native: bool,
    /// Whether to run only the scenarios that move the server's clock. The server must be Lockwheel.
    pub clock: bool,
}

/// The results of the scenarios.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The names of the scenarios that passed.
    pub ok: BTreeSet<String>,
    /// The names of the scenarios that failed, each with its stack trace.
    pub failed: BTreeMap<String, String>,
    /// The groups for which this version has no classes.
    pub absent: BTreeSet<String>,
    /// The end of the JVM's standard error.
    pub log: String,
}

impl Redisson {
    /// Prepares a version below a directory that outlives the test run. Reuses matching files of an earlier run.
    /// Returns `None`, after one line on standard error, if the JDK or Maven is not installed.
    ///
    /// # Panics
    /// Panics if a tool is missing and the environment has `CI=true`, or if Maven or the compiler fails.
    pub fn prepare(version: Version, directory: &Path) -> Option<Redisson> {
        let tools = match Tools::find() {
            Ok(tools) => tools,
            Err(missing) => {
                let why =
                    format!("Redisson {version} needs {missing} (apt-get install openjdk-17-jdk maven)");
                skip(&["java", "javac", "mvn"], &why);
                return None;
            }
        };
        let directory = directory.join("redisson").join(version.to_string());
        fs::create_dir_all(&directory).expect("the build directory can be written");
        // Two test processes may need the same version at once.
        let lock = File::create(directory.join("lock")).expect("the build directory can be written");
        lock.lock().expect("a file can be locked");
        let java = Path::new(env!("CARGO_MANIFEST_DIR")).join("java");
        let jars = tools.jars(version, &java, &directory);
        let classes = tools.classes(&version.sources(&java), &jars, &directory);
        let classpath = std::env::join_paths([classes].into_iter().chain(std::env::split_paths(&jars)))
            .expect("the paths came from a list of paths");
        Some(Redisson { version, tools, classpath })
    }

    /// The version of the client.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Runs scenarios in one JVM.
    ///
    /// # Panics
    /// Panics if the JVM does not start, or ends before it has reported all scenarios.
    pub fn run(&self, run: &Run<'_>) -> Report {
        let output = self.java("lockwheel.Main", &run.arguments());
        self.report(&output)
    }

    /// Runs the scenarios with a failover. Calls `failover` once all scenarios have prepared the state that must
    /// survive it. The scenarios continue when `failover` returns.
    ///
    /// # Panics
    /// Panics as [`Redisson::run`].
    pub fn run_through(&self, run: &Run<'_>, failover: impl FnOnce()) -> Report {
        let mut arguments = run.arguments();
        arguments.push("failover=true".to_owned());
        let mut command = self.command("lockwheel.Main", &arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the JVM starts");
        let (input, log) = (child.stdin.take(), child.stderr.take());
        let log = std::thread::spawn(move || read_all(log.expect("it is a pipe")));
        let mut lines = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let (mut text, mut line) = (String::new(), String::new());
        while lines.read_line(&mut line).expect("it is text") > 0 && line != "ready\n" {
            text.push_str(&std::mem::take(&mut line));
        }
        if line == "ready\n" {
            failover();
            // The report shows that a JVM has ended.
            let _ = input.expect("it is a pipe").write_all(b"\n");
        }
        lines.read_to_string(&mut text).expect("it is text");
        let status = child.wait().expect("it is ours");
        let stderr = log.join().expect("it reads");
        self.report(&Output { status, stdout: text.into_bytes(), stderr })
    }

    /// Reads the JVM's report of its scenarios.
    fn report(&self, output: &Output) -> Report {
        let text = String::from_utf8_lossy(&output.stdout);
        let mut report = Report::parse(&text).unwrap_or_else(|why| {
            let log = String::from_utf8_lossy(&output.stderr);
            panic!("Redisson {}: {why}; {}\n{text}\n{log}", self.version, output.status)
        });
        report.log = last_lines(&String::from_utf8_lossy(&output.stderr));
        report
    }

    /// Runs a class of `tests/java` that has a `main`, and waits for its end.
    ///
    /// # Panics
    /// Panics if the JVM does not start.
    pub fn java<A: AsRef<OsStr>>(&self, class: &str, arguments: &[A]) -> Output {
        self.command(class, arguments).output().expect("the JVM starts")
    }

    /// Returns the command that compiles JUnit tests and runs them, with a directory for their classes.
    ///
    /// # Panics
    /// Panics if they do not compile.
    pub fn junit(&self, sources: &[PathBuf], classes: &Path) -> Command {
        self.tools.compile(sources, &self.classpath, classes);
        let parts = [classes.to_path_buf()].into_iter().chain(std::env::split_paths(&self.classpath));
        let mut command = Command::new(&self.tools.java);
        command
            .args(JVM_FLAGS)
            .arg("-cp")
            .arg(std::env::join_paths(parts).expect("they come from such a list"));
        command.args([
            "org.junit.platform.console.ConsoleLauncher",
            "execute",
            "--disable-banner",
            "--disable-ansi-colors",
        ]);
        command.arg("--scan-classpath").arg(classes);
        command
    }

    /// Returns the command that runs such a class, for callers that run several at once.
    pub fn command<A: AsRef<OsStr>>(&self, class: &str, arguments: &[A]) -> Command {
        let mut command = Command::new(&self.tools.java);
        command.args(JVM_FLAGS).arg("-cp").arg(&self.classpath).arg(class).args(arguments);
        command
    }
}

impl Run<'_> {
    /// Returns the arguments that the Java side's `Options` documents.
    fn arguments(&self) -> Vec<String> {
        let lists = [
            ("ports", self.ports),
            ("replicas", self.replicas),
            ("nodes", self.nodes),
            ("sentinels", self.sentinels),
            ("replicated", self.replicated),
        ];
        let mut arguments: Vec<String> =
            lists.iter().map(|(name, ports)| format!("{name}={}", joined(ports))).collect();
        arguments.push(format!("only={}", self.only.join(",")));
        arguments.push(format!("listens-to-replicas={}", self.listens_to_replicas));
        arguments.push(format!("resp3={}", self.resp3));
        arguments.push(format!("native={}", self.native));
        arguments.push(format!("clock={}", self.clock));
        arguments.extend(self.patience.map(|millis| format!("patience={millis}")));
        arguments
    }
}

/// Reads a pipe until its end.
fn read_all(mut pipe: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    // If the pipe broke, the bytes before that are shown.
    let _ = pipe.read_to_end(&mut bytes);
    bytes
}

fn joined(ports: &[u16]) -> String {
    ports.iter().map(u16::to_string).collect::<Vec<_>>().join(",")
}

impl Report {
    /// Reads the output of the Java side's `Main`; its documentation has the form.
    fn parse(text: &str) -> Result<Report, String> {
        let mut report = Report::default();
        let mut last_failed = None;
        for line in text.lines() {
            let mut words = line.split(' ');
            match (words.next().unwrap_or_default(), words.next().unwrap_or_default()) {
                ("ok", name) => {
                    report.ok.insert(name.to_string());
                }
                ("failed", name) => {
                    report.failed.insert(name.to_string(), String::new());
                    last_failed = Some(name.to_string());
                }
                ("absent", group) => {
                    report.absent.insert(group.to_string());
                }
                ("|", _) => {
                    let trace = last_failed.as_ref().and_then(|name| report.failed.get_mut(name));
                    let trace = trace.ok_or("a stack trace without a failure")?;
                    trace.push_str(line.trim_start_matches("| "));
                    trace.push('\n');
                }
                ("done", ok) => return report.checked(ok, words.next().unwrap_or_default()),
                _ => return Err(format!("a line of no known form: {line}")),
            }
        }
        Err("the JVM ended too early".to_string())
    }

    /// Returns the report, if it has as many scenarios as the last line says.
    fn checked(self, ok: &str, failed: &str) -> Result<Report, String> {
        let told = (ok.parse(), failed.parse());
        if told == (Ok(self.ok.len()), Ok(self.failed.len())) {
            Ok(self)
        } else {
            Err(format!("{ok} ok and {failed} failed are not what was reported: {self:?}"))
        }
    }

    /// Formats the failures with their stack traces, and the JVM's log.
    pub fn failures(&self) -> String {
        let mut text = String::new();
        for (name, trace) in &self.failed {
            text.push_str(&format!("--- scenario {name} ---\n{trace}"));
        }
        if !self.log.is_empty() {
            text.push_str(&format!("--- log of the JVM ---\n{}\n", self.log));
        }
        text
    }
}

/// The required programs.
#[derive(Debug)]
struct Tools {
    java: PathBuf,
    javac: PathBuf,
    maven: PathBuf,
}

impl Tools {
    /// Finds the programs, or returns the name of a missing one.
    fn find() -> Result<Tools, &'static str> {
        let in_home = |name: &str| {
            let home = PathBuf::from(std::env::var_os("JAVA_HOME")?);
            Some(home.join("bin").join(name)).filter(|file| is_wanted(name) && file.is_file())
        };
        let find = |name: &str| in_home(name).or_else(|| find_in_path(name));
        Ok(Tools {
            java: find("java").ok_or("a JDK's java")?,
            javac: find("javac").ok_or("a JDK's javac")?,
            maven: find_in_path("mvn").ok_or("Maven's mvn")?,
        })
    }

    /// Returns the version's jars as a class path. Downloads them to Maven's own store if they are missing.
    fn jars(&self, version: Version, java: &Path, directory: &Path) -> OsString {
        let pom = java.join("pom.xml");
        let fingerprint = fingerprint(&[fs::read(&pom).expect("the pom can be read")]);
        let file = directory.join(format!("jars-{fingerprint}"));
        let known = |file: &Path| {
            let jars = OsString::from(fs::read_to_string(file).ok()?.trim_end());
            std::env::split_paths(&jars).all(|jar| jar.is_file()).then_some(jars)
        };
        if let Some(jars) = known(&file) {
            return jars;
        }
        let mut said = String::new();
        for _ in 0..MAX_MAVEN_ATTEMPTS {
            let output = Command::new(&self.maven)
                .args(["-q", "-B", "-f"])
                .arg(&pom)
                .arg(format!("-Dredisson.version={version}"))
                .arg(format!("-Dmdep.outputFile={}", file.display()))
                .arg("dependency:build-classpath")
                .output()
                .expect("Maven starts");
            if let Some(jars) = known(&file).filter(|_| output.status.success()) {
                return jars;
            }
            said = spoken(&output);
        }
        panic!("Maven did not find Redisson {version} in {MAX_MAVEN_ATTEMPTS} attempts:\n{said}");
    }

    /// Returns the directory with the compiled classes. Its name depends on the sources.
    fn classes(&self, sources: &[PathBuf], jars: &OsStr, directory: &Path) -> PathBuf {
        let mut files = Vec::new();
        sources.iter().for_each(|source| java_files(source, &mut files));
        let mut parts = vec![jars.as_encoded_bytes().to_vec()];
        for file in &files {
            parts.push(file.as_os_str().as_encoded_bytes().to_vec());
            parts.push(fs::read(file).expect("a source can be read"));
        }
        let classes = directory.join(format!("classes-{}", fingerprint(&parts)));
        if classes.is_dir() {
            return classes;
        }
        for old in sorted_entries(directory) {
            if old.file_name().is_some_and(|name| name.to_string_lossy().starts_with("classes-")) {
                fs::remove_dir_all(old).expect("what an earlier run has compiled can be removed");
            }
        }
        let unfinished = directory.join("classes-unfinished");
        self.compile(&files, jars, &unfinished);
        fs::rename(&unfinished, &classes).expect("a directory can be renamed");
        classes
    }

    /// Compiles sources into a directory.
    fn compile(&self, files: &[PathBuf], jars: &OsStr, classes: &Path) {
        let output = Command::new(&self.javac)
            .args(["--release", "17", "-encoding", "UTF-8", "-proc:none", "-Xlint:-options", "-d"])
            .arg(classes)
            .arg("-cp")
            .arg(jars)
            .args(files)
            .output()
            .expect("the compiler starts");
        assert!(output.status.success(), "the sources do not compile:\n{}", spoken(&output));
    }
}

/// Lists all Java files below a directory, sorted.
fn java_files(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in sorted_entries(directory) {
        if entry.is_dir() {
            java_files(&entry, files);
        } else if entry.extension().is_some_and(|extension| extension == "java") {
            files.push(entry);
        }
    }
}

/// Lists the entries of a directory, sorted.
fn sorted_entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// A short name for a list of contents.
fn fingerprint(parts: &[Vec<u8>]) -> String {
    let mut hash = sha1_smol::Sha1::new();
    for part in parts {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.digest().to_string()[..16].to_string()
}

/// Returns all output of a program.
fn spoken(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// Returns the end of a log.
fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(MAX_LOG_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_the_failures_with_their_traces() {
        let text = "absent X\nok a 1\nfailed b 2\n| Error: e\n|     at c\nok d 3\ndone 2 1\n";
        let report = Report::parse(text).unwrap();
        assert_eq!(report.ok, BTreeSet::from(["a".to_string(), "d".to_string()]));
        assert_eq!(report.failed["b"], "Error: e\n    at c\n");
        assert_eq!(report.absent, BTreeSet::from(["X".to_string()]));
        assert_eq!(report.failures(), "--- scenario b ---\nError: e\n    at c\n");
    }

    #[test]
    fn a_truncated_or_miscounted_report_is_refused() {
        for text in ["", "ok a 1\n", "ok a 1\ndone 2 0\n", "ok a 1\ndone 1 1\n", "| x\ndone 0 0\n", "what\n"]
        {
            assert!(Report::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn each_version_is_compiled_with_its_own_sources() {
        let java = Path::new(env!("CARGO_MANIFEST_DIR")).join("java");
        let names = |version: Version| -> Vec<String> {
            let sources = version.sources(&java);
            sources.iter().map(|path| path.strip_prefix(&java).unwrap().display().to_string()).collect()
        };
        assert_eq!(names(Version::new(3, 6, 5)), ["src", "before/3.10", "before/3.17"]);
        assert_eq!(
            names(Version::new(3, 17, 0)),
            ["src", "since/3.10", "since/3.15", "since/3.17", "since/3.7"]
        );
        assert_eq!(
            names(Version::new(4, 7, 0)),
            [
                "src",
                "since/3.10",
                "since/3.15",
                "since/3.17",
                "since/3.19",
                "since/3.24",
                "since/3.7",
                "since/4.0"
            ]
        );
    }
}

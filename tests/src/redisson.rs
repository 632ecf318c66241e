//! Runs the scenarios of `tests/java` with a real Redisson from Maven, against any server.
//!
//! A version's jars are asked from Maven once, the sources are compiled against them once, and both are kept in
//! a directory that the caller names; a run is then one JVM with all scenarios.

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

/// How often Maven is asked before its answer counts: the net between here and its registry is not the subject.
const MAVEN_ATTEMPTS_MAX: u32 = 3;

/// Lines of the JVM's standard error that a failure shows.
const LOG_LINES_MAX: usize = 60;

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

    /// The directories of sources, below `tests/java`, that this version is compiled with: what all versions have,
    /// and each `since/M.N` and `before/M.N` that it meets.
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

/// Which scenarios to run, and how.
#[derive(Clone, Debug, Default)]
pub struct Run<'a> {
    /// The ports of the servers on 127.0.0.1: the scenarios of MultiLock and RedLock want three, the others use the
    /// first.
    pub ports: &'a [u16],
    /// The ports of the replicas of the first server, to which clients then read and listen.
    pub replicas: &'a [u16],
    /// The ports of the nodes of a cluster that is used in place of the first server.
    pub nodes: &'a [u16],
    /// The ports of the sentinels that say where the first server is, by the name `m`.
    pub sentinels: &'a [u16],
    /// The ports of a master and its replicas, which say themselves who is who, in place of the first server.
    pub replicated: &'a [u16],
    /// Whether clients listen to the replicas of those, and not to the master.
    pub listens_to_replicas: bool,
    /// The names of the scenarios; empty for all.
    pub only: &'a [&'a str],
    /// Milliseconds to wait for what has to happen; `None` for the default, which no sound server needs. Shorter
    /// where it is known not to happen.
    pub patience: Option<u64>,
    /// Whether the clients are to speak RESP3, which versions since 3.25 can.
    pub resp3: bool,
    /// Whether the servers are Lockwheel, so that the scenarios with native locks run too.
    pub native: bool,
    /// Whether to run the scenarios that turn the server's clock, which must be Lockwheel, and no others.
    pub clock: bool,
}

/// How the scenarios went.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The names of those that passed.
    pub ok: BTreeSet<String>,
    /// The names of those that failed, each with its stack trace.
    pub failed: BTreeMap<String, String>,
    /// The groups that this version has no classes for.
    pub absent: BTreeSet<String>,
    /// The end of what the JVM wrote on its standard error.
    pub log: String,
}

impl Redisson {
    /// Gets a version ready below a directory that outlives the test run; what is there from an earlier run and fits
    /// is used again. `None`, after one line on standard error, where the JDK or Maven is not installed.
    ///
    /// # Panics
    /// When a tool is missing and the environment says `CI=true`; when Maven or the compiler fails.
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
        // Two test processes may want the same version at once.
        let lock = File::create(directory.join("lock")).expect("the build directory can be written");
        lock.lock().expect("a file can be locked");
        let java = Path::new(env!("CARGO_MANIFEST_DIR")).join("java");
        let jars = tools.jars(version, &java, &directory);
        let classes = tools.classes(&version.sources(&java), &jars, &directory);
        let classpath = std::env::join_paths([classes].into_iter().chain(std::env::split_paths(&jars)))
            .expect("the paths came from a list of paths");
        Some(Redisson { version, tools, classpath })
    }

    /// Which version this is.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Runs scenarios in one JVM.
    ///
    /// # Panics
    /// When the JVM does not start or ends before it has said how all scenarios went.
    pub fn run(&self, run: &Run<'_>) -> Report {
        let output = self.java("lockwheel.Main", &run.arguments());
        self.report(&output)
    }

    /// Runs the scenarios that a failover happens in: `failover` is called when all of them have prepared what is to
    /// outlive it, and they go on when it returns.
    ///
    /// # Panics
    /// As [`Redisson::run`].
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
            // A JVM that has ended is told by the report.
            let _ = input.expect("it is a pipe").write_all(b"\n");
        }
        lines.read_to_string(&mut text).expect("it is text");
        let status = child.wait().expect("it is ours");
        let stderr = log.join().expect("it reads");
        self.report(&Output { status, stdout: text.into_bytes(), stderr })
    }

    /// What a JVM has said of its scenarios.
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
    /// When the JVM does not start.
    pub fn java<A: AsRef<OsStr>>(&self, class: &str, arguments: &[A]) -> Output {
        self.command(class, arguments).output().expect("the JVM starts")
    }

    /// The command that compiles tests of JUnit's and runs them, with a directory for their classes.
    ///
    /// # Panics
    /// When they do not compile.
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

    /// The command that runs such a class, for callers that run several at once.
    pub fn command<A: AsRef<OsStr>>(&self, class: &str, arguments: &[A]) -> Command {
        let mut command = Command::new(&self.tools.java);
        command.args(JVM_FLAGS).arg("-cp").arg(&self.classpath).arg(class).args(arguments);
        command
    }
}

impl Run<'_> {
    /// The words that the Java side's `Options` documents.
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

/// All that a pipe brings until its end.
fn read_all(mut pipe: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What came before it broke is what there is to show.
    let _ = pipe.read_to_end(&mut bytes);
    bytes
}

fn joined(ports: &[u16]) -> String {
    ports.iter().map(u16::to_string).collect::<Vec<_>>().join(",")
}

impl Report {
    /// Reads what the Java side's `Main` prints; its documentation has the form.
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

    /// The report, if it has as many scenarios as the last line says.
    fn checked(self, ok: &str, failed: &str) -> Result<Report, String> {
        let told = (ok.parse(), failed.parse());
        if told == (Ok(self.ok.len()), Ok(self.failed.len())) {
            Ok(self)
        } else {
            Err(format!("{ok} ok and {failed} failed are not what was reported: {self:?}"))
        }
    }

    /// The failures with their stack traces, and what the JVM logged.
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

/// The programs that are needed.
#[derive(Debug)]
struct Tools {
    java: PathBuf,
    javac: PathBuf,
    maven: PathBuf,
}

impl Tools {
    /// Finds them, or says which one is missing.
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

    /// The version's jars as a class path, downloaded to Maven's own store if they are not there.
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
        for _ in 0..MAVEN_ATTEMPTS_MAX {
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
        panic!("Maven did not find Redisson {version} in {MAVEN_ATTEMPTS_MAX} attempts:\n{said}");
    }

    /// The directory with the compiled classes. Its name tells what they were compiled from.
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

/// All Java files below a directory, sorted.
fn java_files(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in sorted_entries(directory) {
        if entry.is_dir() {
            java_files(&entry, files);
        } else if entry.extension().is_some_and(|extension| extension == "java") {
            files.push(entry);
        }
    }
}

/// What is in a directory, sorted.
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

/// All that a program wrote.
fn spoken(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// The end of a log.
fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES_MAX)..].join("\n")
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
    fn a_report_that_is_cut_or_miscounts_is_none() {
        for text in ["", "ok a 1\n", "ok a 1\ndone 2 0\n", "ok a 1\ndone 1 1\n", "| x\ndone 0 0\n", "what\n"]
        {
            assert!(Report::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_version_is_compiled_with_what_it_has() {
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

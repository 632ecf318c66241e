//! Where the clients' programs are made ready: a copy of `tests/clients` below the build directory, in which each
//! language's own tool installs what the programs need, once.

use lockwheel_tests::redis_server::{find_in_path, skip};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How often a package tool is asked before its answer counts: the net to its registry is not the subject.
const ATTEMPTS_MAX: u32 = 3;

/// The programs of one language, ready to run.
pub(crate) struct Workshop {
    directory: PathBuf,
    tool: PathBuf,
}

impl Workshop {
    /// redis-py, and Celery with kombu: installed where this Python finds them.
    pub(crate) fn python() -> Option<Workshop> {
        let tool = find_tool("python3", "pip install redis celery")?;
        let import = Command::new(&tool).args(["-c", "import redis, celery, kombu"]).output();
        if !import.expect("Python starts").status.success() {
            skip(&["python3"], "Python's clients are not installed (pip install redis celery)");
            return None;
        }
        Some(Workshop { directory: sources().join("python"), tool })
    }

    /// ioredis, node-redis and BullMQ, in the versions of `package.json`.
    pub(crate) fn node() -> Option<Workshop> {
        let tool = find_tool("node", "apt-get install nodejs npm")?;
        let npm = find_tool("npm", "apt-get install npm")?;
        let directory = prepared("node", "node_modules", |directory| {
            install(Command::new(&npm).current_dir(directory).args([
                "install",
                "--no-save",
                "--silent",
                "--no-audit",
                "--no-fund",
            ]));
        });
        Some(Workshop { directory, tool })
    }

    /// go-redis, in the version of `go.sum`, and the program built with it.
    pub(crate) fn go() -> Option<Workshop> {
        let go = find_tool("go", "apt-get install golang-go")?;
        let directory = prepared("go", "program", |directory| {
            install(Command::new(&go).current_dir(directory).args(["build", "-o", "program", "."]));
        });
        Some(Workshop { tool: directory.join("program"), directory })
    }

    /// Jedis and Lettuce, in the versions of the pom.
    pub(crate) fn java() -> Option<Workshop> {
        let java = find_tool("java", "apt-get install default-jdk-headless maven")?;
        let maven = find_tool("mvn", "apt-get install maven")?;
        let directory = prepared("java", "classpath", |directory| {
            let mut command = Command::new(&maven);
            command.current_dir(directory).args(["-q", "-B", "dependency:build-classpath"]);
            install(command.arg("-Dmdep.outputFile=classpath"));
        });
        Some(Workshop { directory, tool: java })
    }

    /// A program of Python's.
    pub(crate) fn python3(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.tool);
        command.arg(self.directory.join(program)).args(arguments).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    /// A program of Node's.
    pub(crate) fn node_js(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.tool);
        command.arg(self.directory.join(program)).args(arguments);
        command
    }

    /// The program of Go's, with the script.
    pub(crate) fn go_program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.tool);
        command.args(arguments).arg(self.script());
        command
    }

    /// The class for Java's clients, compiled as it is started, with the script.
    pub(crate) fn java_class(&self, arguments: &[&str]) -> Command {
        let classpath = fs::read_to_string(self.directory.join("classpath")).expect("Maven wrote it");
        let mut command = Command::new(&self.tool);
        command.args([
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Xmx256m",
            "-cp",
            classpath.trim_end(),
        ]);
        command.arg(self.directory.join("Clients.java")).args(arguments).arg(self.script());
        command
    }

    /// What all clients send.
    fn script(&self) -> PathBuf {
        self.directory.with_file_name("script.txt")
    }
}

/// The folder of the programs.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients")
}

/// A program of the system's, or a line that says how to get it.
fn find_tool(name: &str, how: &str) -> Option<PathBuf> {
    let found = find_in_path(name);
    if found.is_none() {
        skip(&[name], &format!("{name} is not installed ({how})"));
    }
    found
}

/// A copy of a language's sources in which `make` has produced the file or folder `product`; one for each state of the
/// sources, and made by one process at a time.
fn prepared(language: &str, product: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients").join(fingerprint(language));
    let directory = parent.join(language);
    fs::create_dir_all(&directory).expect("the build directory can be written");
    let lock =
        File::create(parent.join(format!("{language}.lock"))).expect("the build directory can be written");
    lock.lock().expect("a file can be locked");
    if !directory.join(product).exists() {
        copy_files(&sources(), &parent);
        copy_files(&sources().join(language), &directory);
        make(&directory);
    }
    directory
}

/// A name for the contents of the script and of a language's sources.
fn fingerprint(language: &str) -> String {
    let mut hash = sha1_smol::Sha1::new();
    for file in [files(&sources()), files(&sources().join(language))].concat() {
        hash.update(&fs::read(file).expect("a source can be read"));
    }
    hash.digest().to_string()[..16].to_string()
}

/// The files of a folder, sorted; not those of folders in it.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("the folder is there").flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

fn copy_files(from: &Path, to: &Path) {
    for file in files(from) {
        fs::copy(&file, to.join(file.file_name().expect("a file has a name"))).expect("a file can be copied");
    }
}

fn install(command: &mut Command) {
    let mut said = String::new();
    for _ in 0..ATTEMPTS_MAX {
        let output = command.output().expect("the package tool starts");
        if output.status.success() {
            return;
        }
        said =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    }
    panic!("{command:?} failed {ATTEMPTS_MAX} times:\n{said}");
}

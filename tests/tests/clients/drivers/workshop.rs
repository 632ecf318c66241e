//! The preparation of the clients' programs: copies of `tests/clients`.

use lockwheel_tests::redis_server::skip;
use lockwheel_tests::workshop::{Sources, find_tool, install, java, maven_classpath, npm_install};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs of one language, ready to run.
pub(crate) struct Workshop {
    directory: PathBuf,
    tool: PathBuf,
}

impl Workshop {
    /// redis-py, and Celery with kombu: installed in a directory where this Python finds them.
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
        let directory = prepared("node", "node_modules", |directory| npm_install(&npm, directory));
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
        let directory = prepared("java", "classpath", |directory| maven_classpath(&maven, directory));
        Some(Workshop { directory, tool: java })
    }

    /// The command of a Python program.
    pub(crate) fn python3(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.tool);
        command.arg(self.directory.join(program)).args(arguments).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    /// The command of a Node program.
    pub(crate) fn node_js(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.tool);
        command.arg(self.directory.join(program)).args(arguments);
        command
    }

    /// The command of the Go program, with the script.
    pub(crate) fn go_program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.tool);
        command.args(arguments).arg(self.script());
        command
    }

    /// The command of the class for Java's clients, compiled at its start, with the script.
    pub(crate) fn java_class(&self, arguments: &[&str]) -> Command {
        let classpath = fs::read_to_string(self.directory.join("classpath")).expect("Maven wrote it");
        let mut command = java(&self.tool);
        command.args(["-cp", classpath.trim_end()]);
        command.arg(self.directory.join("Clients.java")).args(arguments).arg(self.script());
        command
    }

    /// The command of Java's clients of several servers.
    pub(crate) fn java_shapes(&self, arguments: &[&str]) -> Command {
        let classpath = fs::read_to_string(self.directory.join("classpath")).expect("Maven wrote it");
        let mut command = java(&self.tool);
        command.args(["-cp", classpath.trim_end()]).arg(self.directory.join("Shapes.java")).args(arguments);
        command
    }

    /// The command of Go's clients of several servers.
    pub(crate) fn go_shapes(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.tool);
        command.args(arguments);
        command
    }

    /// The script that all clients send.
    fn script(&self) -> PathBuf {
        self.directory.with_file_name("script.txt")
    }
}

/// The folder of the programs.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients")
}

/// See [`Sources::prepared`].
fn prepared(language: &str, product: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients");
    Sources { folder: sources(), build }.prepared(language, product, make)
}

//! The program in the place of redis-server: started by other projects' harnesses, each from its registry, and with the
//! arguments and files of clients' own tests. Each harness does the same with a real redis-server, if one is installed.

mod argument_lists;
mod command_lines;
mod embedded_redis;
mod log_lines;
mod pytest_redis;
mod redis_memory_server;
mod redis_rs;
mod testcontainers;

use lockwheel_tests::program;
use lockwheel_tests::redis_server::Kind;
use lockwheel_tests::workshop::Sources;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs};

/// The folders of `tests/stand-in`, one for each harness.
fn sources() -> Sources {
    Sources {
        folder: Path::new(env!("CARGO_MANIFEST_DIR")).join("stand-in"),
        build: Path::new(env!("CARGO_TARGET_TMPDIR")).join("stand-in"),
    }
}

/// A test's own empty directory, removed when dropped.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Directory {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("lockwheel-stand-in-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("the system has a place for temporary files");
        Directory(path)
    }

    /// The directory with our program in it, under the name of Redis'.
    #[cfg(unix)]
    fn with_redis_server() -> (Directory, PathBuf) {
        let directory = Directory::new();
        let link = directory.0.join("redis-server");
        std::os::unix::fs::symlink(program::path(), &link).expect("the directory can be written");
        (directory, link)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("the path is text").to_owned()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _already_gone = fs::remove_dir_all(&self.0);
    }
}

/// Runs the command that `command` returns for a redis-server, for ours and for a real one, if there is one. Requires
/// that both print these lines on standard output.
#[track_caller]
fn prints(expected: &[&str], command: impl Fn(&Path) -> Command) {
    let (_directory, ours) = Directory::with_redis_server();
    for server in [Some(ours), Kind::Redis.find()].into_iter().flatten() {
        let said = succeeds(&mut command(&server));
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines, expected, "with {}", server.display());
    }
}

/// Runs a command that must succeed. Returns its standard output.
#[track_caller]
fn succeeds(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}\n{log}", output.status);
    text
}

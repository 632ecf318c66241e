//! The preparation of programs in other languages. Their sources are copied below the build directory, where the
//! language's own tool installs their dependencies, once.

use crate::redis_server::{find_in_path, skip};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The number of attempts before a package tool's failure counts: the network to its registry is not the subject of the
/// tests.
const MAX_ATTEMPTS: u32 = 3;

/// A program of the system, or a line that says how to get it.
pub fn find_tool(name: &str, how: &str) -> Option<PathBuf> {
    let found = find_in_path(name);
    if found.is_none() {
        skip(&[name], &format!("{name} is not installed ({how})"));
    }
    found
}

/// A folder of sources that belong together, with one folder for each language or tool.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The folder. The files directly in it are shared by all folders in it.
    pub folder: PathBuf,
    /// The directory below which copies are made.
    pub build: PathBuf,
}

impl Sources {
    /// Returns a copy of the folder `name` in which `make` has produced the file or folder `product`. There is one copy
    /// for each state of the sources, made by one process at a time.
    ///
    /// # Panics
    /// Panics if the build directory cannot be written.
    pub fn prepared(&self, name: &str, product: &str, make: impl FnOnce(&Path)) -> PathBuf {
        let parent = self.build.join(self.fingerprint(name));
        let directory = parent.join(name);
        fs::create_dir_all(&directory).expect("the build directory can be written");
        let lock =
            File::create(parent.join(format!("{name}.lock"))).expect("the build directory can be written");
        lock.lock().expect("a file can be locked");
        if !directory.join(product).exists() {
            copy_files(&self.folder, &parent);
            copy_files(&self.folder.join(name), &directory);
            make(&directory);
        }
        directory
    }

    /// A name for the contents of the shared files and of one folder.
    fn fingerprint(&self, name: &str) -> String {
        let mut hash = sha1_smol::Sha1::new();
        for file in [files(&self.folder), files(&self.folder.join(name))].concat() {
            hash.update(&fs::read(file).expect("a source can be read"));
        }
        hash.digest().to_string()[..16].to_string()
    }
}

/// The files of a folder, sorted, without those of its subfolders.
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

/// Runs a package tool until it succeeds.
///
/// # Panics
/// Panics if the tool has failed several times, with its output.
pub fn install(command: &mut Command) {
    let mut said = String::new();
    for _ in 0..MAX_ATTEMPTS {
        let output = command.output().expect("the package tool starts");
        if output.status.success() {
            return;
        }
        said =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    }
    panic!("{command:?} failed {MAX_ATTEMPTS} times:\n{said}");
}

/// Runs `npm install` of the packages that `package.json` names.
pub fn npm_install(npm: &Path, directory: &Path) {
    let mut command = Command::new(npm);
    command.current_dir(directory).args(["install", "--no-save", "--silent", "--no-audit", "--no-fund"]);
    // Some packages would download programs of their own.
    install(command.arg("--ignore-scripts"));
}

/// Lets Maven write the class path of the pom's dependencies into the file `classpath`.
pub fn maven_classpath(maven: &Path, directory: &Path) {
    let mut command = Command::new(maven);
    command.current_dir(directory).args(["-q", "-B", "dependency:build-classpath"]);
    install(command.arg("-Dmdep.outputFile=classpath"));
}

/// The command of Java with a quick start, to which a class path and a source file are to be added.
pub fn java(java: &Path) -> Command {
    let mut command = Command::new(java);
    command.args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m"]);
    command
}

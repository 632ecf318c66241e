//! A version's sources, unpacked by Maven, and the scripts in them.

use super::java::literals;
use crate::redis_server::{find_in_path, skip};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The plugin of Maven that unpacks a jar.
const UNPACK: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack";

/// The number of attempts before Maven's failure counts.
const MAX_MAVEN_ATTEMPTS: u32 = 3;

/// A script and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The Java class that runs it (the first of them by name).
    pub class: String,
    /// The Lua text.
    pub text: String,
}

/// Returns the distinct scripts of a version that its sources hold as literals, by class. Also returns the number of
/// scripts that the sources build from literals and other values, which are left out. The sources are unpacked below
/// `directory` once. Returns `None`, after one line on standard error, if Maven or a JDK is not installed.
///
/// # Panics
/// Panics if a tool is missing and the environment has `CI=true`, or if Maven fails.
pub fn scripts_of(version: &str, directory: &Path) -> Option<(Vec<Script>, usize)> {
    let (Some(maven), Some(_)) = (find_in_path("mvn"), find_in_path("java")) else {
        let remedy = "apt-get install openjdk-17-jdk maven";
        let why = format!("the scripts of Redisson {version} need Maven and a JDK ({remedy})");
        skip(&["java", "mvn"], &why);
        return None;
    };
    let sources = unpacked(version, &maven, directory);
    let mut files = Vec::new();
    java_files(&sources, &mut files);
    files.sort();
    let (mut found, mut mixed) = (BTreeMap::new(), BTreeSet::new());
    for file in files {
        let source = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let class = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (whole, parts) = literals(&source);
        for text in whole.into_iter().filter(|text| is_script(text)) {
            found.entry(text).or_insert_with(|| class.clone());
        }
        mixed.extend(parts.into_iter().filter(|text| is_script(text)));
    }
    let mut scripts: Vec<Script> = found.into_iter().map(|(text, class)| Script { class, text }).collect();
    scripts.sort_by(|a, b| (&a.class, &a.text).cmp(&(&b.class, &b.text)));
    Some((scripts, mixed.len()))
}

fn is_script(text: &str) -> bool {
    text.contains("redis.call") || text.contains("redis.pcall")
}

/// The directory with a version's sources.
fn unpacked(version: &str, maven: &Path, directory: &Path) -> PathBuf {
    let parent = directory.join("redisson-sources");
    fs::create_dir_all(&parent).expect("the build directory can be written");
    // Two test processes may need the same version at once.
    let lock =
        File::create(parent.join(format!("{version}.lock"))).expect("the build directory can be written");
    lock.lock().expect("a file can be locked");
    let (whole, unfinished) = (parent.join(version), parent.join(format!("{version}.unfinished")));
    if whole.is_dir() {
        return whole;
    }
    let mut said = String::new();
    for _ in 0..MAX_MAVEN_ATTEMPTS {
        let output = Command::new(maven)
            .args(["-q", "-B", UNPACK, "-Dmdep.unpack.includes=**/*.java"])
            .arg(format!("-Dartifact=org.redisson:redisson:{version}:jar:sources"))
            .arg(format!("-DoutputDirectory={}", unfinished.display()))
            .current_dir(&parent)
            .output()
            .expect("Maven starts");
        if output.status.success() && unfinished.is_dir() {
            fs::rename(&unfinished, &whole).expect("the build directory can be written");
            return whole;
        }
        said = String::from_utf8_lossy(&output.stdout).into_owned();
    }
    panic!(
        "Maven did not unpack the sources of Redisson {version} in {MAX_MAVEN_ATTEMPTS} attempts:\n{said}"
    );
}

fn java_files(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            java_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "java") {
            files.push(path);
        }
    }
}

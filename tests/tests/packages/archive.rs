//! The release archive: its checksums are right, and its contents work.

use crate::{package, packaging, project, run};
use lockwheel_tests::redis_server::{find_in_path, skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder with the archive and its checksum, packed once for all tests. `None` if it cannot be packed.
pub(crate) fn packed() -> Option<&'static Path> {
    if find_in_path("python3").is_none() {
        skip(&["python3"], "python3 is not installed (apt-get install python3)");
        return None;
    }
    static PACKED: OnceLock<PathBuf> = OnceLock::new();
    Some(PACKED.get_or_init(|| package("archive")))
}

/// The archive in a folder of archives.
fn archive_in(folder: &Path) -> PathBuf {
    let mut files = fs::read_dir(folder).expect("the folder is there").flatten().map(|entry| entry.path());
    files.find(|path| path.to_string_lossy().ends_with(".tar.gz")).expect("an archive is there")
}

/// The contents of the archive, unpacked into a project.
fn unpacked(archive: &Path) -> PathBuf {
    let project = project("archive");
    run(Command::new("tar").arg("--extract").arg("--file").arg(archive).arg("--directory").arg(&project));
    let name = archive.file_name().expect("it is a file").to_string_lossy().into_owned();
    project.join(name.strip_suffix(".tar.gz").expect("it ends so"))
}

#[test]
fn the_archive_has_the_program_and_what_belongs_to_it() {
    let Some(folder) = packed() else { return };
    let archive = archive_in(folder);
    run(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(folder));

    let root = unpacked(&archive);
    let program = root.join("lockwheel");
    let expected = format!("lockwheel-{}-x86_64-unknown-linux-gnu", env!("CARGO_PKG_VERSION"));
    assert_eq!(root.file_name().expect("it has a name"), &*expected);
    let version = run(Command::new(&program).arg("--version"));
    assert!(
        version.trim_end().ends_with(concat!("build=lockwheel-", env!("CARGO_PKG_VERSION"))),
        "{version}"
    );
    let said = run(Command::new(&program).args(["run", "--"]).arg(&program).arg("healthcheck"));
    assert!(said.ends_with("answers.\n"), "{said}");

    let read =
        |path: &str| fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let readme = read("README.md");
    assert_eq!(readme, fs::read_to_string(packaging().join("archive/README.md")).expect("it is there"));
    for (path, arguments) in [
        ("completions/lockwheel.bash", &["completions", "bash"][..]),
        ("completions/_lockwheel", &["completions", "zsh"]),
        ("completions/lockwheel.fish", &["completions", "fish"]),
        ("completions/lockwheel.elv", &["completions", "elvish"]),
        ("man/man1/lockwheel.1", &["man"]),
    ] {
        assert_eq!(read(path), run(Command::new(&program).args(arguments)), "{path}");
        assert!(readme.contains(&format!("`{path}`")), "README does not tell of {path}");
    }
    run(Command::new("bash").arg("-n").arg(root.join("completions/lockwheel.bash")));
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        assert!(!read(licence).is_empty() && readme.contains(licence), "{licence}");
    }
    let again = root.with_file_name("again");
    run(Command::new(packaging().join("build.d/archive")).args([&program, &again]));
    let bytes = |path: &Path| fs::read(path).expect("it can be read");
    assert!(bytes(&archive_in(&again)) == bytes(&archive), "the same program makes the same archive");
}

#[test]
fn a_file_that_is_no_program_is_not_packed() {
    if packed().is_none() {
        return;
    }
    let directory = project("refused");
    let (script, out) = (packaging().join("build"), directory.join("out"));
    for package in ["archive", "image"] {
        let mut command = Command::new(packaging().join("build.d").join(package));
        command.args([&script, &out]);
        let output = command.output().expect("python starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && said.contains("neither a program of Linux nor one of macOS"),
            "{said}"
        );
        assert!(!out.exists(), "{package} has left something");
    }
}

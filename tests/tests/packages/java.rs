//! The Maven package: projects with Redisson, Jedis, Lettuce and Spring Boot, and its own tests, in one run of Maven.
//! Maven takes the package from the repository into which it was packed.

use super::{copy_files, package, packaging, project, run};
use lockwheel_tests::redis_server::{find_in_path, skip};
use lockwheel_tests::tls::Certificates;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Maven, with a compiler for Java.
fn maven() -> Option<PathBuf> {
    let found = find_in_path("mvn").filter(|_| find_in_path("javac").is_some());
    if found.is_none() {
        skip(
            &["mvn", "javac"],
            "Maven or a JDK is not installed (apt-get install default-jdk-headless maven)",
        );
    }
    found
}

/// Copies a folder with its subfolders, without Maven's output.
fn copy_folder(from: &Path, to: &Path) {
    copy_files(from, to);
    for entry in fs::read_dir(from).expect("the folder is there").flatten() {
        if entry.path().is_dir() && entry.file_name() != "target" {
            copy_folder(&entry.path(), &to.join(entry.file_name()));
        }
    }
}

/// Maven's repository for these tests: downloads are kept from run to run, but the package is not.
fn local_repository() -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages/maven-repository");
    let package = path.join("io/lockwheel");
    if package.exists() {
        fs::remove_dir_all(package).expect("what an earlier run has left can be removed");
    }
    path
}

/// Certificates for the projects whose tests use TLS.
fn give_certificates(directory: &Path) {
    let certificates = Certificates::new();
    for project in ["package", "redisson", "spring-boot-3", "spring-boot-4"] {
        let folder = directory.join(project).join("certificates");
        fs::create_dir_all(&folder).expect("the build directory can be written");
        for file in ["ca.crt", "server.crt", "server.key"] {
            fs::copy(certificates.path(file), folder.join(file)).expect("a file can be copied");
        }
    }
}

/// Runs all projects. Returns Maven's output.
fn tests_of_all_projects(maven: &Path, directory: &Path, packages: &Path) -> String {
    let mut command = Command::new(maven);
    command.current_dir(directory).env_remove("LOCKWHEEL_BINARY").args(["-B", "-T", "2", "test"]);
    command.arg(format!("-Dmaven.repo.local={}", local_repository().display()));
    command.arg(format!("-Dlockwheel.repository={}", packages.display()));
    command.arg(format!("-Dlockwheel.version={}", env!("CARGO_PKG_VERSION")));
    // Flags for a short run, and the folder into which the package unpacks its program.
    command.env("MAVEN_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
    run(command.env("XDG_CACHE_HOME", directory.join("cache")))
}

/// Requires that each test class has run all of its tests, in as many projects as there are numbers. Two tests fail on
/// purpose.
#[track_caller]
fn all_tests_were_run(said: &str) {
    for (class, wanted) in [
        ("LeaseTest", vec![1]),
        ("TlsTest", vec![1]),
        ("SettleTest", vec![1]),
        ("WatchdogTest", vec![2]),
        ("FirstForkTest", vec![2]),
        ("SecondForkTest", vec![2]),
        ("shop.ReservationTest", vec![2, 2]),
        ("shop.PasswordTest", vec![1, 1]),
        ("shop.TlsTest", vec![1, 1]),
    ] {
        let ending = format!("-- in {class}");
        let lines = said.lines().filter(|line| line.ends_with(&ending));
        let passed: Vec<u32> = lines.filter_map(tests_passed).collect();
        assert_eq!(passed, wanted, "{class}: {said}");
    }
    let two_failed = |line: &str| line.contains("Tests run: 3, Failures: 2, Errors: 0, Skipped: 0");
    assert!(said.lines().any(two_failed), "{said}");
}

/// The number of tests in a line of Surefire, if none failed and none was skipped.
fn tests_passed(line: &str) -> Option<u32> {
    let (count, rest) = line.split_once("Tests run: ")?.1.split_once(", ")?;
    rest.starts_with("Failures: 0, Errors: 0, Skipped: 0").then(|| count.parse().ok())?
}

/// The report has the seed, the client that waited at the moment of the failure, and the last command. The other test
/// fails because of a finding in the history.
#[track_caller]
fn check_failure_report(said: &str) {
    let waiting = |line: &str| line.contains("name=who-waits") && line.ends_with("cmd=blpop");
    assert!(said.lines().any(waiting), "{said}");
    for wanted in [
        "expected: <cancelled> but was: <paid>",
        "seed 42",
        "mode=real",
        "SET order:42 paid",
        "violation mutual-exclusion of order:42: ",
        "Ready to accept connections",
    ] {
        assert!(said.contains(wanted), "{wanted:?} is not in\n{said}");
    }
}

/// Each of Surefire's forks had one server, and none had two.
#[track_caller]
fn two_forks_had_two_servers(directory: &Path) {
    let names: Vec<String> = fs::read_dir(directory.join("jedis/target/servers"))
        .expect("the tests have written there")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let part =
        |index: usize| -> BTreeSet<_> { names.iter().map(|name| name.split('-').nth(index)).collect() };
    assert_eq!((names.len(), part(0).len(), part(1).len()), (2, 2, 2), "{names:?}");
}

#[test]
fn projects_take_the_package_from_its_repository_and_their_tests_pass() {
    let Some(maven) = maven() else { return };
    let packages = package("maven");
    let directory = project("maven");
    copy_folder(&packaging().join("java/try"), &directory);
    copy_folder(&packaging().join("java/src/test"), &directory.join("package/src/test"));
    give_certificates(&directory);
    let said = tests_of_all_projects(&maven, &directory, &packages);
    all_tests_were_run(&said);
    check_failure_report(&said);
    two_forks_had_two_servers(&directory);
    let unpacked =
        fs::read_dir(directory.join("cache/lockwheel")).expect("the package unpacks its program there");
    assert_eq!(unpacked.count(), 1, "one file for all processes");
    if let Some(line) = said.lines().find(|line| line.starts_with("from LockwheelServer.start()")) {
        println!("{line}");
    }
}

#[test]
fn the_readme_shows_the_test_that_runs() {
    let read =
        |path: &str| fs::read_to_string(packaging().join("java").join(path)).expect("the file is there");
    let readme = read("README.md");
    let test = read("try/redisson/src/test/java/LeaseTest.java");
    assert!(readme.contains(&format!("```java\n{test}```\n")), "README has another test than try/redisson");
    let version = format!("<version>{}</version>", env!("CARGO_PKG_VERSION"));
    assert!(readme.contains(&version), "README has another version than {version}");
}

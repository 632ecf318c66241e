//! The wheel: pip installs it into a fresh environment, in which the package's own tests run, including the README's.

use crate::{CERTIFICATES, copy_files, package, packaging, print_starts, project, run};
use lockwheel_tests::redis_server::{find_in_path, skip};
use lockwheel_tests::tls::Certificates;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The dependencies of the package's tests.
const TOOLS: &[&str] = &["pytest>=7.4", "pytest-xdist", "redis", "mypy"];

/// Python, with the module that creates environments.
fn python3() -> Option<PathBuf> {
    let python = find_in_path("python3").filter(|python| {
        let import = Command::new(python).args(["-c", "import venv, ensurepip"]).output();
        import.is_ok_and(|it| it.status.success())
    });
    if python.is_none() {
        skip(&["python3"], "python3 with venv is not installed (apt-get install python3 python3-venv)");
    }
    python
}

/// A command of an environment's Python that sees nothing of the workspace.
fn within(directory: &Path) -> Command {
    let mut command = Command::new(directory.join("environment/bin/python"));
    command.current_dir(directory).env_remove("LOCKWHEEL_BINARY").env_remove("PYTHONPATH").arg("-m");
    command
}

#[test]
fn the_wheel_is_installed_and_its_tests_pass() {
    let Some(python) = python3() else { return };
    let wheel = package("python");
    let directory = project("python");
    run(Command::new(python).args(["-m", "venv"]).arg(directory.join("environment")));
    let mut install = within(&directory);
    run(install.args(["pip", "install", "--quiet", "--disable-pip-version-check"]).arg(wheel).args(TOOLS));

    let version = run(Command::new(directory.join("environment/bin/lockwheel")).arg("--version"));
    assert!(!version.is_empty());
    let typed = run(within(&directory).args(["mypy", "--strict", "--package", "lockwheel"]));
    assert!(typed.contains("no issues found"), "{typed}");

    copy_files(&packaging().join("python/tests"), &directory.join("tests"));
    let certificates = Certificates::new();
    let mut pytest = within(&directory);
    pytest.env(CERTIFICATES, certificates.path(""));
    let said = run(pytest.args(["pytest", "-q", "-p", "pytester", "-W", "error", "tests"]));
    assert!(said.contains(" passed") && !said.contains(" failed"), "{said}");
    print_starts("python", &said);
}

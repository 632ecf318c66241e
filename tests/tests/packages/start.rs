//! The section "A first test" of each page for beginners, run as it stands in an empty folder: its commands, and its
//! other blocks as the files that the text names. Only slow parts are shortened: the program is that of the other
//! tests, and builds are kept from run to run.

use super::{run, stripped, target};
use lockwheel_tests::pages::{self, Block, Page};
use lockwheel_tests::workshop::find_tool;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The place of the checkout on the pages: next to the project.
const CHECKOUT: &str = "lockwheel/";

/// The word that ends a file within the script.
const END: &str = "END_OF_THE_FILE";

/// An empty folder outside of the workspace, where no tool finds a manifest above; removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("lockwheel-start-{name}-{}", std::process::id()));
        fs::create_dir(&path).expect("the directory for temporary files can be written");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Remaining files do no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A folder for build output and downloads of these tests, which stays.
fn kept(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("start").join(name);
    fs::create_dir_all(&path).expect("the build directory can be written");
    path
}

/// The checkout to which these tests belong.
fn checkout() -> PathBuf {
    pages::file("").canonicalize().expect("the repository is there")
}

/// The blocks of a page's section.
fn section(page: &str) -> Vec<Block> {
    let blocks = Page::read(&format!("{}{page}.md", pages::START)).blocks();
    let blocks: Vec<Block> = blocks.into_iter().filter(Block::is_of_first_test).collect();
    assert!(blocks.len() >= 3, "{page}: commands, a test, and the command that runs it: {blocks:#?}");
    blocks
}

/// The section as one script, which a reader would type and save block by block.
fn script(blocks: &[Block]) -> String {
    let mut script = String::from("set -euo pipefail\n");
    for block in blocks {
        let text = &block.text;
        match (block.file_name(), block.language.as_str()) {
            (Some(file), _) => {
                script += &format!("mkdir -p \"$(dirname {file})\"\ncat > {file} <<'{END}'\n{text}{END}\n");
            }
            (None, "sh") => script += &with_this_checkout(text),
            // A part of a file that earlier commands have written.
            (None, "toml") => {}
            (None, _) => panic!("{}:{}: the page does not say where it is saved", block.page, block.line),
        }
    }
    script
}

/// The program that is packed. Its file has another name: packages call it what they call it.
fn ready() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| {
        let path = kept("program").join("ready");
        fs::copy(stripped(), &path).expect("the build directory can be written");
        path
    })
}

/// Commands with the checkout of these tests, and with the existing program.
fn with_this_checkout(commands: &str) -> String {
    let checkout = format!("{}/", checkout().display());
    let build = format!("{checkout}packaging/build");
    let ready = format!("{build} --binary {}", ready().display());
    let moved = commands.replace(&format!("../{CHECKOUT}"), &checkout).replace(CHECKOUT, &checkout);
    moved.replace(&build, &ready)
}

/// Runs the section of a page. Returns the output. The program is not on the search path.
fn run_section(page: &str, variables: &[(&str, String)]) -> String {
    let folder = Folder::new(page);
    run_script_in(&folder, page, &script(&section(page)), variables)
}

fn run_script_in(folder: &Folder, page: &str, script: &str, variables: &[(&str, String)]) -> String {
    let mut bash = Command::new("bash");
    bash.arg("-c")
        .arg(script)
        .current_dir(&folder.0)
        .env("CARGO_TARGET_DIR", kept(page))
        .env("NO_COLOR", "1");
    let of_this_machine =
        ["CONDA_PREFIX", "GOFLAGS", "LOCKWHEEL_BINARY", "NODE_PATH", "PYTHONPATH", "VIRTUAL_ENV"];
    for variable in of_this_machine {
        bash.env_remove(variable);
    }
    run(bash.envs(variables.iter().map(|(name, value)| (name, value))))
}

/// Returns the number of tests in the page's files, each with this mark.
fn count(page: &str, mark: &str) -> usize {
    section(page).iter().map(|block| block.text.matches(mark).count()).sum()
}

#[test]
fn python_from_an_empty_folder_to_a_green_test() {
    if find_tool("python3", "apt-get install python3 python3-venv").is_none() {
        return;
    }
    let said = run_section("python", &[]);
    assert!(said.contains(&format!("{} passed", count("python", "def test_"))), "{said}");
}

#[test]
fn node_from_an_empty_folder_to_a_green_test() {
    if find_tool("npm", "apt-get install nodejs npm").is_none() {
        return;
    }
    let said = run_section("node", &[]);
    assert!(said.contains(&format!("{} passed", count("node", "\ntest("))), "{said}");
}

#[test]
fn go_from_an_empty_folder_to_a_green_test() {
    if find_tool("go", "apt-get install golang-go").is_none() {
        return;
    }
    let said = run_section("go", &[]);
    assert!(said.lines().any(|line| line.starts_with("ok") && line.contains("my-project")), "{said}");
}

#[test]
fn java_from_an_empty_folder_to_a_green_test() {
    let maven = find_tool("mvn", "apt-get install maven");
    if maven.and(find_tool("javac", "apt-get install default-jdk-headless")).is_none() {
        return;
    }
    // The local repository of the user who runs the tests stays unchanged.
    let options =
        format!("-Dmaven.repo.local={} -XX:TieredStopAtLevel=1", kept("maven-repository").display());
    let cache = kept("cache").display().to_string();
    let variables = [("MAVEN_OPTS", options), ("XDG_CACHE_HOME", cache)];
    let said = run_section("java", &variables);
    let wanted = format!("Tests run: {}, Failures: 0, Errors: 0", count("java", "@Test"));
    assert!(said.contains(&wanted), "{said}");
}

/// The steps of a workflow, as they stand in a page's list.
fn steps(block: &Block) -> String {
    let steps = block.text.lines().filter_map(|line| line.trim_start().strip_prefix("- run: "));
    steps.map(|step| format!("{step}\n")).collect()
}

#[test]
fn ci_packs_the_existing_program() {
    if find_tool("python3", "apt-get install python3 python3-venv").is_none() {
        return;
    }
    let blocks = Page::read("docs/start/ci.md").blocks();
    let build = format!("{CHECKOUT}packaging/build");
    let block = blocks.iter().find(|block| steps(block).contains(&build)).expect("the page makes a package");
    let moved = steps(block).replace(CHECKOUT, &format!("{}/", checkout().display()));
    let program = stripped().parent().expect("a program is in a folder").display();
    let path = std::env::var("PATH").expect("there is a search path");
    let script = format!(
        "set -euo pipefail\n{moved}.venv/bin/python -c 'import lockwheel; print(lockwheel.__file__)'\n"
    );
    let variables = [("PATH", format!("{program}:{path}"))];
    let said = run_script_in(&Folder::new("ci"), "ci", &script, &variables);
    assert!(said.trim_end().ends_with("lockwheel/__init__.py"), "{said}");
}

/// Returns the words of `packaging/build`, run by `bash`, for arguments that it refuses.
fn refusal(bash: &Path, arguments: &[&str], path: &str) -> String {
    let build = checkout().join("packaging/build");
    let output =
        Command::new(bash).arg(build).args(arguments).env("PATH", path).output().expect("bash starts");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn mistakes_are_reported_before_the_build() {
    let Some(bash) = find_tool("bash", "apt-get install bash") else { return };
    let path = std::env::var("PATH").expect("there is a search path");
    let folder = Folder::new("mistakes");
    let project = folder.0.display().to_string();
    let nowhere = format!("{project}/nowhere");
    for (arguments, told) in [
        (&["rust"][..], "no package rust; there are: archive go image maven npm python"),
        (&["--install-into", &nowhere, "python"], "--install-into: there is no "),
        (&["--install-into", &project], "--install-into takes a language: python, node, java or go"),
        (&["--install-into", &project, "image"], "image is not installed into a project"),
        (&["--install", &project, "python"], "no option --install; --help lists them"),
        (&["python", "--install-into", &project], "the options stand before the names"),
    ] {
        let said = refusal(&bash, arguments, &path);
        assert!(said.contains(told), "{arguments:?}: {said}");
    }
    // The script runs without npm, and with all tools that are checked before it.
    let tools = folder.0.join("tools");
    fs::create_dir(&tools).expect("the folder can be written");
    for name in ["dirname", "ls", "realpath", "rustc", "sed", "xargs"] {
        let Some(tool) = find_tool(name, "it is part of every system") else { return };
        let link = format!("#!/bin/sh\nexec {} \"$@\"\n", tool.display());
        let path = tools.join(name);
        fs::write(&path, link).expect("the folder can be written");
        run(Command::new("chmod").arg("+x").arg(&path));
    }
    let said = refusal(&bash, &["--install-into", &project, "node"], &tools.display().to_string());
    assert!(said.contains("npm needs node, which is not on PATH"), "{said}");
}

/// The versions are the workspace's, which cargo has at hand, and the build is that of the book's blocks in Rust.
#[test]
fn rust_from_an_empty_folder_to_a_green_test() {
    let folder = Folder::new("rust");
    let project = folder.0.join("my-project");
    fs::create_dir(&project).expect("the folder can be written");
    fs::copy(checkout().join("Cargo.lock"), project.join("Cargo.lock")).expect("a file can be copied");
    let outside = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside").display().to_string();
    let variables = [
        ("CARGO_TARGET_DIR", outside),
        ("CARGO_NET_OFFLINE", "true".into()),
        ("CARGO_PROFILE_DEV_DEBUG", "0".into()),
    ];
    let said = run_script_in(&folder, "rust", &script(&section("rust")), &variables);
    let wanted = format!("test result: ok. {} passed", count("rust", "#[test]"));
    assert!(said.contains(&wanted), "{said}");
}

/// The profile is that of these tests, so that their build is reused.
#[test]
fn redis_cli_from_an_empty_folder_to_a_green_test() {
    if find_tool("redis-cli", "apt-get install redis-tools").is_none() {
        return;
    }
    let folder = Folder::new("program");
    let script = script(&section("program"));
    let told = "cargo install --locked --profile local ";
    assert!(script.contains(told), "{script}");
    let root = folder.0.join("root");
    let quick = format!("cargo install --locked --debug --offline --no-track --root {} ", root.display());
    let path = std::env::var("PATH").expect("there is a search path");
    let variables = [
        ("CARGO_TARGET_DIR", target().display().to_string()),
        ("PATH", format!("{}:{path}", root.join("bin").display())),
    ];
    let said = run_script_in(&folder, "program", &script.replace(told, &quick), &variables);
    assert_eq!(said.lines().last(), Some("green"), "{said}");
}

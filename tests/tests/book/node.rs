//! Blocks in JavaScript, in one project with ioredis, Vitest and the package: tests by Vitest, in one run, programs,
//! and files that their first line names.

use crate::scratch::Scratch;
use crate::{blocks, name, run};
use lockwheel_tests::pages::Block;
use lockwheel_tests::redis_server::{find_in_path, skip};
use std::fs;
use std::process::Command;

/// The project's dependencies besides the package.
const MANIFEST: &str = r#"{
  "private": true,
  "type": "module",
  "dependencies": { "ioredis": "6.0.0", "vitest": "3.2.4" }
}
"#;

/// The project with its dependencies installed: once, as long as they do not change.
fn project() -> Option<Scratch> {
    if find_in_path("node").is_none() || find_in_path("npm").is_none() {
        skip(&["node", "npm"], "node or npm is not installed (apt-get install nodejs npm)");
        return None;
    }
    let project = Scratch::kept("node");
    if fs::read_to_string(project.path("installed")).is_ok_and(|text| text == MANIFEST) {
        return Some(project);
    }
    project.write("package.json", MANIFEST);
    let mut npm = Command::new("npm");
    run(npm.current_dir(project.path("")).args([
        "install",
        "--no-audit",
        "--no-fund",
        "--loglevel",
        "error",
    ]));
    project.write("installed", MANIFEST);
    Some(project)
}

/// The file name of a block: its first line may be a comment with the name.
fn file(block: &Block) -> String {
    let named = block.text.lines().next().and_then(|line| line.strip_prefix("// "));
    match named.filter(|name| name.ends_with(".js") && !name.contains(' ')) {
        Some(named) => named.to_owned(),
        None if block.text.contains("test(") => format!("{}.test.js", name(block)),
        None => format!("{}.js", name(block)),
    }
}

#[test]
fn the_blocks_in_javascript_run() {
    let Some(project) = project() else { return };
    project.copy("packaging/npm", "node_modules/lockwheel");
    let directory = project.emptied("blocks");
    let blocks = blocks("js");
    let mut tests = 0;
    for block in &blocks {
        let path = directory.join(file(block));
        let known = fs::read_to_string(&path).unwrap_or_else(|_| block.text.clone());
        assert_eq!(known, block.text, "two blocks are the same file, {}", path.display());
        fs::write(&path, &block.text).expect("the build directory can be written");
        tests += block.text.lines().filter(|line| line.starts_with("test(")).count();
    }
    assert!(tests > 0, "the pages show tests");
    let mut vitest = Command::new(project.path("node_modules/.bin/vitest"));
    let said = run(vitest.current_dir(&directory).env("NO_COLOR", "1").args(["run"]));
    assert!(said.contains(&format!("{tests} passed")), "{tests} tests: {said}");
    for program in blocks.iter().map(file).filter(|file| !file.contains(".test.") && !file.contains("config"))
    {
        run(Command::new("node").current_dir(&directory).arg(program));
    }
}

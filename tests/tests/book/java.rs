//! Blocks in Java, with Redisson and the package's sources. They are test classes, or parts of one, which are put into
//! a test with their imports. All are compiled together and run by JUnit in one JVM.

use crate::scratch::Scratch;
use crate::{blocks, name, run};
use lockwheel_tests::pages::{self, Block};
use lockwheel_tests::program;
use lockwheel_tests::redisson::{Redisson, Version};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The names that a part of a class may use, and their packages.
const IMPORTS: &[(&str, &str)] = &[
    ("Duration.", "java.time.Duration"),
    ("LockwheelServer.", "io.lockwheel.LockwheelServer"),
    ("Redisson.", "org.redisson.Redisson"),
    ("ServerOptions(", "io.lockwheel.ServerOptions"),
    ("TimeUnit.", "java.util.concurrent.TimeUnit"),
];

/// The name of the class in a block that has one.
fn class(block: &Block) -> Option<&str> {
    let declared = block.text.lines().find_map(|line| line.split_once("class "))?.1;
    declared.split(' ').next()
}

/// The name of a block's class, and the block as a file: a whole file as it stands, or a part with its surroundings.
/// Each has its own package.
fn source(block: &Block) -> (String, String) {
    let package = name(block);
    if let Some(class) = class(block) {
        return (class.to_owned(), format!("package {package};\n\n{}", block.text));
    }
    let used = IMPORTS.iter().filter(|(name, _)| block.text.contains(name));
    let imports: String = used.map(|(_, class)| format!("import {class};\n")).collect();
    let text = format!(
        "package {package};\n\n{imports}\nclass PartTest {{\n    @org.junit.jupiter.api.Test\n    \
         void itRuns() throws Exception {{\n{}    }}\n}}\n",
        block.text
    );
    ("PartTest".into(), text)
}

/// The sources of the package, without those for JUnit and Spring.
fn sources_of_the_package() -> Vec<PathBuf> {
    let folder = pages::file("packaging/java/src/main/java/io/lockwheel");
    let entries = fs::read_dir(folder).expect("the package has sources").flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect()
}

#[test]
fn the_blocks_in_java_run() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let Some(redisson) = Redisson::prepare(Version::new(4, 7, 0), directory) else { return };
    let scratch = Scratch::new("java");
    let (mut files, mut tests) = (sources_of_the_package(), 0);
    let blocks = blocks("java");
    for block in &blocks {
        let (class, text) = source(block);
        let file = format!("{}/{class}.java", name(block));
        scratch.write(&file, &text);
        files.push(scratch.path(file));
        tests += text.lines().filter(|line| line.ends_with("@Test") || line.ends_with("api.Test")).count();
    }
    assert!(tests >= blocks.len() && tests > 0, "each block has a test");
    let junit = redisson.junit(&files, &scratch.path("classes"));
    // The frame of the build, as the page shows it.
    let mut around = Command::new(program::path());
    around.args(["run", "--time", "manual", "--"]).arg(junit.get_program()).args(junit.get_args());
    let said = run(&mut around);
    assert!(said.contains(&format!("{tests} tests successful")), "{tests} tests: {said}");
}

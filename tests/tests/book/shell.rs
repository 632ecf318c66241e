//! Shell blocks, each in its own directory, with the program on the search path. Also the commands that a workflow of a
//! CI service runs.

use crate::scratch::Scratch;
use crate::{blocks, name, run};
use lockwheel_tests::redis_server::{find_in_path, skip};
use std::process::Command;

/// The program that blocks call besides ours.
const CALLED: &str = "redis-cli";

/// The beginning of a workflow's command, and of one with several lines.
const STEP: &str = "- run: ";

fn run_in_shell(name: &str, text: &str) {
    let scratch = Scratch::new(name);
    run(Command::new("bash").args(["-euo", "pipefail", "-c", text]).current_dir(scratch.path("")));
}

fn has_tools() -> bool {
    let found = find_in_path(CALLED).is_some();
    if !found {
        skip(&[CALLED], "redis-cli is not installed (apt-get install redis-tools)");
    }
    found
}

#[test]
fn blocks_for_a_shell_succeed() {
    if has_tools() {
        blocks("sh").iter().for_each(|block| run_in_shell(&name(block), &block.text));
    }
}

#[test]
fn the_steps_of_a_workflow_succeed() {
    if !has_tools() {
        return;
    }
    for block in blocks("yaml") {
        let steps: Vec<&str> =
            block.text.lines().filter_map(|line| line.trim_start().strip_prefix(STEP)).collect();
        assert!(!steps.is_empty(), "{}:{}: a workflow has commands", block.page, block.line);
        run_in_shell(&name(&block), &steps.join("\n"));
    }
}

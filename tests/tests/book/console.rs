//! Blocks of redis-cli, each replayed in a session of its own. `console` blocks show the answers, `redis` blocks are to
//! be pasted.

use crate::blocks;
use lockwheel_tests::ours;
use lockwheel_tests::pages::Block;
use lockwheel_tests::redis_server::{find_in_path, is_wanted, skip};
use lockwheel_tests::reference::{self, INTRODUCTION_OF_TOPOLOGY, Started};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const PROMPT: &str = "127.0.0.1:6379> ";
/// The separator between the outputs of two commands.
const MARK: &str = "-- next --";
/// The beginnings of lines whose number varies; all other lines must match exactly.
const VARYING: [&str; 4] = [
    "\"ttl\" => (integer) ",
    "\"wall\" => (integer) ",
    "\"monotonic\" => (integer) ",
    "\"offset\" => (integer) ",
];
/// The beginning of an instant that is a reply by itself, and its number of digits.
const INSTANT: (&str, usize) = ("(integer) ", 13);

fn redis_cli() -> Option<PathBuf> {
    let found = find_in_path("redis-cli").filter(|_| is_wanted("redis-cli"));
    if found.is_none() {
        skip(&["redis-cli"], "redis-cli is not installed (apt-get install redis-tools)");
    }
    found
}

/// Starts the servers of a block: those of the reference's examples, or else one server in real time.
fn start(block: &Block) -> Started {
    if block.page.starts_with(reference::FOLDER) {
        return reference::start(block.introduction.starts_with(INTRODUCTION_OF_TOPOLOGY));
    }
    Started::One(ours::server())
}

/// Returns redis-cli's output for each typed line, in a session of its own with its own server.
fn session(program: &PathBuf, block: &Block, lines: &[&str]) -> Vec<String> {
    let started = start(block);
    let mut child = Command::new(program)
        .args(["-3", "--no-raw", "-p", &started.addr().port().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("redis-cli starts");
    let typed: String = lines.iter().map(|line| format!("{line}\nECHO \"{MARK}\"\n")).collect();
    let mut input = child.stdin.take().expect("it has a pipe");
    input.write_all(typed.as_bytes()).expect("redis-cli reads");
    drop(input);
    let output = child.wait_with_output().expect("redis-cli ends");
    let text = String::from_utf8(output.stdout).expect("redis-cli shows text");
    let mark = format!("\"{MARK}\"\n");
    let mut shown: Vec<String> = text.split(&mark).map(str::to_owned).collect();
    assert_eq!(shown.pop().as_deref(), Some(""), "nothing comes behind the last command:\n{text}");
    assert_eq!(shown.len(), lines.len(), "{text}");
    shown
}

/// The commands of a block, and the output that it shows for each.
fn exchanges(text: &str) -> Vec<(&str, String)> {
    let mut exchanges: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        if let Some(command) = line.strip_prefix(PROMPT) {
            exchanges.push((command, String::new()));
        } else if let Some((_, shown)) = exchanges.last_mut() {
            shown.push_str(line);
            shown.push('\n');
        } else {
            assert_eq!(line, "$ redis-cli -3", "a block of a console begins so");
        }
    }
    exchanges
}

fn is_instant(number: &str) -> bool {
    number.len() == INSTANT.1 && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// An output with a 0 for each varying number, and no space at the end of a line.
fn settled(shown: &str) -> String {
    let settle = |line: &str| {
        if line.strip_prefix(INSTANT.0).is_some_and(is_instant) {
            return Some(format!("{}0", INSTANT.0));
        }
        let number = |start: &str| line.split_once(start).filter(|(_, number)| number.parse::<u64>().is_ok());
        VARYING.iter().find_map(|start| number(start).map(|(before, _)| format!("{before}{start}0")))
    };
    shown.lines().map(|line| settle(line).unwrap_or_else(|| line.trim_end().to_owned()) + "\n").collect()
}

#[test]
fn console_blocks_show_the_actual_output() {
    let Some(program) = redis_cli() else { return };
    let blocks = blocks("console");
    assert!(!blocks.is_empty(), "the pages show a console");
    for block in blocks {
        let exchanges = exchanges(&block.text);
        let commands: Vec<&str> = exchanges.iter().map(|(command, _)| *command).collect();
        for ((command, wanted), shown) in exchanges.iter().zip(session(&program, &block, &commands)) {
            assert_eq!(settled(&shown), settled(wanted), "{}:{}: {command}", block.page, block.line);
        }
    }
}

#[test]
fn redis_blocks_run_without_an_error() {
    let Some(program) = redis_cli() else { return };
    for block in blocks("redis") {
        let lines: Vec<&str> = block.text.lines().collect();
        for (line, shown) in lines.iter().zip(session(&program, &block, &lines)) {
            assert!(!shown.contains("(error)"), "{}:{}: {line}: {shown}", block.page, block.line);
        }
    }
}

#[test]
fn only_varying_numbers_may_differ_in_a_console() {
    let settled = |line| settled(line).trim_end().to_owned();
    assert_eq!(settled("3# \"ttl\" => (integer) 29988"), "3# \"ttl\" => (integer) 0");
    assert_eq!(settled("(integer) 1795366314051"), "(integer) 0");
    for line in
        ["(integer) 2", "2# \"holds\" => (integer) 1", "\"ttl\" => (nil)", "3# \"ttl\" => (integer) -1"]
    {
        assert_eq!(settled(line), line);
    }
}

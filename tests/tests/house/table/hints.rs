//! The hints of redis-cli, which it builds from COMMAND DOCS at its start: equal with our server and with Redis.

use crate::table::entry;
use crate::table::wire::Wire;
use lockwheel_tests::client::Protocol;
use lockwheel_tests::differences::table::DIFFERENCES;
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer, find_in_path, is_wanted, skip};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TERMINAL: &str = include_str!("hints.py");

/// Lines that have more than a command's name.
const BEGUN: [&str; 4] = ["set k v ", "zadd k nx ", "object encoding k", "lmpop 2 a b left "];

/// The programs that a terminal with redis-cli in it needs.
fn redis_cli() -> Option<PathBuf> {
    let wanted = ["redis-cli", "python3"];
    let found = find_in_path("redis-cli")
        .filter(|_| wanted.into_iter().all(is_wanted) && find_in_path("python3").is_some());
    if found.is_none() {
        skip(&wanted, "redis-cli or python3 is not installed (apt-get install redis-tools)");
    }
    found
}

/// The hints of redis-cli for each line.
fn hints(program: &Path, port: u16, lines: &[String]) -> Vec<String> {
    let mut python = Command::new("python3")
        .args(["-c", TERMINAL])
        .arg(program)
        .arg(port.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 starts");
    let mut input = python.stdin.take().expect("it has a pipe");
    input.write_all(lines.join("\n").as_bytes()).expect("python3 reads");
    drop(input);
    let output = python.wait_with_output().expect("python3 ends");
    assert!(output.status.success(), "the terminal failed");
    String::from_utf8(output.stdout).expect("hints are text").lines().map(str::to_owned).collect()
}

#[test]
fn redis_cli_hints_at_the_same_arguments() {
    let Some(program) = redis_cli() else { return };
    let Some(redis) = RealServer::start(Kind::Redis, &[]) else { return };
    let server = ours::server();
    let known: BTreeSet<String> =
        entry::info(&mut Wire::connect(redis.addr(), Protocol::Resp2)).into_keys().collect();
    let differs = |name: &str| {
        DIFFERENCES
            .iter()
            .any(|difference| difference.field == "arguments" && difference.commands.contains(&name))
    };
    let table = ours::commands();
    let names = table.iter_all().map(|command| command.name.as_str());
    let names = names.filter(|name| known.contains(*name) && !differs(name));
    let mut lines: Vec<String> = names.map(|name| name.replace('|', " ") + " ").collect();
    let begun = BEGUN.iter().filter(|line| !differs(line.split(' ').next().unwrap_or_default()));
    lines.extend(begun.map(|line| line.to_string()));
    let [real, own] = [redis.port(), server.port()].map(|port| hints(&program, port, &lines));
    assert_eq!((real.len(), own.len()), (lines.len(), lines.len()));
    for ((line, real), own) in lines.iter().zip(real).zip(own) {
        assert_eq!(own, real, "{line}");
    }
}

#[test]
fn redis_cli_hints_at_the_arguments_of_our_own_commands() {
    let Some(program) = redis_cli() else { return };
    let server = ours::server();
    let lines = ["lock.release ".to_owned(), "clock.next ".to_owned()];
    assert_eq!(
        hints(&program, server.port(), &lines),
        [
            "key owner [SHARED|EXCLUSIVE] [ALL] [TOKEN token]",
            "[COUNT count] [NOWAKE] [SETTLE quiet-milliseconds [LIMIT milliseconds]]"
        ]
    );
}

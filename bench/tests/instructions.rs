//! Tests of instructions per request, counted by valgrind and compared with the figures in `bench/instructions.txt`.
//!
//! Run it by `cargo test --release -p lockwheel-bench --test instructions`. With `RENEW_INSTRUCTIONS=1` it writes the
//! file anew.

use lockwheel_bench::stream::{APPEND_ONLY, REPLICA};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The numbers of requests of the shorter and of the longer run. Their difference excludes the start. Both are whole
/// rounds of a stream.
const RUNS: [u64; 2] = [4_000, 12_000];
/// The lengths of runs where a percent matters. The allocator's housekeeping comes at other moments in every run, and
/// is 0.8 % of the shorter streams in runs of the usual length.
const LONG_RUNS: [u64; 2] = [4_000, 52_000];
/// The tolerance, in percent. A figure that grows by more fails the test; a figure that shrinks by more asks for new
/// figures.
const TOLERANCE: u64 = 5;
const RENEW: &str = "RENEW_INSTRUCTIONS";

/// A parameter that costs instructions if its value is `yes`, a stream, and the allowed cost in percent.
const COSTS: &[(&str, &str, u64)] = &[
    ("lock-ledger", "get", 1),
    ("lock-ledger", "set", 1),
    ("lock-ledger", "lock_pair_native", 1),
    ("lock-ledger", "lock_pair_evalsha", 1),
    ("lock-history", "lock_pair_native", 30),
    ("lock-history", "lock_pair_evalsha", 30),
    (REPLICA, "lock_pair_native", 30),
    (REPLICA, "lock_pair_evalsha", 30),
    (APPEND_ONLY, "lock_pair_native", 30),
    (APPEND_ONLY, "lock_pair_evalsha", 30),
];

/// Whether valgrind can be run. In CI it must be installed.
fn has_valgrind() -> bool {
    let found =
        Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(found || env::var_os("CI").is_none(), "valgrind is not installed");
    found
}

/// Returns all instructions of a run of the program `instructions`, with parameters and their values.
fn count(stream: &str, requests: u64, parameters: &[&str]) -> u64 {
    let output = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            env!("CARGO_BIN_EXE_instructions"),
            stream,
        ])
        .arg(requests.to_string())
        .args(parameters)
        .output()
        .expect("valgrind can be run");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stream}: {told}");
    let collected = told.lines().find_map(|line| line.split_once("Collected : "));
    let number = collected.and_then(|(_, number)| number.trim().parse().ok());
    number.unwrap_or_else(|| panic!("no count of instructions: {told}"))
}

/// Returns the instructions per request.
fn measure(stream: &str, runs: [u64; 2], parameters: &[&str]) -> u64 {
    let [few, many] = runs.map(|requests| count(stream, requests, parameters));
    (many - few) / (runs[1] - runs[0])
}

/// Returns the middle one of three measurements of each figure.
fn medians(mut measured: [[u64; 2]; 3]) -> [u64; 2] {
    [0, 1].map(|figure| {
        measured.sort_unstable_by_key(|figures| figures[figure]);
        measured[1][figure]
    })
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.txt")
}

/// Returns the figures of the file: name and instructions, as in its lines.
fn figures(text: &str) -> Vec<(String, u64)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let split = |line: &str| {
        let (name, count) = line.split_once(' ')?;
        Some((name.into(), count.parse().ok()?))
    };
    lines.filter_map(split).collect()
}

/// Compares a figure with the committed one. Returns the line to report: an error, a remark or nothing.
fn judge(stream: &str, committed: u64, measured: u64) -> Result<Option<String>, String> {
    let line = format!("{stream}: {measured} instructions a request, committed {committed}");
    if measured * 100 > committed * (100 + TOLERANCE) {
        Err(line)
    } else if measured * 100 < committed * (100 - TOLERANCE) {
        Ok(Some(line))
    } else {
        Ok(None)
    }
}

#[test]
fn figures_are_judged_by_five_percent() {
    assert_eq!(judge("x", 1000, 1050), Ok(None));
    assert!(judge("x", 1000, 1051).is_err());
    assert_eq!(judge("x", 1000, 950), Ok(None));
    assert!(judge("x", 1000, 949).unwrap().is_some());
    assert_eq!(figures("# a\nping 12\nset 7\n"), [("ping".into(), 12), ("set".into(), 7)]);
}

#[test]
fn the_middle_of_three_is_taken_of_each_figure() {
    assert_eq!(medians([[3, 10], [1, 30], [2, 20]]), [2, 20]);
}

#[test]
fn every_stream_has_a_figure() {
    let committed = figures(&fs::read_to_string(file()).unwrap());
    assert!(committed.iter().map(|(name, _)| &**name).eq(lockwheel_bench::stream::NAMES.iter().copied()));
}

#[test]
#[cfg_attr(debug_assertions, ignore = "the figures are those of the release profile")]
fn a_request_takes_no_more_instructions_than_committed() {
    if !has_valgrind() {
        return eprintln!("skipped: valgrind is not installed");
    }
    let text = fs::read_to_string(file()).unwrap();
    let measured = lockwheel_bench::stream::NAMES.iter().map(|name| (*name, measure(name, RUNS, &[])));
    if env::var_os(RENEW).is_some() {
        let head = text.lines().filter(|line| line.starts_with('#')).map(str::to_owned);
        let lines = head.chain(measured.map(|(name, count)| format!("{name} {count}")));
        return fs::write(file(), lines.collect::<Vec<_>>().join("\n") + "\n").unwrap();
    }
    let judged = figures(&text).into_iter().zip(measured).map(|((_, committed), (stream, count))| {
        eprintln!("{stream}: {count} instructions a request");
        judge(stream, committed, count)
    });
    let judged: Vec<_> = judged.collect();
    let better: Vec<&str> = judged.iter().filter_map(|each| each.as_ref().ok()?.as_deref()).collect();
    let worse: Vec<&str> = judged.iter().filter_map(|each| each.as_ref().err().map(String::as_str)).collect();
    if !better.is_empty() {
        eprintln!(
            "better than committed; with {RENEW}=1 this test writes new figures:\n{}",
            better.join("\n")
        );
    }
    let advice = "if it has to be so, this test writes new figures with";
    assert!(worse.is_empty(), "worse than committed ({advice} {RENEW}=1):\n{}", worse.join("\n"));
}

#[test]
#[cfg_attr(debug_assertions, ignore = "the figures are those of the release profile")]
fn a_ledger_a_history_a_replica_or_a_file_costs_at_most_its_bound() {
    if !has_valgrind() {
        return eprintln!("skipped: valgrind is not installed");
    }
    let judged = COSTS.iter().map(|&(parameter, stream, percent)| {
        let once = || ["no", "yes"].map(|value| measure(stream, LONG_RUNS, &[parameter, value]));
        // The middle of three is compared, since two runs differ by some instructions.
        let [no, yes] = medians([once(), once(), once()]);
        let line = format!("{parameter} {stream}: {yes} instructions a request, {no} without");
        eprintln!("{line}");
        if yes * 100 > no * (100 + percent) { Some(line) } else { None }
    });
    let dear: Vec<String> = judged.flatten().collect();
    assert!(dear.is_empty(), "more than it may cost:\n{}", dear.join("\n"));
}

//! Tests of the cost when one of many clients leaves a lock, gets it, or arrives, counted by valgrind. The cost may
//! grow with the logarithm of the number of clients, and no more.
//!
//! Run it by `cargo test --release -p lockwheel-bench --test crowds`.

use lockwheel_bench::crowds::KINDS;
use std::env;
use std::process::Command;

/// The numbers of clients that wait, hold the lock, or wait for other locks as Redisson does.
const FEW: u64 = 200;
const MANY: u64 = 10_000;
/// The numbers of events of the shorter run, and of the longer run with few and with many clients. Their difference
/// excludes the assembly of the crowd. The assembly costs more, and varies more, with more clients.
const SHORT: u64 = 10;
const LONG: [u64; 2] = [60, 1010];

/// Whether valgrind can be run. In CI it must be installed.
fn has_valgrind() -> bool {
    let found =
        Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(found || env::var_os("CI").is_none(), "valgrind is not installed");
    found
}

/// Returns all instructions of a run of the program.
fn count(kind: &str, clients: u64, events: u64) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", env!("CARGO_BIN_EXE_crowd"), kind])
        .args([clients, events].map(|number| number.to_string()))
        .output()
        .expect("valgrind can be run");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{kind}: {told}");
    let collected = told.lines().find_map(|line| line.split_once("Collected : "));
    let number = collected.and_then(|(_, number)| number.trim().parse().ok());
    number.unwrap_or_else(|| panic!("no count of instructions: {told}"))
}

/// Returns the instructions of an event.
fn measure(kind: &str, clients: u64, long: u64) -> u64 {
    let [few, many] = [SHORT, long].map(|events| count(kind, clients, events));
    many.checked_sub(few).expect("more events take more") / (long - SHORT)
}

/// From 200 to 10,000 clients the logarithm grows by less than three quarters. If all clients were walked, the cost
/// would grow fifty times.
#[test]
#[cfg_attr(debug_assertions, ignore = "the figures are those of the release profile")]
fn one_of_ten_thousand_takes_hardly_more_than_one_of_two_hundred() {
    if !has_valgrind() {
        return eprintln!("skipped: valgrind is not installed");
    }
    let judged = KINDS.iter().map(|kind| {
        let [few, many] =
            [(FEW, LONG[0]), (MANY, LONG[1])].map(|(clients, long)| measure(kind, clients, long));
        let line = format!("{kind}: {few} instructions among {FEW}, {many} among {MANY}");
        eprintln!("{line}");
        if many > 2 * few { Some(line) } else { None }
    });
    let dear: Vec<String> = judged.flatten().collect();
    assert!(dear.is_empty(), "more than the logarithm:\n{}", dear.join("\n"));
}

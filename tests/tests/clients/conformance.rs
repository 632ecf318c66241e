//! Redis' own test suite against our program. Every test passes that passes on redis-server 7.0.15, except those that
//! `tests/tcl-suite/not-yet.txt` lists, which must fail.

use lockwheel_tests::program::{self, Process};
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::tcl_suite::{Expected, Mode, Outcome, Suite, Target};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const UNITS: &str = include_str!("../../tcl-suite/units.txt");
const NOT_YET: &str = include_str!("../../tcl-suite/not-yet.txt");

/// The number of units that run at once, each with its own server: they wait for much of their time.
const LANES: usize = 3;

/// The options of our program: the suite expects them of a server that it did not start itself.
const OPTIONS: &[&str] =
    &["--save", "", "--enable-debug-command", "yes", "--enable-protected-configs", "yes"];

/// The modes to run: those of the environment's `LOCKWHEEL_TCL_MODES`, separated by spaces, else `plain`.
fn modes() -> Vec<Mode> {
    let named = std::env::var("LOCKWHEEL_TCL_MODES").unwrap_or_else(|_| "plain".to_string());
    let mode = |name| Mode::of_name(name).unwrap_or_else(|| panic!("{name} is no mode of the suite"));
    named.split_whitespace().map(mode).collect()
}

fn expected(mode: Mode) -> Expected {
    Expected::parse(mode, UNITS, NOT_YET).unwrap_or_else(|line| panic!("what does this line say? {line}"))
}

/// Runs each unit of a mode against a fresh server of ours, and reports deviations.
fn complaints(suite: &Suite, mode: Mode) -> Vec<String> {
    let expected = expected(mode);
    let units: Vec<&str> = expected.units().collect();
    let next = AtomicUsize::new(0);
    let run_lane = || {
        let units = std::iter::from_fn(|| units.get(next.fetch_add(1, Ordering::Relaxed)));
        units.filter_map(|unit| run(suite, mode, unit, &expected)).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|_| scope.spawn(run_lane)).collect();
        lanes.into_iter().flat_map(|lane| lane.join().expect("a lane reports what fails")).collect()
    })
}

/// Runs a unit, and reports deviations with the suite's output.
fn run(suite: &Suite, mode: Mode, unit: &str, expected: &Expected) -> Option<String> {
    let hung: Vec<&str> = expected.hung(unit).collect();
    let outcome = if mode == Mode::Spawn {
        suite.run(mode, unit, Target::Program(&program::path()), &hung)
    } else {
        let server = Process::start(OPTIONS);
        suite.run(mode, unit, Target::Port(server.addr().port()), &hung)
    };
    let (to_pass, total) = expected.numbers(unit);
    let line = format!("{}: {unit}: {} of {total} pass, expected {to_pass}", mode.name(), outcome.passed());
    // The figures are printed past the test runner's capture of output, because they are the interesting result.
    let _ = writeln!(io::stderr(), "{line}");
    let mut told = expected.complaints(unit, &outcome);
    if told.is_empty() {
        return None;
    }
    told.extend(not_run(suite, mode, unit, &outcome));
    told.extend(outcome.failures);
    Some(format!("{}: {}", mode.name(), told.join("\n")))
}

/// The tests of a unit that redis-server runs and ours did not, if there is a redis-server.
fn not_run(suite: &Suite, mode: Mode, unit: &str, outcome: &Outcome) -> Vec<String> {
    if mode == Mode::Spawn {
        return Vec::new();
    }
    let options = ["--enable-protected-configs", "yes"];
    let Some(server) = RealServer::start(Kind::Redis, &options) else { return Vec::new() };
    let theirs = suite.run(mode, unit, Target::Port(server.port()), &[]);
    let missing = theirs.tests.keys().filter(|name| !outcome.tests.contains_key(*name));
    missing.map(|name| format!("did not run: {unit}: {name}")).collect()
}

#[test]
fn tests_that_pass_on_redis_pass_here_except_listed_ones() {
    let Some(suite) = Suite::fetch() else { return };
    let complaints: Vec<String> = modes().into_iter().flat_map(|mode| complaints(&suite, mode)).collect();
    assert!(
        complaints.is_empty(),
        "tests/tcl-suite/not-yet.txt is not right:\n\n{}",
        complaints.join("\n\n")
    );
}

/// The names listed in debug mode and in spawn mode, each once.
#[test]
fn no_more_than_thirty_names_are_listed() {
    let expected = [expected(Mode::Debug), expected(Mode::Spawn)];
    let names: BTreeSet<_> = expected.iter().flat_map(Expected::counted).collect();
    assert!(names.len() <= 30, "{} names: {names:#?}", names.len());
}

#[test]
fn the_lists_can_be_read_in_every_mode() {
    for mode in [Mode::Plain, Mode::Encoding, Mode::Debug, Mode::Full, Mode::Spawn] {
        assert!(expected(mode).units().count() > 15);
    }
}

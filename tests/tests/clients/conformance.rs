//! Redis' own test suite runs against our program: every test passes that passes on redis-server 7.0.15, but for those
//! that `tests/tcl-suite/not-yet.txt` lists, and these do not.

use lockwheel_tests::program::{self, Process};
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::tcl_suite::{Expected, Mode, Outcome, Suite, Target};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const UNITS: &str = include_str!("../../tcl-suite/units.txt");
const NOT_YET: &str = include_str!("../../tcl-suite/not-yet.txt");

/// How many units run at once, each with a server of its own: much of their time they wait.
const LANES: usize = 3;

/// What our program is started with: what the suite expects of a server that it did not start itself.
const OPTIONS: &[&str] =
    &["--save", "", "--enable-debug-command", "yes", "--enable-protected-configs", "yes"];

/// The modes to run: those of the environment's `LOCKWHEEL_TCL_MODES`, parted by spaces, else `plain`.
fn modes() -> Vec<Mode> {
    let named = std::env::var("LOCKWHEEL_TCL_MODES").unwrap_or_else(|_| "plain".to_string());
    let mode = |name| Mode::of_name(name).unwrap_or_else(|| panic!("{name} is no mode of the suite"));
    named.split_whitespace().map(mode).collect()
}

fn expected(mode: Mode) -> Expected {
    Expected::parse(mode, UNITS, NOT_YET).unwrap_or_else(|line| panic!("what does this line say? {line}"))
}

/// Runs each unit of a mode against a fresh server of ours, and tells what is not as expected.
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

/// Runs a unit, and tells what is not as expected, with what the suite said.
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
    // Past the test runner's capture of output: these figures are what one wants to know.
    let _ = writeln!(io::stderr(), "{line}");
    let mut told = expected.complaints(unit, &outcome);
    if told.is_empty() {
        return None;
    }
    told.extend(not_run(suite, mode, unit, &outcome));
    told.extend(outcome.failures);
    Some(format!("{}: {}", mode.name(), told.join("\n")))
}

/// The tests of a unit that redis-server runs and ours did not, where there is one to ask.
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
fn what_passes_on_redis_passes_here_but_for_what_is_listed() {
    let Some(suite) = Suite::fetch() else { return };
    let complaints: Vec<String> = modes().into_iter().flat_map(|mode| complaints(&suite, mode)).collect();
    assert!(
        complaints.is_empty(),
        "tests/tcl-suite/not-yet.txt is not right:\n\n{}",
        complaints.join("\n\n")
    );
}

/// What is listed in debug mode and in spawn mode, each name once.
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

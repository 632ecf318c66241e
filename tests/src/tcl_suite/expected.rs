//! The expected result of a run: the number of tests of each unit, and the tests that do not pass yet.

use super::Outcome;
use std::collections::{BTreeMap, BTreeSet};

/// The selection of the suite's tests, and the way they run. Each mode except the last requires everything that the
/// previous mode requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Needs neither DEBUG nor replication, and accepts any answer of OBJECT ENCODING.
    Plain,
    /// Like `Plain`, but OBJECT ENCODING must answer as Redis does.
    Encoding,
    /// Also the tests that need DEBUG.
    Debug,
    /// Also the tests that read the stream of replication.
    Full,
    /// The suite starts each server itself, with its own configuration. Like `Debug`, with the slow tests.
    Spawn,
}

impl Mode {
    const ALL: [Mode; 5] = [Mode::Plain, Mode::Encoding, Mode::Debug, Mode::Full, Mode::Spawn];

    /// The name of the mode in scripts and lists.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Plain => "plain",
            Mode::Encoding => "encoding",
            Mode::Debug => "debug",
            Mode::Full => "full",
            Mode::Spawn => "spawn",
        }
    }

    /// The mode of this name.
    pub fn of_name(name: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// The column of `units.txt` that counts the mode's tests.
    fn column(self) -> usize {
        match self {
            Mode::Plain | Mode::Encoding => 0,
            Mode::Debug => 1,
            Mode::Full => 2,
            Mode::Spawn => 3,
        }
    }

    /// Whether the mode requires what another one requires.
    fn asks_for(self, other: Mode) -> bool {
        other <= self && !(self == Mode::Spawn && other == Mode::Full)
    }
}

/// A test that does not pass yet, in the mode that is expected. A name occurs once for each failing test of that name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Listed {
    unit: String,
    test: String,
    /// Whether the test would wait for ever, and is not run.
    hangs: bool,
    /// Whether the test attaches a replica, or runs only in `full`: it is listed, and does not count.
    apart: bool,
}

/// The required results of the runs in one mode.
#[derive(Debug)]
pub struct Expected {
    /// The units, the slowest first, each with the number of its tests.
    units: Vec<(String, usize)>,
    listed: Vec<Listed>,
}

impl Expected {
    /// Reads `units.txt` and `not-yet.txt`.
    ///
    /// # Errors
    /// Returns the first line that is wrong.
    pub fn parse(mode: Mode, units: &str, not_yet: &str) -> Result<Expected, String> {
        let lines = |text| str::lines(text).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let units = lines(units).map(|line| read_unit(mode, line).ok_or_else(|| line.to_string()));
        let mut expected = Expected { units: units.collect::<Result<_, _>>()?, listed: Vec::new() };
        let mut section = None;
        for line in lines(not_yet) {
            if let Some(heading) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                section = Some(read_heading(heading).ok_or_else(|| line.to_string())?);
                continue;
            }
            let (unit, test) = line.split_once(": ").ok_or_else(|| line.to_string())?;
            let is_known = expected.units.iter().any(|(known, _)| known == unit);
            let Section { since, hangs, apart } =
                section.filter(|_| is_known).ok_or_else(|| line.to_string())?;
            if mode.asks_for(since) {
                let apart = apart || since == Mode::Full;
                expected.listed.push(Listed { unit: unit.to_string(), test: test.to_string(), hangs, apart });
            }
        }
        Ok(expected)
    }

    /// The units with runnable tests in this mode, the slowest first.
    pub fn units(&self) -> impl Iterator<Item = &str> {
        let units =
            self.units.iter().filter(|(unit, tests)| *tests > 0 && !self.hung(unit).any(|test| test == "*"));
        units.map(|(unit, _)| unit.as_str())
    }

    /// The tests of a unit that are not to be run.
    pub fn hung(&self, unit: &str) -> impl Iterator<Item = &str> {
        let hung = self.listed.iter().filter(move |listed| listed.hangs && listed.unit == unit);
        hung.map(|listed| listed.test.as_str())
    }

    /// The counted names of tests that do not pass: of units that this mode runs, each once.
    pub fn counted(&self) -> impl Iterator<Item = (&str, &str)> {
        let counted: BTreeSet<_> = self
            .listed
            .iter()
            .filter(|listed| !listed.apart && self.numbers(&listed.unit).1 > 0)
            .map(|listed| (&*listed.unit, &*listed.test))
            .collect();
        counted.into_iter()
    }

    /// The number of tests of a unit that must pass, and the number of its tests.
    pub fn numbers(&self, unit: &str) -> (usize, usize) {
        let total = self.units.iter().find(|(name, _)| name == unit).map_or(0, |(_, tests)| *tests);
        let listed = self.listed.iter().filter(|listed| listed.unit == unit).count();
        (total.saturating_sub(listed), total)
    }

    /// Lists the deviations: tests that fail and are not listed, that pass and are listed, or that did not run.
    pub fn complaints(&self, unit: &str, outcome: &Outcome) -> Vec<String> {
        let mut listed: BTreeMap<&str, usize> = BTreeMap::new();
        for entry in self.listed.iter().filter(|listed| listed.unit == unit) {
            *listed.entry(&entry.test).or_default() += 1;
        }
        let names: BTreeSet<&str> =
            listed.keys().copied().chain(outcome.tests.keys().map(String::as_str)).collect();
        let (to_pass, _) = self.numbers(unit);
        let mut complaints = Vec::new();
        for name in names {
            let count = outcome.tests.get(name).copied().unwrap_or_default();
            let listed = listed.get(name).copied().unwrap_or_default();
            if count.failed > listed {
                complaints.push(format!("fails, and is not listed: {unit}: {name}"));
            }
            // For several tests of one name, only the sum is known.
            let may_have_passed = count.passed > 0 && count.failed < listed;
            if may_have_passed && outcome.passed() > to_pass {
                complaints.push(format!("passes, and is listed: {unit}: {name}"));
            }
        }
        if complaints.is_empty() && outcome.passed() != to_pass {
            complaints.push(format!("{unit}: {} tests passed instead of {to_pass}", outcome.passed()));
        }
        complaints
    }
}

/// The contents of a section's heading.
#[derive(Clone, Copy, Debug)]
struct Section {
    /// The first mode in which its tests do not pass.
    since: Mode,
    hangs: bool,
    apart: bool,
}

/// Parses a heading: `plain: why`, `debug, not run: why` or `debug, not run, apart: why`.
fn read_heading(heading: &str) -> Option<Section> {
    let (when, _) = heading.split_once(": ")?;
    let (when, apart) = when.strip_suffix(", apart").map_or((when, false), |when| (when, true));
    let (mode, hangs) = when.strip_suffix(", not run").map_or((when, false), |mode| (mode, true));
    Some(Section { since: Mode::of_name(mode)?, hangs, apart })
}

/// Parses a unit and the number of its tests from a row of `units.txt`.
fn read_unit(mode: Mode, line: &str) -> Option<(String, usize)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [unit, numbers @ ..] = &*words else { return None };
    let tests = numbers.get(mode.column())?.parse().ok()?;
    Some(((*unit).to_string(), tests))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNITS: &str = "# A comment.\nunit/x  3  4  5  6\nunit/y  0  1  1  0\n";
    const NOT_YET: &str = "[plain: why]\nunit/x: b\n\n[debug: another reason]\nunit/x: d\n";

    fn complaints(mode: Mode, run: &str) -> Vec<String> {
        let expected = Expected::parse(mode, UNITS, NOT_YET).unwrap();
        expected.complaints("unit/x", &Outcome::parse("unit/x", run))
    }

    #[test]
    fn a_run_that_is_as_expected_has_no_complaints() {
        let plain = "ok unit/x: a\nfailed unit/x: b\n    x\nok unit/x: a\n";
        assert!(complaints(Mode::Plain, plain).is_empty());
        // A listed test may not have run at all.
        assert!(complaints(Mode::Encoding, "ok unit/x: a\nok unit/x: a\n").is_empty());
        assert!(complaints(Mode::Debug, &format!("{plain}failed unit/x: d\n")).is_empty());
        let expected = Expected::parse(Mode::Plain, UNITS, NOT_YET).unwrap();
        assert_eq!(expected.units().collect::<Vec<_>>(), ["unit/x"]);
        assert_eq!(expected.numbers("unit/x"), (2, 3));
    }

    #[test]
    fn each_mode_has_its_own_numbers_of_tests() {
        let not_yet = "[debug: why]\nunit/x: a\n[full: why]\nunit/x: b\n[spawn: why]\nunit/x: c\n";
        let left = |mode| Expected::parse(mode, UNITS, not_yet).unwrap().numbers("unit/x");
        assert_eq!(Mode::ALL.map(left), [(3, 3), (3, 3), (3, 4), (3, 5), (4, 6)]);
    }

    #[test]
    fn differences_from_the_expected_results_are_reported() {
        let new = complaints(Mode::Plain, "ok unit/x: a\nfailed unit/x: b\nfailed unit/x: a\n");
        assert_eq!(new, ["fails, and is not listed: unit/x: a"]);
        let mended = complaints(Mode::Plain, "ok unit/x: a\nok unit/x: b\nok unit/x: a\n");
        assert_eq!(mended, ["passes, and is listed: unit/x: b"]);
        let lost = complaints(Mode::Plain, "ok unit/x: a\nfailed unit/x: (between tests)\n");
        assert_eq!(lost, ["unit/x: 1 tests passed instead of 2"]);
    }

    #[test]
    fn tests_listed_as_not_run_are_excluded() {
        let units = "unit/x 3 3 3 3\nunit/y 4 4 4 0\n";
        let not_yet = "[plain, not run: why]\nunit/x: a\nunit/y: *\n[plain: why]\nunit/x: b\n";
        let expected = Expected::parse(Mode::Plain, units, not_yet).unwrap();
        assert_eq!(expected.units().collect::<Vec<_>>(), ["unit/x"]);
        assert_eq!(expected.hung("unit/x").collect::<Vec<_>>(), ["a"]);
        assert_eq!(expected.numbers("unit/x"), (1, 3));
        let run = Outcome::parse("unit/x", "failed unit/x: b\nok unit/x: c\n");
        assert!(expected.complaints("unit/x", &run).is_empty());
    }

    #[test]
    fn names_count_once_where_they_are_run_and_not_apart() {
        let units = "unit/x 3 3 3 3\nunit/y 0 0 0 2\n";
        let not_yet = "[plain: why]\nunit/x: a\nunit/x: a\n[debug, not run, apart: why]\nunit/x: b\n\
                       [full: why]\nunit/x: c\n[spawn: why]\nunit/y: d\n[spawn, apart: why]\nunit/y: e\n";
        let counted = |mode| Expected::parse(mode, units, not_yet).unwrap().counted().count();
        assert_eq!([Mode::Plain, Mode::Debug, Mode::Full, Mode::Spawn].map(counted), [1, 1, 1, 2]);
    }

    #[test]
    fn invalid_lists_are_refused() {
        for (units, not_yet) in [
            ("unit/x", ""),
            (UNITS, "unit/x: b"),
            (UNITS, "[sometimes: why]"),
            (UNITS, "[plain, perhaps: why]"),
            (UNITS, "[plain: why]\nunit/z: b"),
            (UNITS, "[plain: why]\nunit/x b"),
        ] {
            assert!(Expected::parse(Mode::Plain, units, not_yet).is_err(), "{units} {not_yet}");
        }
    }
}

//! The output of a unit's run: the lines of `tests/tcl-suite/run`.

use std::collections::BTreeMap;

/// The number of passes and failures of one name: several tests may share a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The number of passes.
    pub passed: usize,
    /// The number of failures.
    pub failed: usize,
}

/// The tests of one unit that ran.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The number of passes and failures of each test, by its name.
    pub tests: BTreeMap<String, Count>,
    /// The texts of all failures, also of those between tests.
    pub failures: Vec<String>,
}

impl Outcome {
    /// Parses the lines of a run.
    pub fn parse(unit: &str, text: &str) -> Outcome {
        let mut outcome = Outcome::default();
        let mut explains = false;
        for line in text.lines() {
            let name = |verdict| line.strip_prefix(verdict)?.strip_prefix(unit)?.strip_prefix(": ");
            if let Some(name) = name("ok ") {
                outcome.tests.entry(name.to_string()).or_default().passed += 1;
                explains = false;
            } else if let Some(name) = name("failed ") {
                if !matches!(name, "(between tests)" | "(the end)") {
                    outcome.tests.entry(name.to_string()).or_default().failed += 1;
                }
                outcome.failures.push(line.to_string());
                explains = true;
            } else if explains && let Some(failure) = outcome.failures.last_mut() {
                failure.push('\n');
                failure.push_str(line);
            }
        }
        outcome
    }

    /// The number of tests that passed.
    pub fn passed(&self) -> usize {
        self.tests.values().map(|count| count.passed).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_by_name_and_failures_keep_their_reasons() {
        let text = "ok unit/x: a\nfailed unit/x: b: c\n    because\n    of this\nok unit/x: a\n\
                    failed unit/x: (between tests)\n    ERR\nok unit/x: b: c\n";
        let outcome = Outcome::parse("unit/x", text);
        let names = [("a", Count { passed: 2, failed: 0 }), ("b: c", Count { passed: 1, failed: 1 })];
        assert_eq!(outcome.tests, names.map(|(name, count)| (name.to_string(), count)).into());
        let failures =
            ["failed unit/x: b: c\n    because\n    of this", "failed unit/x: (between tests)\n    ERR"];
        assert_eq!(outcome.failures, failures);
        assert_eq!(outcome.passed(), 3);
    }
}

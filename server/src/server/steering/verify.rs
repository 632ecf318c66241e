//! Verification of the lock history by the server.

use super::reply::{Refused, Reply};
use super::words::Words;
use crate::server::handle::Handle;
use std::fmt;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A guarantee of a lock was broken.
    Violation,
    /// A guarantee of a lock may have been broken.
    Suspect,
    /// A bad practice.
    Lint,
}

/// The result of a verification of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// `ok`, `suspect`, `violated`, or `inconclusive` if the history is incomplete.
    pub verdict: String,
    /// The reason why the history is incomplete, if it is.
    pub reason: Option<String>,
    /// The number of entries that were examined.
    pub events: i64,
    /// Whether older entries were discarded.
    pub is_truncated: bool,
    /// The problems found.
    pub findings: Vec<Finding>,
}

/// A problem in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The severity.
    pub level: Level,
    /// The invariant that is violated.
    pub invariant: String,
    /// The lock; empty if the finding concerns no lock.
    pub key: String,
    /// The numbers of the entries that prove the finding.
    pub seqs: Vec<i64>,
    /// The owners involved.
    pub owners: Vec<String>,
    /// The entries of `seqs` in words.
    pub evidence: Vec<String>,
    /// The finding in a sentence.
    pub text: String,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::Violation => "violation",
            Level::Suspect => "suspect",
            Level::Lint => "lint",
        }
    }

    fn of(name: &str) -> Self {
        match name {
            "violation" => Level::Violation,
            "suspect" => Level::Suspect,
            _ => Level::Lint,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.level.name(), self.invariant)?;
        if !self.key.is_empty() {
            write!(f, " of {}", self.key)?;
        }
        write!(f, ": {}", self.text)
    }
}

impl Handle {
    /// Verifies the history of locks, or of those whose name matches, and returns the findings of at least this level.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server cannot be controlled.
    pub fn verify(&self, level: Level, key: Option<&str>) -> Result<Verdict, Refused> {
        let words = Words::of(&["LOCK.VERIFY", "LEVEL", level.name()]);
        let words = match key {
            Some(pattern) => words.and("KEY").and(pattern),
            None => words,
        };
        let told = self.ask(&words)?;
        Ok(Verdict {
            verdict: told.field("verdict").text(),
            reason: told.field("reason").maybe_text(),
            events: told.field("events").integer(),
            is_truncated: told.field("truncated").is_true(),
            findings: told.field("findings").items().iter().map(Finding::of).collect(),
        })
    }
}

impl Finding {
    fn of(told: &Reply) -> Self {
        Finding {
            level: Level::of(&told.field("level").text()),
            invariant: told.field("invariant").text(),
            key: told.field("key").text(),
            seqs: told.field("seqs").items().iter().map(Reply::integer).collect(),
            owners: told.field("owners").items().iter().map(Reply::text).collect(),
            evidence: told.field("evidence").items().iter().map(Reply::text).collect(),
            text: told.field("text").text(),
        }
    }
}

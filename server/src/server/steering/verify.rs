//! What the server finds wrong in the history of locks.

use super::reply::{Refused, Reply};
use super::words::Words;
use crate::server::handle::Handle;
use std::fmt;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// It breaks a promise of a lock.
    Violation,
    /// It may have.
    Suspect,
    /// A bad habit.
    Lint,
}

/// What the server finds in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// `ok`, `suspect`, `violated`, or `inconclusive` where the history is not whole.
    pub verdict: String,
    /// The reason why the history is not whole, if it is not.
    pub reason: Option<String>,
    /// How many entries it has looked at.
    pub events: i64,
    /// Whether older entries had to go.
    pub is_truncated: bool,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// Something wrong in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How much it weighs.
    pub level: Level,
    /// What does not hold.
    pub invariant: String,
    /// The lock; empty where it is none.
    pub key: String,
    /// The entries that show it.
    pub seqs: Vec<i64>,
    /// Whose.
    pub owners: Vec<String>,
    /// The same in words.
    pub evidence: Vec<String>,
    /// The whole in a sentence.
    pub text: String,
}

impl Level {
    /// As LOCK.VERIFY names it.
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
    /// What the server finds wrong in the history, from this level on; with a pattern, in that of locks with names like
    /// this.
    ///
    /// # Errors
    /// When the server cannot be steered.
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

//! Faults in what goes between the server and its clients.

use super::action::{Action, Clients, Match};
use super::reply::{Refused, Reply};
use super::words::Words;
use crate::server::handle::Handle;
use std::time::Duration;

/// Makes faults: by rules for single requests, and for whole clients or the whole server. Requests of the handle are
/// exempt. A reset of the server ends every fault.
#[derive(Clone, Debug)]
pub struct Faults(pub(super) Handle);

/// A rule, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// Its words behind the name.
    pub rule: String,
    /// How often all that it names has matched.
    pub matched: i64,
    /// How many of these it let pass first.
    pub skipped: i64,
    /// How often it has acted.
    pub hits: i64,
    /// How often it can still act; `None`: there is no end to it.
    pub left: Option<i64>,
    /// How many requests or replies it holds.
    pub held: i64,
}

/// What of clients a partition stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// What they send.
    In,
    /// What they are sent.
    Out,
    /// Both.
    Both,
}

impl Direction {
    pub(super) fn word(self) -> &'static str {
        match self {
            Direction::In => "IN",
            Direction::Out => "OUT",
            Direction::Both => "BOTH",
        }
    }
}

/// What becomes of the numbers of grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantNumbers {
    /// They go on.
    GoOn,
    /// They go back too.
    GoBack,
}

impl Faults {
    /// Adds a rule: requests that match meet the action. Of several rules the oldest acts.
    ///
    /// # Errors
    /// When the server refuses the rule.
    pub fn add(&self, name: &str, matching: &Match, action: &Action) -> Result<(), Refused> {
        let words = Words::of(&["FAULT.ADD", name]).then(&matching.0).and("DO").then(&action.0);
        self.0.ask(&words).map(drop)
    }

    /// Lets go on what a rule holds, the oldest first, at most so many. How many there were.
    ///
    /// # Errors
    /// When there is no such rule.
    pub fn go(&self, name: &str, most: Option<u64>) -> Result<i64, Refused> {
        let words = Words::of(&["FAULT.GO", name]);
        let words = match most {
            Some(most) => words.and("COUNT").number(most),
            None => words,
        };
        self.0.ask(&words).map(|reply| reply.integer())
    }

    /// The rules, the oldest first.
    ///
    /// # Errors
    /// When the server cannot be steered.
    pub fn list(&self) -> Result<Vec<Rule>, Refused> {
        Ok(self.0.ask(&Words::of(&["FAULT.LIST"]))?.items().iter().map(Rule::of).collect())
    }

    /// Removes a rule, if it is there; what it holds goes on.
    ///
    /// # Errors
    /// When the server cannot be steered.
    pub fn remove(&self, name: &str) -> Result<bool, Refused> {
        Ok(self.0.ask(&Words::of(&["FAULT.DEL", name]))?.integer() == 1)
    }

    /// Removes all rules; what they hold goes on. How many there were.
    ///
    /// # Errors
    /// When the server cannot be steered.
    pub fn clear(&self) -> Result<i64, Refused> {
        self.0.ask(&Words::of(&["FAULT.CLEAR"])).map(|reply| reply.integer())
    }

    /// Draws for [`Match::prob`] from this seed from now on.
    ///
    /// # Errors
    /// When the server cannot be steered.
    pub fn seed(&self, seed: i64) -> Result<(), Refused> {
        self.0.ask(&Words::of(&["FAULT.SEED"]).number(seed)).map(drop)
    }

    /// Reads nothing from clients and writes nothing to them, as if their processes stood still: for so long on the
    /// monotonic clock, or until [`Faults::thaw_client`]. How many there are.
    ///
    /// # Errors
    /// When the server refuses it.
    pub fn freeze_client(&self, clients: &Clients, duration: Option<Duration>) -> Result<i64, Refused> {
        let words = Words::of(&["FAULT.FREEZECLIENT"]).then(&clients.words());
        let words = match duration {
            Some(duration) => words.milliseconds(duration),
            None => words.and("FOREVER"),
        };
        self.0.ask(&words).map(|reply| reply.integer())
    }

    /// Lets frozen clients go on. How many there are.
    ///
    /// # Errors
    /// When the server refuses it.
    pub fn thaw_client(&self, clients: &Clients) -> Result<i64, Refused> {
        let words = Words::of(&["FAULT.THAWCLIENT"]).then(&clients.words());
        self.0.ask(&words).map(|reply| reply.integer())
    }

    /// Cuts clients off, new connections of theirs too. How many there are now.
    ///
    /// # Errors
    /// When the server refuses it.
    pub fn partition(&self, clients: &Clients, direction: Direction) -> Result<i64, Refused> {
        let words = Words::of(&["FAULT.PARTITION"]).then(&clients.words()).and(direction.word());
        self.0.ask(&words).map(|reply| reply.integer())
    }

    /// Ends all partitions. How many there were.
    ///
    /// # Errors
    /// When the server cannot be steered.
    pub fn heal(&self) -> Result<i64, Refused> {
        self.0.ask(&Words::of(&["FAULT.HEAL"])).map(|reply| reply.integer())
    }

    /// From now on writes, of keys like this if there is a pattern, reach no replica.
    ///
    /// # Errors
    /// When the server cannot be steered.
    pub fn lag(&self, pattern: Option<&str>) -> Result<(), Refused> {
        let words = Words::of(&["FAULT.LAG"]);
        let words = match pattern {
            Some(pattern) => words.and("KEY").and(pattern),
            None => words,
        };
        self.0.ask(&words).map(drop)
    }

    /// A replica takes over: keys are as they were at [`Faults::lag`], the scripts are gone, every connection is cut.
    ///
    /// # Errors
    /// When the server cannot be steered.
    pub fn failover(&self, numbers: GrantNumbers) -> Result<(), Refused> {
        let goes_back = numbers == GrantNumbers::GoBack;
        self.0.ask(&Words::of(&["FAULT.FAILOVER"]).and_if(goes_back, "TOKENS")).map(drop)
    }

    /// As a restart without persistence: keys, scripts and connections are gone, and nobody is let in for so long.
    ///
    /// # Errors
    /// When the server cannot be steered.
    pub fn restart(&self, down: Duration, numbers: GrantNumbers) -> Result<(), Refused> {
        let goes_back = numbers == GrantNumbers::GoBack;
        let words = Words::of(&["FAULT.RESTART", "DOWN"]).milliseconds(down).and_if(goes_back, "TOKENS");
        self.0.ask(&words).map(drop)
    }

    /// Cuts the connections alone, and lets nobody in for so long: keys, scripts and functions stay.
    ///
    /// # Errors
    /// When the server cannot be steered.
    pub fn restart_keeping_data(&self, down: Duration) -> Result<(), Refused> {
        self.0.ask(&Words::of(&["FAULT.RESTART", "DOWN"]).milliseconds(down).and("KEEP")).map(drop)
    }
}

impl Rule {
    pub(super) fn of(told: &Reply) -> Self {
        Rule {
            name: told.field("name").text(),
            rule: told.field("rule").text(),
            matched: told.field("matched").integer(),
            skipped: told.field("skipped").integer(),
            hits: told.field("hits").integer(),
            left: told.field("left").maybe_integer(),
            held: told.field("held").integer(),
        }
    }
}

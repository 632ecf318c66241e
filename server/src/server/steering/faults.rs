//! Faults between the server and its clients.

use super::action::{Action, Clients, Match};
use super::reply::{Refused, Reply};
use super::words::Words;
use crate::server::handle::Handle;
use std::time::Duration;

/// Injects faults, by rules for single requests or for whole clients or servers. Requests of the handle are exempt, and
/// a reset ends every fault.
#[derive(Clone, Debug)]
pub struct Faults(pub(super) Handle);

/// A rule and its counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The name.
    pub name: String,
    /// The words of the rule after its name.
    pub rule: String,
    /// The number of requests that matched all conditions.
    pub matched: i64,
    /// The number of matches that were skipped first.
    pub skipped: i64,
    /// The number of times that the rule has acted.
    pub hits: i64,
    /// The number of times that the rule can still act; `None` if unlimited.
    pub left: Option<i64>,
    /// The number of requests or replies that the rule holds.
    pub held: i64,
}

/// The direction of traffic that a partition stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From clients to the server.
    In,
    /// From the server to clients.
    Out,
    /// Both directions.
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

/// The effect of a failover or restart on grant numbers (fencing tokens).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantNumbers {
    /// Grant numbers continue.
    GoOn,
    /// Grant numbers go back, too.
    GoBack,
}

impl Faults {
    /// Adds a rule: its action applies to each request that matches. If several rules match, the oldest acts.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server refuses the rule.
    pub fn add(&self, name: &str, matching: &Match, action: &Action) -> Result<(), Refused> {
        let words = Words::of(&["FAULT.ADD", name]).then(&matching.0).and("DO").then(&action.0);
        self.0.ask(&words).map(drop)
    }

    /// Releases what a rule holds, the longest held first, at most `most` items. Returns the number released.
    ///
    /// # Errors
    /// Returns a [`Refused`] if no such rule exists.
    pub fn go(&self, name: &str, most: Option<u64>) -> Result<i64, Refused> {
        let words = Words::of(&["FAULT.GO", name]);
        let words = match most {
            Some(most) => words.and("COUNT").number(most),
            None => words,
        };
        self.0.ask(&words).map(|reply| reply.integer())
    }

    /// Returns the rules, the oldest first.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server cannot be controlled.
    pub fn list(&self) -> Result<Vec<Rule>, Refused> {
        Ok(self.0.ask(&Words::of(&["FAULT.LIST"]))?.items().iter().map(Rule::of).collect())
    }

    /// Removes a rule and releases everything that it holds. Returns whether the rule existed.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server cannot be controlled.
    pub fn remove(&self, name: &str) -> Result<bool, Refused> {
        Ok(self.0.ask(&Words::of(&["FAULT.DEL", name]))?.integer() == 1)
    }

    /// Removes all rules and releases everything that they hold. Returns the number of rules.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server cannot be controlled.
    pub fn clear(&self) -> Result<i64, Refused> {
        self.0.ask(&Words::of(&["FAULT.CLEAR"])).map(|reply| reply.integer())
    }

    /// Sets the seed of future draws for [`Match::prob`].
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server cannot be controlled.
    pub fn seed(&self, seed: i64) -> Result<(), Refused> {
        self.0.ask(&Words::of(&["FAULT.SEED"]).number(seed)).map(drop)
    }

    /// Stops reading from clients and writing to them, as if their processes were paused, for `duration` on the
    /// monotonic clock or until [`Faults::thaw_client`]. Returns their number.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server refuses the request.
    pub fn freeze_client(&self, clients: &Clients, duration: Option<Duration>) -> Result<i64, Refused> {
        let words = Words::of(&["FAULT.FREEZECLIENT"]).then(&clients.words());
        let words = match duration {
            Some(duration) => words.milliseconds(duration),
            None => words.and("FOREVER"),
        };
        self.0.ask(&words).map(|reply| reply.integer())
    }

    /// Ends the freeze of clients. Returns the number of these clients.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server refuses the request.
    pub fn thaw_client(&self, clients: &Clients) -> Result<i64, Refused> {
        let words = Words::of(&["FAULT.THAWCLIENT"]).then(&clients.words());
        self.0.ask(&words).map(|reply| reply.integer())
    }

    /// Cuts clients off, including their new connections. Returns the number of clients that are cut off now.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server refuses the request.
    pub fn partition(&self, clients: &Clients, direction: Direction) -> Result<i64, Refused> {
        let words = Words::of(&["FAULT.PARTITION"]).then(&clients.words()).and(direction.word());
        self.0.ask(&words).map(|reply| reply.integer())
    }

    /// Ends all partitions. Returns how many there were.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server cannot be controlled.
    pub fn heal(&self) -> Result<i64, Refused> {
        self.0.ask(&Words::of(&["FAULT.HEAL"])).map(|reply| reply.integer())
    }

    /// Stops replication: later writes reach no replica. With a pattern, only writes to matching keys are held back.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server cannot be controlled.
    pub fn lag(&self, pattern: Option<&str>) -> Result<(), Refused> {
        let words = Words::of(&["FAULT.LAG"]);
        let words = match pattern {
            Some(pattern) => words.and("KEY").and(pattern),
            None => words,
        };
        self.0.ask(&words).map(drop)
    }

    /// Simulates a failover: keys return to their state at [`Faults::lag`]; scripts and connections are lost.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server cannot be controlled.
    pub fn failover(&self, numbers: GrantNumbers) -> Result<(), Refused> {
        let goes_back = numbers == GrantNumbers::GoBack;
        self.0.ask(&Words::of(&["FAULT.FAILOVER"]).and_if(goes_back, "TOKENS")).map(drop)
    }

    /// Simulates a restart that loses keys, scripts and connections. New connections are refused for `down`.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server cannot be controlled.
    pub fn restart(&self, down: Duration, numbers: GrantNumbers) -> Result<(), Refused> {
        let goes_back = numbers == GrantNumbers::GoBack;
        let words = Words::of(&["FAULT.RESTART", "DOWN"]).milliseconds(down).and_if(goes_back, "TOKENS");
        self.0.ask(&words).map(drop)
    }

    /// Cuts all connections and refuses new ones for `down`. Keys, scripts and functions stay.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server cannot be controlled.
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

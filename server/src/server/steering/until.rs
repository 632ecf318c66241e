//! Waits for states, as a replacement for sleeping in tests.

use super::history::Filter;
use super::reply::Refused;
use super::words::Words;
use crate::server::handle::Handle;
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Waits for a state instead of sleeping, on this thread, by default at most five seconds of real time. A count is a
/// minimum, unless [`Until::exact`] or [`Until::at_most`] changes that.
#[derive(Clone, Debug)]
pub struct Until {
    pub(super) handle: Handle,
    pub(super) limit: Option<Duration>,
    pub(super) comparison: Words,
}

/// The reason why a wait failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotInTime {
    /// The limit has passed. The text contains the report of the server.
    Limit(String),
    /// The server has refused the wait.
    Refused(Refused),
}

impl fmt::Display for NotInTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotInTime::Limit(report) => f.write_str(report),
            NotInTime::Refused(refused) => refused.fmt(f),
        }
    }
}

impl Error for NotInTime {}

type Came = Result<(), NotInTime>;

impl Until {
    /// Sets another limit, in real time.
    pub fn within(self, limit: Duration) -> Self {
        Until { limit: Some(limit), ..self }
    }

    /// Makes a count exact.
    pub fn exact(self) -> Self {
        Until { comparison: Words::of(&["EXACT"]), ..self }
    }

    /// Makes a count a maximum.
    pub fn at_most(self) -> Self {
        Until { comparison: Words::of(&["ATMOST"]), ..self }
    }

    /// Waits until `count` clients are blocked, on `key` if given.
    ///
    /// # Errors
    /// Returns a [`NotInTime`] if the limit passes first.
    pub fn blocked(&self, count: u64, key: Option<&str>) -> Came {
        self.counted(option(Words::of(&["AWAIT.BLOCKED"]).number(count), "KEY", key))
    }

    /// Waits until `count` clients wait for a lock, in the server or as subscribers of its Redisson channels.
    ///
    /// # Errors
    /// Returns a [`NotInTime`] if the limit passes first.
    pub fn waiters(&self, key: &str, count: u64) -> Came {
        self.counted(Words::of(&["AWAIT.WAITERS", key]).number(count))
    }

    /// Waits until a channel has `count` subscribers.
    ///
    /// # Errors
    /// Returns a [`NotInTime`] if the limit passes first.
    pub fn subscribers(&self, channel: &str, count: u64) -> Came {
        self.counted(Words::of(&["AWAIT.SUBSCRIBERS", channel]).number(count))
    }

    /// Waits until `count` clients are connected, those of handles included; with a pattern, only matching names.
    ///
    /// # Errors
    /// Returns a [`NotInTime`] if the limit passes first.
    pub fn clients(&self, count: u64, name: Option<&str>) -> Came {
        self.counted(option(Words::of(&["AWAIT.CLIENTS"]).number(count), "NAME", name))
    }

    /// Waits until a key exists.
    ///
    /// # Errors
    /// Returns a [`NotInTime`] if the limit passes first.
    pub fn exists(&self, key: &str) -> Came {
        self.ask(Words::of(&["AWAIT.KEY", key, "EXISTS"])).map(drop)
    }

    /// Waits until a key does not exist.
    ///
    /// # Errors
    /// Returns a [`NotInTime`] if the limit passes first.
    pub fn gone(&self, key: &str) -> Came {
        self.ask(Words::of(&["AWAIT.KEY", key, "GONE"])).map(drop)
    }

    /// Waits until a key has this type, as TYPE names it.
    ///
    /// # Errors
    /// Returns a [`NotInTime`] if the limit passes first.
    pub fn has_type(&self, key: &str, kind: &str) -> Came {
        self.ask(Words::of(&["AWAIT.KEY", key, "TYPE", kind])).map(drop)
    }

    /// Waits until a command was executed `count` times. With a pattern, only calls on matching keys count.
    ///
    /// # Errors
    /// Returns a [`NotInTime`] if the limit passes first.
    pub fn calls(&self, command: &str, count: u64, key: Option<&str>) -> Came {
        self.ask(option(Words::of(&["AWAIT.CALLS", command]).number(count), "KEY", key)).map(drop)
    }

    /// Waits until no client, or none with a matching name, has sent a command for `quiet`, in real time.
    ///
    /// # Errors
    /// Returns a [`NotInTime`] if the limit passes first.
    pub fn idle(&self, quiet: Duration, name: Option<&str>) -> Came {
        self.ask(option(Words::of(&["AWAIT.IDLE"]).milliseconds(quiet), "NAME", name)).map(drop)
    }

    /// Waits until the history has this event among the entries that the filter selects, as often as the filter's count
    /// demands. Returns the entry's number.
    ///
    /// # Errors
    /// Returns a [`NotInTime`] if the limit passes first.
    pub fn event(&self, event: &str, filter: &Filter) -> Result<i64, NotInTime> {
        self.ask(Words::of(&["AWAIT.EVENT", event]).then(&filter.0))
    }

    /// Waits until a rule has acted `count` times.
    ///
    /// # Errors
    /// Returns a [`NotInTime`] if the limit passes first.
    pub fn fault(&self, name: &str, count: u64) -> Came {
        self.ask(Words::of(&["AWAIT.FAULT", name]).number(count)).map(drop)
    }

    /// Waits until a rule holds `count` requests or replies.
    ///
    /// # Errors
    /// Returns a [`NotInTime`] if the limit passes first.
    pub fn held(&self, name: &str, count: u64) -> Came {
        self.ask(Words::of(&["AWAIT.HELD", name]).number(count)).map(drop)
    }

    fn counted(&self, words: Words) -> Came {
        self.ask(words.then(&self.comparison)).map(drop)
    }

    fn ask(&self, words: Words) -> Result<i64, NotInTime> {
        let words = match self.limit {
            Some(limit) => words.and("LIMIT").milliseconds(limit),
            None => words,
        };
        let reply = self.handle.ask(&words).map_err(NotInTime::Refused)?;
        let late =
            || NotInTime::Limit(format!("{}: not within the limit\n{}", words.text(), self.handle.report()));
        reply.maybe_integer().ok_or_else(late)
    }
}

/// Appends an option if it has a value.
fn option(words: Words, name: &str, value: Option<&str>) -> Words {
    match value {
        Some(value) => words.and(name).and(value),
        None => words,
    }
}

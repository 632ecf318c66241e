//! Waiting for states instead of sleeping.

use super::history::Filter;
use super::reply::Refused;
use super::words::Words;
use crate::server::handle::Handle;
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Waits for a state instead of sleeping, five seconds of real time at most unless [`Until::within`] says otherwise.
/// Counts mean at least so many, unless [`Until::exact`] or [`Until::at_most`] says otherwise. Blocks this thread.
#[derive(Clone, Debug)]
pub struct Until {
    pub(super) handle: Handle,
    pub(super) limit: Option<Duration>,
    pub(super) comparison: Words,
}

/// A state did not come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotInTime {
    /// The limit has passed. The text has the server's report.
    Limit(String),
    /// The server has refused the question.
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

/// That a state is there, or is not.
type Came = Result<(), NotInTime>;

impl Until {
    /// The same with another limit of real time.
    pub fn within(self, limit: Duration) -> Self {
        Until { limit: Some(limit), ..self }
    }

    /// The same, waiting for just so many.
    pub fn exact(self) -> Self {
        Until { comparison: Words::of(&["EXACT"]), ..self }
    }

    /// The same, waiting for no more than so many.
    pub fn at_most(self) -> Self {
        Until { comparison: Words::of(&["ATMOST"]), ..self }
    }

    /// So many clients are blocked, on a key if one is given.
    ///
    /// # Errors
    /// When the limit passes first.
    pub fn blocked(&self, count: u64, key: Option<&str>) -> Came {
        self.counted(option(Words::of(&["AWAIT.BLOCKED"]).number(count), "KEY", key))
    }

    /// So many clients wait for a lock, in the server or subscribed to its Redisson channels.
    ///
    /// # Errors
    /// When the limit passes first.
    pub fn waiters(&self, key: &str, count: u64) -> Came {
        self.counted(Words::of(&["AWAIT.WAITERS", key]).number(count))
    }

    /// A channel has so many subscribers.
    ///
    /// # Errors
    /// When the limit passes first.
    pub fn subscribers(&self, channel: &str, count: u64) -> Came {
        self.counted(Words::of(&["AWAIT.SUBSCRIBERS", channel]).number(count))
    }

    /// So many clients are connected, requests of handles being one of them or more; with a pattern, so many with a
    /// name like this.
    ///
    /// # Errors
    /// When the limit passes first.
    pub fn clients(&self, count: u64, name: Option<&str>) -> Came {
        self.counted(option(Words::of(&["AWAIT.CLIENTS"]).number(count), "NAME", name))
    }

    /// There is a key.
    ///
    /// # Errors
    /// When the limit passes first.
    pub fn exists(&self, key: &str) -> Came {
        self.ask(Words::of(&["AWAIT.KEY", key, "EXISTS"])).map(drop)
    }

    /// There is no such key.
    ///
    /// # Errors
    /// When the limit passes first.
    pub fn gone(&self, key: &str) -> Came {
        self.ask(Words::of(&["AWAIT.KEY", key, "GONE"])).map(drop)
    }

    /// A key has this type, as TYPE names it.
    ///
    /// # Errors
    /// When the limit passes first.
    pub fn has_type(&self, key: &str, kind: &str) -> Came {
        self.ask(Words::of(&["AWAIT.KEY", key, "TYPE", kind])).map(drop)
    }

    /// A command was executed so often, on keys like this if there is a pattern.
    ///
    /// # Errors
    /// When the limit passes first.
    pub fn calls(&self, command: &str, count: u64, key: Option<&str>) -> Came {
        self.ask(option(Words::of(&["AWAIT.CALLS", command]).number(count), "KEY", key)).map(drop)
    }

    /// No client, or none with a name like this, has sent a command for so long, in real time.
    ///
    /// # Errors
    /// When the limit passes first.
    pub fn idle(&self, quiet: Duration, name: Option<&str>) -> Came {
        self.ask(option(Words::of(&["AWAIT.IDLE"]).milliseconds(quiet), "NAME", name)).map(drop)
    }

    /// The history has this event among these entries, so often as their count says. The number of its entry.
    ///
    /// # Errors
    /// When the limit passes first.
    pub fn event(&self, event: &str, filter: &Filter) -> Result<i64, NotInTime> {
        self.ask(Words::of(&["AWAIT.EVENT", event]).then(&filter.0))
    }

    /// A rule has acted so often.
    ///
    /// # Errors
    /// When the limit passes first.
    pub fn fault(&self, name: &str, count: u64) -> Came {
        self.ask(Words::of(&["AWAIT.FAULT", name]).number(count)).map(drop)
    }

    /// A rule holds so many requests or replies.
    ///
    /// # Errors
    /// When the limit passes first.
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

/// These and an option, if it has a value.
fn option(words: Words, name: &str, value: Option<&str>) -> Words {
    match value {
        Some(value) => words.and(name).and(value),
        None => words,
    }
}

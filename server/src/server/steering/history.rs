//! The history of locks.

use super::reply::{Refused, Reply};
use super::words::Words;
use crate::server::handle::Handle;
use std::time::Duration;

/// The history of locks, whichever client took them, while [`Builder::lock_history`](crate::Builder::lock_history)
/// records it.
#[derive(Clone, Debug)]
pub struct History(pub(super) Handle);

/// A selection of entries. An entry must match every condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter(pub(super) Words);

/// The result of a query of the history.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries {
    /// The number of the oldest entry that the history still has.
    pub first: i64,
    /// The number of the newest entry.
    pub last: i64,
    /// Whether older entries were discarded.
    pub is_truncated: bool,
    /// The selected entries, the oldest first.
    pub entries: Vec<Entry>,
}

/// An event of a lock, or an event that affects locks. A field that does not apply is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The number of the entry.
    pub seq: i64,
    /// The wall clock at the event, in milliseconds since the epoch.
    pub wall_ms: i64,
    /// The monotonic clock at the event: the time since the start of the server.
    pub monotonic: Duration,
    /// The event: `acquired`, `released`, `lost`, `queued`, `fault`, `mark`, …
    pub event: String,
    /// The database.
    pub db: Option<i64>,
    /// The lock.
    pub key: Option<String>,
    /// `native`, or `foreign` if a script or a plain command took the lock.
    pub kind: Option<String>,
    /// `exclusive`, `shared` or `write`.
    pub mode: Option<String>,
    /// The owner of the lock.
    pub owner: Option<String>,
    /// The number of the grant.
    pub grant: Option<i64>,
    /// The number of holds of the owner.
    pub holds: Option<i64>,
    /// The lease, in milliseconds.
    pub ttl_ms: Option<i64>,
    /// The time for which the owner had waited, in milliseconds.
    pub waited_ms: Option<i64>,
    /// The cause of the event.
    pub cause: Option<String>,
    /// The id of the client.
    pub client: Option<i64>,
    /// The name of the client.
    pub client_name: Option<String>,
    /// The command, or the digest of the script.
    pub by: Option<String>,
    /// The effect of a fault.
    pub fault: Option<String>,
    /// The address of the server in a topology where the event occurred.
    pub node: Option<String>,
    /// The text of a mark.
    pub text: Option<String>,
    /// The times before and after a change of a clock, in milliseconds.
    pub clock_ms: Option<(i64, i64)>,
    /// The numbers of free and of held permits of a semaphore.
    pub permits: Option<(i64, i64)>,
}

impl Filter {
    /// Selects all entries.
    pub fn all() -> Self {
        Filter::default()
    }

    /// Restricts the selection to keys that match this pattern.
    pub fn key(self, pattern: &str) -> Self {
        Filter(self.0.and("KEY").and(pattern))
    }

    /// Restricts the selection to owners that match this pattern.
    pub fn owner(self, pattern: &str) -> Self {
        Filter(self.0.and("OWNER").and(pattern))
    }

    /// Restricts the selection to entries after the one with this number.
    pub fn since(self, seq: i64) -> Self {
        Filter(self.0.and("SINCE").number(seq))
    }

    /// Limits the number of entries. For an awaited event, sets the number of occurrences to wait for.
    pub fn count(self, count: u64) -> Self {
        Filter(self.0.and("COUNT").number(count))
    }
}

impl History {
    fn words(filter: &Filter) -> Words {
        Words::of(&["LOCK.HISTORY"]).then(&filter.0)
    }

    /// Returns the selected entries, the oldest first.
    ///
    /// # Errors
    /// Returns a [`Refused`] if `lock-history` is no.
    pub fn entries(&self, filter: &Filter) -> Result<Entries, Refused> {
        let told = self.0.ask(&Self::words(filter))?;
        Ok(Entries {
            first: told.field("first").integer(),
            last: told.field("last").integer(),
            is_truncated: told.field("truncated").is_true(),
            entries: told.field("entries").items().iter().map(Entry::of).collect(),
        })
    }

    /// Returns the selected entries as JSON.
    ///
    /// # Errors
    /// Returns a [`Refused`] if `lock-history` is no.
    pub fn json(&self, filter: &Filter) -> Result<String, Refused> {
        self.0.ask(&Self::words(filter).and("FORMAT").and("JSON")).map(|reply| reply.text())
    }

    /// Returns the lock operations as EDN, in the format of Jepsen's checkers.
    ///
    /// # Errors
    /// Returns a [`Refused`] if `lock-history` is no.
    pub fn edn(&self, filter: &Filter) -> Result<String, Refused> {
        self.0.ask(&Self::words(filter).and("FORMAT").and("EDN")).map(|reply| reply.text())
    }

    /// Writes a line of the test into the history.
    ///
    /// # Errors
    /// Returns a [`Refused`] if `lock-history` is no.
    pub fn mark(&self, line: &str) -> Result<(), Refused> {
        self.0.ask(&Words::of(&["LOCK.MARK", line])).map(drop)
    }

    /// Treats keys that match this pattern as locks.
    ///
    /// # Errors
    /// Returns a [`Refused`] if there are too many patterns.
    pub fn observe(&self, pattern: &str) -> Result<(), Refused> {
        self.0.ask(&Words::of(&["LOCK.OBSERVE", pattern])).map(drop)
    }

    /// Removes a pattern of [`History::observe`].
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server cannot be controlled.
    pub fn unobserve(&self, pattern: &str) -> Result<(), Refused> {
        self.0.ask(&Words::of(&["LOCK.OBSERVE", "DEL", pattern])).map(drop)
    }

    /// Declares that an owner has entered the critical section of a lock, with any fencing token of its grant. Two
    /// owners inside are a violation.
    ///
    /// # Errors
    /// Returns a [`Refused`] if `lock-history` is no.
    pub fn enter(&self, key: &str, owner: &str, token: Option<u64>) -> Result<(), Refused> {
        let words = Words::of(&["LOCK.ENTER", key, owner]);
        let words = match token {
            Some(token) => words.and("TOKEN").number(token),
            None => words,
        };
        self.0.ask(&words).map(drop)
    }

    /// Declares that an owner has left the critical section. Returns whether the owner was inside.
    ///
    /// # Errors
    /// Returns a [`Refused`] if `lock-history` is no.
    pub fn leave(&self, key: &str, owner: &str) -> Result<bool, Refused> {
        Ok(self.0.ask(&Words::of(&["LOCK.LEAVE", key, owner]))?.integer() == 1)
    }
}

impl Entry {
    fn of(told: &Reply) -> Self {
        let text = |name: &str| told.field(name).maybe_text();
        let number = |name: &str| told.field(name).maybe_integer();
        Entry {
            seq: told.field("seq").integer(),
            wall_ms: told.field("wall").integer(),
            monotonic: Duration::from_millis(told.field("monotonic").integer().unsigned_abs()),
            event: told.field("event").text(),
            db: number("db"),
            key: text("key"),
            kind: text("kind"),
            mode: text("mode"),
            owner: text("owner"),
            grant: number("grant"),
            holds: number("holds"),
            ttl_ms: number("ttl"),
            waited_ms: number("waited"),
            cause: text("cause"),
            client: number("client"),
            client_name: text("clientname"),
            by: text("by"),
            fault: text("fault"),
            node: text("node"),
            text: text("text"),
            clock_ms: number("from").zip(number("to")),
            permits: number("left").zip(number("held")),
        }
    }
}

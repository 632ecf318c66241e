//! What happened to locks.

use super::reply::{Refused, Reply};
use super::words::Words;
use crate::server::handle::Handle;
use std::time::Duration;

/// What happened to locks, whoever took them. It is filled while `lock-history` is yes, as
/// [`Builder::lock_history`](crate::Builder::lock_history) says.
#[derive(Clone, Debug)]
pub struct History(pub(super) Handle);

/// Which entries: all that match everything that is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter(pub(super) Words);

/// What the history has of what was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries {
    /// The oldest number that it still has.
    pub first: i64,
    /// Its newest number.
    pub last: i64,
    /// Whether older entries had to go.
    pub is_truncated: bool,
    /// The entries, the oldest first.
    pub entries: Vec<Entry>,
}

/// Something that happened to a lock, or beside one. What an event does not have is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its number.
    pub seq: i64,
    /// When, on the wall clock: milliseconds since the epoch.
    pub wall_ms: i64,
    /// When, on the monotonic clock: since the server's start.
    pub monotonic: Duration,
    /// `acquired`, `released`, `lost`, `queued`, `fault`, `mark`, …
    pub event: String,
    /// The database.
    pub db: Option<i64>,
    /// The lock.
    pub key: Option<String>,
    /// `native`, or `foreign` where a script or a bare command took the lock.
    pub kind: Option<String>,
    /// `exclusive`, `shared` or `write`.
    pub mode: Option<String>,
    /// Whose.
    pub owner: Option<String>,
    /// The number of the grant.
    pub grant: Option<i64>,
    /// How many holds the owner has.
    pub holds: Option<i64>,
    /// The lease, in milliseconds.
    pub ttl_ms: Option<i64>,
    /// How long the owner had waited, in milliseconds.
    pub waited_ms: Option<i64>,
    /// Why.
    pub cause: Option<String>,
    /// The number of the client.
    pub client: Option<i64>,
    /// Its name.
    pub client_name: Option<String>,
    /// The command, or the digest of the script.
    pub by: Option<String>,
    /// What a fault did.
    pub fault: Option<String>,
    /// Where it happened, in a topology: the address of a server.
    pub node: Option<String>,
    /// The line of a mark.
    pub text: Option<String>,
    /// From where to where a clock was turned, in milliseconds.
    pub clock_ms: Option<(i64, i64)>,
    /// How many permits of a semaphore are left, and how many are held.
    pub permits: Option<(i64, i64)>,
}

impl Filter {
    /// All.
    pub fn all() -> Self {
        Filter::default()
    }

    /// Of these, those of keys like this.
    pub fn key(self, pattern: &str) -> Self {
        Filter(self.0.and("KEY").and(pattern))
    }

    /// Of these, those of owners like this.
    pub fn owner(self, pattern: &str) -> Self {
        Filter(self.0.and("OWNER").and(pattern))
    }

    /// Of these, those after an entry.
    pub fn since(self, seq: i64) -> Self {
        Filter(self.0.and("SINCE").number(seq))
    }

    /// Of these, no more than so many; of events that are awaited, so many.
    pub fn count(self, count: u64) -> Self {
        Filter(self.0.and("COUNT").number(count))
    }
}

impl History {
    fn words(filter: &Filter) -> Words {
        Words::of(&["LOCK.HISTORY"]).then(&filter.0)
    }

    /// The entries, the oldest first.
    ///
    /// # Errors
    /// When `lock-history` is no.
    pub fn entries(&self, filter: &Filter) -> Result<Entries, Refused> {
        let told = self.0.ask(&Self::words(filter))?;
        Ok(Entries {
            first: told.field("first").integer(),
            last: told.field("last").integer(),
            is_truncated: told.field("truncated").is_true(),
            entries: told.field("entries").items().iter().map(Entry::of).collect(),
        })
    }

    /// The same as JSON.
    ///
    /// # Errors
    /// When `lock-history` is no.
    pub fn json(&self, filter: &Filter) -> Result<String, Refused> {
        self.0.ask(&Self::words(filter).and("FORMAT").and("JSON")).map(|reply| reply.text())
    }

    /// The operations on locks as EDN, as Jepsen's checkers read them.
    ///
    /// # Errors
    /// When `lock-history` is no.
    pub fn edn(&self, filter: &Filter) -> Result<String, Refused> {
        self.0.ask(&Self::words(filter).and("FORMAT").and("EDN")).map(|reply| reply.text())
    }

    /// Writes a line of the test's own.
    ///
    /// # Errors
    /// When `lock-history` is no.
    pub fn mark(&self, line: &str) -> Result<(), Refused> {
        self.0.ask(&Words::of(&["LOCK.MARK", line])).map(drop)
    }

    /// Keys like this are locks too.
    ///
    /// # Errors
    /// When there are too many patterns.
    pub fn observe(&self, pattern: &str) -> Result<(), Refused> {
        self.0.ask(&Words::of(&["LOCK.OBSERVE", pattern])).map(drop)
    }

    /// They are no longer, for this pattern of [`History::observe`].
    ///
    /// # Errors
    /// When the server cannot be steered.
    pub fn unobserve(&self, pattern: &str) -> Result<(), Refused> {
        self.0.ask(&Words::of(&["LOCK.OBSERVE", "DEL", pattern])).map(drop)
    }

    /// Declares that an owner is now in the section that a lock protects, with the token of its grant if there is one:
    /// two there at once are a violation.
    ///
    /// # Errors
    /// When `lock-history` is no.
    pub fn enter(&self, key: &str, owner: &str, token: Option<u64>) -> Result<(), Refused> {
        let words = Words::of(&["LOCK.ENTER", key, owner]);
        let words = match token {
            Some(token) => words.and("TOKEN").number(token),
            None => words,
        };
        self.0.ask(&words).map(drop)
    }

    /// Declares that an owner has left it; whether it was there.
    ///
    /// # Errors
    /// When `lock-history` is no.
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

//! Control of the clock through its commands. It offers more than the methods of a handle.

use super::reply::{Refused, Reply};
use super::words::Words;
use crate::server::handle::Handle;
use std::time::Duration;

/// Control of the clock: sets the wall clock, advances both clocks, and reports times and fired deadlines.
#[derive(Clone, Debug)]
pub struct Clock(pub(super) Handle);

/// Options of a clock advance. By default it does not wait for clients, and it wakes Redisson's waiters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn(Words);

/// The state of the clocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockInfo {
    /// `real` or `manual`.
    pub mode: String,
    /// The wall clock, in milliseconds since the epoch.
    pub wall_ms: i64,
    /// The monotonic clock: the time since the start of the server.
    pub monotonic: Duration,
    /// The wall clock minus the system's time, in milliseconds.
    pub offset_ms: i64,
    /// The time until the next deadline on either clock; `None` if no deadline is pending.
    pub next: Option<Duration>,
    /// The number of pending deadlines.
    pub timers: i64,
}

/// The result of a clock advance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnedTo {
    /// The wall clock, in milliseconds since the epoch.
    pub wall_ms: i64,
    /// The number of deadlines that fired.
    pub fired: i64,
    /// Whether clients became quiet in time. False if a limit ended the waiting.
    pub settled: bool,
    /// The deadlines that fired, in order. Filled only by [`Clock::next`].
    pub what: Vec<Deadline>,
}

/// A deadline that has fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// The kind of the deadline: `expiry`, `timeout`, …
    pub kind: String,
    /// The key or the client id of the deadline; empty if it has neither.
    pub of: String,
}

impl Turn {
    /// Returns an advance without options.
    pub fn new() -> Self {
        Turn::default()
    }

    /// Waits for clients after each instant at which they were sent something, until no request has arrived for
    /// `quiet`. After `limit` in total no more waits follow. Both are whole milliseconds of real time.
    #[must_use]
    pub fn settle(self, quiet: Duration, limit: Duration) -> Self {
        let words = self.0.and("SETTLE").milliseconds(quiet);
        Turn(words.and("LIMIT").milliseconds(limit))
    }

    /// Does not wake Redisson's waiters for what the advance ends.
    #[must_use]
    pub fn no_wake(self) -> Self {
        Turn(self.0.and("NOWAKE"))
    }
}

impl Clock {
    /// Sets the wall clock alone, in milliseconds since the epoch. Returns the wall clock after the change.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the wall clock would leave its range.
    pub fn set(&self, wall_ms: i64) -> Result<i64, Refused> {
        self.0.ask(&Words::of(&["CLOCK.SET"]).number(wall_ms)).map(|reply| reply.integer())
    }

    /// Resets the wall clock to the system's time, and returns it in milliseconds since the epoch. Both clocks run.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server cannot be controlled.
    pub fn reset(&self) -> Result<i64, Refused> {
        self.0.ask(&Words::of(&["CLOCK.RESET"])).map(|reply| reply.integer())
    }

    /// Returns the state of both clocks and the time until the next deadline.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server cannot be controlled.
    pub fn info(&self) -> Result<ClockInfo, Refused> {
        let told = self.0.ask(&Words::of(&["CLOCK.INFO"]))?;
        Ok(ClockInfo {
            mode: told.field("mode").text(),
            wall_ms: told.field("wall").integer(),
            monotonic: milliseconds(told.field("monotonic").integer()),
            offset_ms: told.field("offset").integer(),
            next: told.field("next").maybe_integer().map(milliseconds),
            timers: told.field("timers").integer(),
        })
    }

    /// Moves both clocks by whole milliseconds. Every deadline on the way fires at its own instant.
    ///
    /// # Errors
    /// Returns a [`Refused`] if a clock would leave its range. Neither clock has moved then.
    pub fn advance(&self, by: Duration, turn: &Turn) -> Result<TurnedTo, Refused> {
        let words = Words::of(&["CLOCK.ADVANCE"]).milliseconds(by).then(&turn.0);
        self.0.ask(&words).map(|told| TurnedTo::of(&told))
    }

    /// Moves both clocks to the next deadline, `count` times; simultaneous ones count once. `None` if none is pending.
    ///
    /// # Errors
    /// Returns a [`Refused`] if `count` is 0.
    pub fn next(&self, count: u64, turn: &Turn) -> Result<Option<TurnedTo>, Refused> {
        let words = Words::of(&["CLOCK.NEXT", "COUNT"]).number(count).then(&turn.0);
        let told = self.0.ask(&words)?;
        Ok((told != Reply::Null).then(|| TurnedTo::of(&told)))
    }
}

impl TurnedTo {
    fn of(told: &Reply) -> Self {
        TurnedTo {
            wall_ms: told.field("wall").integer(),
            fired: told.field("fired").integer(),
            settled: told.field("settled") == &Reply::Null || told.field("settled").is_true(),
            what: told.field("what").items().iter().map(Deadline::of).collect(),
        }
    }
}

impl Deadline {
    fn of(told: &Reply) -> Self {
        let word = |reply: &Reply| match reply {
            Reply::Integer(number) => number.to_string(),
            other => other.text(),
        };
        let mut words = told.items().iter().map(word);
        Deadline { kind: words.next().unwrap_or_default(), of: words.next().unwrap_or_default() }
    }
}

/// Converts a number of milliseconds from the server, which is never negative.
fn milliseconds(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

//! The clock by what its commands say: beside the methods of a handle, what only they can do or tell.

use super::reply::{Refused, Reply};
use super::words::Words;
use crate::server::handle::Handle;
use std::time::Duration;

/// Sets the wall clock, turns both clocks with any option, and tells where they stand and what has fired.
#[derive(Clone, Debug)]
pub struct Clock(pub(super) Handle);

/// How a turn of the clock goes. By default clients are not waited for, and waiters of Redisson are woken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn(Words);

/// Where a clock stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockInfo {
    /// `real` or `manual`.
    pub mode: String,
    /// The wall clock, in milliseconds since the epoch.
    pub wall_ms: i64,
    /// The monotonic clock: since the server's start.
    pub monotonic: Duration,
    /// The wall clock minus the system's time, in milliseconds.
    pub offset_ms: i64,
    /// Until the next deadline on either hand; `None`: there is none.
    pub next: Option<Duration>,
    /// How many deadlines there are.
    pub timers: i64,
}

/// What a turn of the clock did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnedTo {
    /// The wall clock, in milliseconds since the epoch.
    pub wall_ms: i64,
    /// How many deadlines have fired.
    pub fired: i64,
    /// False when a limit ended the waiting for clients to be quiet.
    pub settled: bool,
    /// What has fired, in order; of [`Clock::next`] alone.
    pub what: Vec<Deadline>,
}

/// A deadline that has fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// `expiry`, `timeout`, …
    pub kind: String,
    /// Its key, or the number of its client; empty where it has neither.
    pub of: String,
}

impl Turn {
    /// A turn without options.
    pub fn new() -> Self {
        Turn::default()
    }

    /// After each instant at which clients were sent something, it goes on only when no request has come for `quiet`;
    /// when the turn has lasted for `limit` it goes to its end without waiting. Whole milliseconds of real time.
    #[must_use]
    pub fn settle(self, quiet: Duration, limit: Duration) -> Self {
        let words = self.0.and("SETTLE").milliseconds(quiet);
        Turn(words.and("LIMIT").milliseconds(limit))
    }

    /// Redisson's waiters are not woken for what ends by the turn.
    #[must_use]
    pub fn no_wake(self) -> Self {
        Turn(self.0.and("NOWAKE"))
    }
}

impl Clock {
    /// Sets the wall clock alone, in milliseconds since the epoch. Where it stands then.
    ///
    /// # Errors
    /// When the hand would leave its range.
    pub fn set(&self, wall_ms: i64) -> Result<i64, Refused> {
        self.0.ask(&Words::of(&["CLOCK.SET"]).number(wall_ms)).map(|reply| reply.integer())
    }

    /// The wall clock is the system's time again, and both clocks run. Where it stands then, in milliseconds since the
    /// epoch.
    ///
    /// # Errors
    /// When the server cannot be steered.
    pub fn reset(&self) -> Result<i64, Refused> {
        self.0.ask(&Words::of(&["CLOCK.RESET"])).map(|reply| reply.integer())
    }

    /// Where both clocks stand, and when the next deadline is.
    ///
    /// # Errors
    /// When the server cannot be steered.
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

    /// Moves both clocks by whole milliseconds, firing every deadline on the way at its own instant.
    ///
    /// # Errors
    /// When a hand would leave its range; then nothing has moved.
    pub fn advance(&self, by: Duration, turn: &Turn) -> Result<TurnedTo, Refused> {
        let words = Words::of(&["CLOCK.ADVANCE"]).milliseconds(by).then(&turn.0);
        self.0.ask(&words).map(|told| TurnedTo::of(&told))
    }

    /// Moves both clocks to the next deadline, so many times; deadlines at one instant count once. `None` when none is
    /// pending.
    ///
    /// # Errors
    /// When `count` is 0.
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

/// What the server says in milliseconds; it is never negative.
fn milliseconds(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

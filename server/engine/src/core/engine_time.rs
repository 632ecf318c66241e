//! The instant at which the engine is.

use super::clock_turn::ClockTurn;
use super::planned_turns::PlannedTurns;
use super::shared_clock::SharedClock;
use crate::time::{Clock, Now, Over};
use crate::timers::Timers;
use std::collections::BTreeMap;

/// How old the instant of a batch may grow, in nanoseconds: with what a command takes, it is less than a millisecond.
const FRESH_NS: u64 = 500_000;

/// A turn of the clock that has stopped amid an instant goes on a millisecond later. When that has not come after this
/// time, the other servers of a topology look whether the server of the turn is there. In milliseconds of real time.
const LOOK_MS: i64 = 100;

/// The turns of the clock whose clients have gone, or no longer wait for them, by numbers that none has twice.
#[derive(Debug, Default)]
pub(super) struct LeftTurns {
    turns: BTreeMap<u64, Box<ClockTurn>>,
    last: u64,
}

impl LeftTurns {
    /// Adds one; its number.
    pub(super) fn add(&mut self, turn: Box<ClockTurn>) -> u64 {
        self.last += 1;
        self.turns.insert(self.last, turn);
        self.last
    }

    /// Takes the one of this number, if it is there still.
    pub(super) fn take(&mut self, number: u64) -> Option<Box<ClockTurn>> {
        self.turns.remove(&number)
    }
}

/// The instant of the present batch, on both sides of the clock that a test turns.
#[derive(Debug)]
pub(crate) struct EngineTime {
    /// The two clocks that a test turns.
    pub(crate) clock: Clock,
    /// The instant as the clocks show it.
    pub(crate) now: Now,
    /// The same instant by the system's clocks.
    pub(crate) system: Now,
    /// The system's instant at the start.
    pub(crate) started: Now,
    /// The engine's own timers.
    pub(crate) timers: Timers,
    /// What is asked of a clock that other engines share.
    pub(crate) shared: SharedClock,
    /// The turns of the clock that the running script or transaction has asked for.
    pub(crate) planned: PlannedTurns,
    /// The turns that go on without their clients.
    pub(super) left_turns: LeftTurns,
    /// A turn has stopped amid an instant: it fires what is over there by this rule, and nobody else does.
    amid: Option<Over>,
    /// The clock was turned while this server hung, and not all has fired yet that is due since.
    pub(super) is_behind: bool,
    /// Number of times that the clocks began anew: a turn from before the last ends.
    resets: u64,
    /// The next look whether that turn goes on, in milliseconds of the system's monotonic clock.
    look_at_ms: i64,
    /// Number of leases of connections that have been renewed.
    pub(crate) renewed_leases: u64,
    /// What the host's stopwatch showed at this instant, and when it was read last, in nanoseconds.
    instant_ns: u64,
    reading_ns: u64,
    /// Nanoseconds that the running command has asked the whole server to sleep for, after it ends.
    sleep_ns: u64,
    /// The instant is stale, or may be.
    stale: bool,
    /// A request has been run at this instant.
    has_run: bool,
    /// When the last request before this instant ended, by the system's monotonic clock in microseconds.
    quiet_since_us: u64,
    /// How many requests have come, and the client that has sent the last.
    requests: u64,
    last_caller: u64,
}

impl EngineTime {
    /// Begins at an instant of the system's clocks.
    pub(crate) fn new(clock: Clock, system: Now) -> Self {
        let now = clock.read(system);
        EngineTime {
            clock,
            now,
            system,
            started: system,
            timers: Timers::default(),
            shared: SharedClock::default(),
            planned: PlannedTurns::default(),
            left_turns: LeftTurns::default(),
            amid: None,
            is_behind: false,
            resets: 0,
            look_at_ms: 0,
            renewed_leases: 0,
            instant_ns: 0,
            reading_ns: 0,
            sleep_ns: 0,
            stale: false,
            has_run: false,
            quiet_since_us: system.monotonic_us,
            requests: 0,
            last_caller: 0,
        }
    }

    /// The rule by which deadlines are over at the present instant.
    #[inline]
    pub(super) fn over(&self) -> Over {
        self.amid.unwrap_or_else(|| self.clock.over())
    }

    /// Whether a turn has stopped amid an instant, and fires what is due there when it goes on.
    #[inline]
    pub(super) fn is_amid_turn(&self) -> bool {
        self.amid.is_some()
    }

    /// The rule by which a turn that has stopped amid an instant fires what is over there, if one has.
    pub(super) fn amid(&self) -> Option<Over> {
        self.amid
    }

    /// Number of times that the clocks began anew.
    pub(super) fn resets(&self) -> u64 {
        self.resets
    }

    /// The clocks that are shared began anew so many times.
    pub(super) fn set_resets(&mut self, resets: u64) {
        self.resets = resets;
    }

    /// When to look whether a turn that has stopped amid an instant goes on, in microseconds of the system's monotonic
    /// clock.
    pub(super) fn look_at_us(&self) -> u64 {
        self.look_at_ms.unsigned_abs().saturating_mul(1000)
    }

    /// Whether that time has come; if so, the next look is due later.
    pub(super) fn looks_at_turn(&mut self) -> bool {
        let is_due = self.is_amid_turn() && self.look_at_ms <= self.system.monotonic_ms();
        if is_due {
            self.look_later();
        }
        is_due
    }

    /// A turn has stopped: amid an instant, where deadlines are over by this rule, or not.
    pub(super) fn stop_turn(&mut self, amid: Option<Over>) {
        self.amid = amid;
        self.look_later();
    }

    fn look_later(&mut self) {
        self.look_at_ms = self.system.monotonic_ms().saturating_add(LOOK_MS);
    }

    /// Goes on at an instant of the system's clocks, at which the stopwatch shows `reading_ns`.
    #[inline]
    pub(crate) fn go_on_at(&mut self, system: Now, reading_ns: u64) {
        if std::mem::take(&mut self.has_run) {
            let ran_ns = self.reading_ns.saturating_sub(self.instant_ns);
            self.quiet_since_us = self.system.monotonic_us + ran_ns / 1000;
        }
        self.system = system;
        self.now = self.clock.read(system);
        (self.instant_ns, self.reading_ns) = (reading_ns, reading_ns);
        self.stale = false;
    }

    /// A request of this client is about to run.
    #[inline]
    pub(crate) fn note_request(&mut self, client: u64) {
        self.has_run = true;
        self.requests += 1;
        self.last_caller = client;
    }

    /// How many requests have come, and the client that has sent the last.
    pub(crate) fn last_request(&self) -> (u64, u64) {
        (self.requests, self.last_caller)
    }

    /// When the last request before this instant ended, by the system's monotonic clock in microseconds.
    pub(crate) fn quiet_since_us(&self) -> u64 {
        self.quiet_since_us
    }

    /// Begins the clocks as at the start; the monotonic one continues from where it is.
    pub(crate) fn reset(&mut self, at_start: &Clock) {
        self.left_turns.turns.clear();
        (self.amid, self.is_behind) = (None, false);
        self.resets += 1;
        self.clock.restart(at_start, self.system);
        self.now = self.clock.read(self.system);
    }

    /// The last reading of the stopwatch, in nanoseconds: when the next command begins.
    #[inline]
    pub(crate) fn reading_ns(&self) -> u64 {
        self.reading_ns
    }

    /// Takes a reading of the stopwatch at the end of a command that began at `began_ns`. How long it took, in
    /// nanoseconds.
    #[inline]
    pub(crate) fn lap(&mut self, began_ns: u64, reading_ns: u64) -> u64 {
        self.reading_ns = reading_ns;
        reading_ns.saturating_sub(began_ns).saturating_add(std::mem::take(&mut self.sleep_ns))
    }

    /// The running command makes the whole server sleep: that counts as its own time.
    pub(crate) fn sleep(&mut self, us: u64) {
        self.sleep_ns = us.saturating_mul(1000);
    }

    /// The last step may have taken long, though no reading shows it yet.
    pub(crate) fn grow_stale(&mut self) {
        self.stale = true;
    }

    /// Whether the instant is to be read again before the next command.
    #[inline]
    pub(crate) fn take_stale(&mut self) -> bool {
        std::mem::take(&mut self.stale) || self.reading_ns.wrapping_sub(self.instant_ns) >= FRESH_NS
    }
}

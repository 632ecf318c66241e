//! The instant at which the engine is.

use super::planned_turns::PlannedTurns;
use super::shared_clock::SharedClock;
use crate::time::{Clock, Now};
use crate::timers::Timers;

/// How old the instant of a batch may grow, in nanoseconds: with what a command takes, it is less than a millisecond.
const FRESH_NS: u64 = 500_000;

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
        reading_ns.saturating_sub(began_ns) + std::mem::take(&mut self.sleep_ns)
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

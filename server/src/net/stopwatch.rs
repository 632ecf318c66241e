//! The clock that measures commands: the processor's own counter, if it is reliable.

use quanta::Clock;

/// A clock to read after each command, twice as fast as the system's. It may drift from that by some millionths.
#[derive(Clone, Debug)]
pub(super) struct Stopwatch {
    clock: Clock,
    start: u64,
}

impl Stopwatch {
    /// Starts a stopwatch at 0. Calibrating the processor's counter takes half a millisecond, once in a process.
    pub(super) fn new() -> Self {
        let clock = Clock::new();
        Stopwatch { start: clock.raw(), clock }
    }

    /// Returns the name of the underlying clock, for people.
    pub(super) fn kind(&self) -> &'static str {
        // The processor's counter ticks in its own units, the system's clock in nanoseconds.
        if self.clock.delta_as_nanos(0, 1 << 20) == 1 << 20 { "POSIX clock_gettime" } else { "X86 TSC" }
    }

    #[inline]
    pub(super) fn ns(&self) -> u64 {
        self.clock.delta_as_nanos(self.start, self.clock.raw())
    }
}

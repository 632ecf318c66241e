//! What measures commands: the processor's own counter, where it can be relied upon.

use quanta::Clock;

/// A clock that is read after each command. Reading it takes half as long as reading the system's; it runs beside that
/// and may drift away from it by some millionths.
#[derive(Clone, Debug)]
pub(super) struct Stopwatch {
    clock: Clock,
    start: u64,
}

impl Stopwatch {
    /// Stands at 0. Finding out how fast the processor counts takes half a millisecond, once in a process.
    pub(super) fn new() -> Self {
        let clock = Clock::new();
        Stopwatch { start: clock.raw(), clock }
    }

    /// Nanoseconds since it was made.
    #[inline]
    pub(super) fn ns(&self) -> u64 {
        self.clock.delta_as_nanos(self.start, self.clock.raw())
    }
}

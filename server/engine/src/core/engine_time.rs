//! The instant at which the engine is.

use crate::time::{Clock, Now};

/// The instant of the present batch, on both sides of the clock that a test turns.
#[derive(Debug)]
pub(crate) struct EngineTime {
    /// The two hands that a test turns.
    pub(crate) clock: Clock,
    /// The instant as the hands show it.
    pub(crate) now: Now,
    /// The same instant by the system's clocks.
    pub(crate) system: Now,
    /// The system's instant at the start.
    pub(crate) started: Now,
}

impl EngineTime {
    /// Begins at an instant of the system's clocks.
    pub(crate) fn new(clock: Clock, system: Now) -> Self {
        EngineTime { now: clock.read(system), clock, system, started: system }
    }

    /// Goes on at an instant of the system's clocks.
    #[inline]
    pub(crate) fn go_on_at(&mut self, system: Now) {
        self.system = system;
        self.now = self.clock.read(system);
    }
}

//! The system's clocks.

use lockwheel_store::time::Now;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A reader of the system's clocks. Its monotonic clock starts at 0 at creation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OsClock {
    start: Instant,
}

impl OsClock {
    pub(crate) fn new() -> Self {
        OsClock { start: Instant::now() }
    }

    /// Returns the microseconds since an earlier reading.
    pub(crate) fn us_since(&self, then: Now) -> u64 {
        (self.start.elapsed().as_micros() as u64).saturating_sub(then.monotonic_us)
    }

    pub(crate) fn now(&self) -> Now {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Now { wall_us: wall.as_micros() as i64, monotonic_us: self.start.elapsed().as_micros() as u64 }
    }
}

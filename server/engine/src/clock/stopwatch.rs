//! Readings of the host's stopwatch, which measure the duration of commands and the age of a batch's instant.

/// The maximum age of a batch's instant, in nanoseconds. With the duration of a command, it stays below a millisecond.
const FRESH_NS: u64 = 500_000;

/// Readings of the host's stopwatch, in nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Stopwatch {
    /// The reading at the instant of the batch.
    instant_ns: u64,
    /// The last reading, at which the next command begins.
    reading_ns: u64,
    /// The time for which the running command makes the whole server sleep after it, in nanoseconds.
    sleep_ns: u64,
    /// Whether the instant may be stale although no reading shows it yet.
    is_stale: bool,
}

impl Stopwatch {
    /// Records the reading at the instant of a batch.
    #[inline]
    pub(super) fn begin(&mut self, reading_ns: u64) {
        (self.instant_ns, self.reading_ns) = (reading_ns, reading_ns);
        self.is_stale = false;
    }

    /// Returns the time that the batch has run, in microseconds.
    #[inline]
    pub(super) fn ran_us(&self) -> u64 {
        self.reading_ns.saturating_sub(self.instant_ns) / 1000
    }

    /// Returns the last reading, in nanoseconds.
    #[inline]
    pub(super) fn reading_ns(&self) -> u64 {
        self.reading_ns
    }

    /// Records the reading at the end of a command that began at `began_ns`. Returns its duration, in nanoseconds.
    #[inline]
    pub(super) fn lap(&mut self, began_ns: u64, reading_ns: u64) -> u64 {
        self.reading_ns = reading_ns;
        reading_ns.saturating_sub(began_ns).saturating_add(std::mem::take(&mut self.sleep_ns))
    }

    /// Records that the running command makes the whole server sleep, which counts as its own time.
    pub(super) fn sleep(&mut self, us: u64) {
        self.sleep_ns = us.saturating_mul(1000);
    }

    /// Records that the last step may have taken long.
    pub(super) fn grow_stale(&mut self) {
        self.is_stale = true;
    }

    /// Whether the instant is to be read again before the next command.
    #[inline]
    pub(super) fn take_stale(&mut self) -> bool {
        std::mem::take(&mut self.is_stale) || self.reading_ns.wrapping_sub(self.instant_ns) >= FRESH_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_becomes_stale_by_readings_or_slow_work() {
        let mut stopwatch = Stopwatch::default();
        stopwatch.begin(1000);
        assert_eq!(stopwatch.lap(1000, 3000), 2000);
        assert_eq!((stopwatch.ran_us(), stopwatch.take_stale()), (2, false));
        stopwatch.grow_stale();
        assert!(stopwatch.take_stale() && !stopwatch.take_stale());
        stopwatch.sleep(5);
        assert_eq!(stopwatch.lap(3000, 1000 + FRESH_NS), FRESH_NS - 2000 + 5000);
        assert!(stopwatch.take_stale());
    }
}

//! The slices of the work: they are short, and a test can have pauses between them.

use super::super::engine::{Engine, Host};
use std::sync::Arc;

/// The longest slice, in nanoseconds.
const SLICE_NS: u64 = 500_000;

/// A slice of the work.
pub(super) struct Slice {
    host: Option<Arc<dyn Host>>,
    began_ns: u64,
    /// `key-load-delay`.
    delay_us: i64,
    keys: u64,
    /// The pause after the slice, in microseconds.
    pub(super) pause_us: u64,
}

impl Slice {
    pub(super) fn begin(engine: &Engine) -> Self {
        let host = engine.environment.host.clone();
        let began_ns = engine.environment.stopwatch_ns();
        Slice { host, began_ns, delay_us: engine.config.saves.load_delay_us, keys: 0, pause_us: 0 }
    }

    /// Records a key or a request. Whether the slice is over.
    pub(super) fn is_over(&mut self) -> bool {
        self.keys += 1;
        // As in Redis, a negative delay is a pause of a microsecond after so many keys.
        self.pause_us = match self.delay_us {
            0 => 0,
            delay_us if delay_us > 0 => delay_us.unsigned_abs(),
            interval => u64::from(self.keys.is_multiple_of(interval.unsigned_abs())),
        };
        let now_ns = self.host.as_ref().map_or(0, |host| host.stopwatch_ns());
        self.pause_us > 0 || now_ns.saturating_sub(self.began_ns) >= SLICE_NS
    }
}

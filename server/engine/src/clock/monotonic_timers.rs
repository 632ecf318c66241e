//! The timers of the monotonic clock, for a part that sets its own.

use super::timers::{Timer, TimerKey, TimerKind, Timers};
use lockwheel_store::keyspace::Keyspace;

pub(crate) struct MonotonicTimers<'e> {
    timers: &'e mut Timers,
    /// The source of the order among all deadlines.
    keyspace: &'e mut Keyspace,
    /// The present instant in milliseconds.
    now_ms: i64,
}

impl<'e> MonotonicTimers<'e> {
    /// Returns the timers at an instant of the monotonic clock in milliseconds.
    pub(crate) fn new(now_ms: i64, timers: &'e mut Timers, keyspace: &'e mut Keyspace) -> Self {
        MonotonicTimers { timers, keyspace, now_ms }
    }

    /// Returns the instant `ms` milliseconds from now.
    pub(crate) fn instant_in(&self, ms: u64) -> i64 {
        self.now_ms.saturating_add_unsigned(ms)
    }

    /// Sets a timer of a client, or of the server (0), that is due in `ms` milliseconds, after all others then. O(1).
    pub(crate) fn set(&mut self, kind: TimerKind, client: u64, ms: u64) -> TimerKey {
        let timer = Timer { kind, client, order: self.keyspace.next_order() };
        self.timers.insert(timer, self.instant_in(ms))
    }

    /// Cancels a timer, if there is one. O(1).
    pub(crate) fn cancel(&mut self, timer: Option<TimerKey>) {
        timer.into_iter().for_each(|timer| self.timers.cancel(timer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_due_after_its_time_and_in_order() {
        let (mut timers, mut keyspace) = (Timers::default(), Keyspace::new(1, 7));
        let mut monotonic = MonotonicTimers::new(5, &mut timers, &mut keyspace);
        let first = monotonic.set(TimerKind::Cluster, 0, 10);
        monotonic.set(TimerKind::Sentinel, 0, 10);
        monotonic.cancel(Some(first));
        monotonic.cancel(None);
        monotonic.set(TimerKind::Cluster, 0, 10);
        let due = || timers.pop_due(false, 15).map(|timer| timer.kind);
        assert!(std::iter::from_fn(due).eq([TimerKind::Sentinel, TimerKind::Cluster]));
        let mut at_end = MonotonicTimers::new(i64::MAX, &mut timers, &mut keyspace);
        at_end.set(TimerKind::Cluster, 0, 10);
        assert_eq!(timers.first().map(|(at_ms, _)| at_ms), Some(i64::MAX));
    }
}

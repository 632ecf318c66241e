//! The timer of the periodic replication checks, in real time. Only links between processes need them.

use crate::clock::{Timer, TimerKey, TimerKind, Timers};
use lockwheel_store::keyspace::Order;

/// The time between two checks, in milliseconds.
const PERIOD_MS: i64 = 1000;

/// The timer of the next check, and its due time in real monotonic milliseconds.
#[derive(Debug, Default)]
pub(crate) struct ReplicationTimer(Option<(TimerKey, i64)>);

impl ReplicationTimer {
    /// Schedules a check of both sides within a second from this instant. `order` is its order among all deadlines.
    pub(crate) fn set(&mut self, now_ms: i64, timers: &mut Timers, order: impl FnOnce() -> Order) {
        let in_ms = now_ms + PERIOD_MS;
        if let Some((timer, due_ms)) = self.0 {
            if due_ms <= in_ms {
                return;
            }
            timers.cancel(timer);
        }
        let timer = Timer { kind: TimerKind::Replication, client: 0, order: order() };
        self.0 = Some((timers.insert(timer, in_ms), in_ms));
    }

    /// Stops the periodic checks.
    pub(crate) fn cancel(&mut self, timers: &mut Timers) {
        if let Some((timer, _)) = self.0.take() {
            timers.cancel(timer);
        }
    }

    /// Forgets a timer that has fired.
    pub(crate) fn expire(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwheel_store::keyspace::Keyspace;

    /// A timer, its timer wheel, and the source of the order.
    struct Fixture(ReplicationTimer, Timers, Keyspace);

    impl Fixture {
        fn new() -> Self {
            Fixture(ReplicationTimer::default(), Timers::default(), Keyspace::new(1, 7))
        }

        fn set(&mut self, now_ms: i64) {
            let Fixture(timer, timers, keyspace) = self;
            timer.set(now_ms, timers, || keyspace.next_order());
        }

        fn fires(&mut self, until_ms: i64) -> bool {
            let timer = self.1.pop_due(true, until_ms);
            timer.is_some_and(|timer| timer.kind == TimerKind::Replication)
        }
    }

    #[test]
    fn repeated_requests_schedule_one_check_within_a_second() {
        let mut fixture = Fixture::new();
        [5000, 5500].into_iter().for_each(|now_ms| fixture.set(now_ms));
        assert_eq!(fixture.1.count(TimerKind::Replication), 1);
        assert!(!fixture.fires(5999) && fixture.fires(6000));
        fixture.0.expire();
        fixture.set(6000);
        assert!(!fixture.fires(6999) && fixture.fires(7000));
    }

    #[test]
    fn an_earlier_check_replaces_a_later_one() {
        let mut fixture = Fixture::new();
        [5000, 3000].into_iter().for_each(|now_ms| fixture.set(now_ms));
        assert_eq!(fixture.1.count(TimerKind::Replication), 1);
        assert!(fixture.fires(4000) && !fixture.fires(9000));
    }

    #[test]
    fn a_cancelled_check_does_not_fire() {
        let mut fixture = Fixture::new();
        fixture.set(5000);
        let Fixture(timer, timers, _) = &mut fixture;
        (0..2).for_each(|_| timer.cancel(timers));
        assert_eq!(fixture.1.count(TimerKind::Replication), 0);
        assert!(!fixture.fires(9000));
    }
}

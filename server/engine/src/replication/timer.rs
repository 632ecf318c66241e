//! The timer by which both parts of replication are looked at, in real time: for links between processes. Servers that
//! share a process need none of it.

use crate::clock::{Timer, TimerKey, TimerKind, Timers};
use lockwheel_store::keyspace::Order;

/// The time between two looks, in milliseconds.
const PERIOD_MS: i64 = 1000;

/// The timer of the next look, and when it is due, in real monotonic milliseconds.
#[derive(Debug, Default)]
pub(crate) struct ReplicationTimer(Option<(TimerKey, i64)>);

impl ReplicationTimer {
    /// Lets both parts be looked at within a second from this instant, in this order among all deadlines.
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

    /// Ends the looks at both parts.
    pub(crate) fn cancel(&mut self, timers: &mut Timers) {
        if let Some((timer, _)) = self.0.take() {
            timers.cancel(timer);
        }
    }

    /// Forgets the timer: it has fired.
    pub(crate) fn expire(&mut self) {
        self.0 = None;
    }
}

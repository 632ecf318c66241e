//! The engine's own timers, by kind. They end waits, close idle or slow clients, end faults, and more.

use lockwheel_store::keyspace::Order;
use lockwheel_store::time::{TimerId, Wheel};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TimerKind {
    /// A wait ends, on the monotonic clock.
    #[default]
    Wait,
    /// A wait ends, in real time.
    RealWait,
    /// The wait of a ticket ends; `client` is the ticket.
    Ticket,
    /// A client that has been idle is closed, on the monotonic clock.
    Idle,
    /// A client's leases are renewed, on the monotonic clock.
    Lease,
    /// A client whose output has exceeded the soft limit is closed, in real time.
    Output,
    /// A request or a reply that is held continues, on the monotonic clock.
    Delay,
    /// A frozen client is thawed, on the monotonic clock.
    Thaw,
    /// A connection that loses all data is cut, on the monotonic clock.
    Cut,
    /// The pause of clients ends, on the monotonic clock.
    Pause,
    /// The time limit for handing over the master's role ends, on the monotonic clock.
    Failover,
    /// The delay of a lock's grant ends, on the monotonic clock.
    GrantDelay,
    /// A server that has restarted lets clients in again, on the monotonic clock.
    Restart,
    /// Bytes arrive from another server of this process, on the monotonic clock.
    Arrival,
    /// A sentinel does its periodic work, on the monotonic clock.
    Sentinel,
    /// A cluster node does its periodic work, on the monotonic clock.
    Cluster,
    /// A background save begins or continues, in real time.
    Save,
    /// Replication does its periodic work, in real time.
    Replication,
    /// A server that shuts down stops waiting for its replicas, in real time.
    Shutdown,
    /// An advance of the clock whose client has gone continues, in real time; `client` is the number of the advance.
    Advance,
}

impl TimerKind {
    const COUNT: usize = TimerKind::Advance as usize + 1;

    /// Whether the timer runs in real time rather than on the monotonic clock that a test moves.
    pub(crate) fn is_real(self) -> bool {
        matches!(
            self,
            TimerKind::RealWait
                | TimerKind::Output
                | TimerKind::Save
                | TimerKind::Replication
                | TimerKind::Shutdown
                | TimerKind::Advance
        )
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timer {
    pub(crate) kind: TimerKind,
    pub(crate) client: u64,
    pub(crate) order: Order,
}

/// The key of a timer, until it is cancelled or has fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimerKey {
    kind: TimerKind,
    id: TimerId,
}

/// All timers of an engine. Timers with the same deadline fire in the order of their creation.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    monotonic: Wheel<Timer>,
    real: Wheel<Timer>,
    counts: [usize; TimerKind::COUNT],
}

impl Timers {
    fn wheel(&mut self, real: bool) -> &mut Wheel<Timer> {
        if real { &mut self.real } else { &mut self.monotonic }
    }

    /// Adds a timer that is due at `deadline_ms` of its clock. O(1).
    pub(crate) fn insert(&mut self, timer: Timer, deadline_ms: i64) -> TimerKey {
        self.counts[timer.kind as usize] += 1;
        TimerKey { kind: timer.kind, id: self.wheel(timer.kind.is_real()).insert(deadline_ms, timer) }
    }

    /// Cancels a timer that has not fired. O(1).
    pub(crate) fn cancel(&mut self, key: TimerKey) {
        self.counts[key.kind as usize] -= 1;
        self.wheel(key.kind.is_real()).cancel(key.id);
    }

    /// Returns the first deadline in real time or on the monotonic clock, in milliseconds. O(1) amortised.
    pub(crate) fn next_deadline(&mut self, real: bool) -> Option<i64> {
        self.wheel(real).next_deadline()
    }

    /// Returns the first timer on the monotonic clock, with its deadline in milliseconds. O(1) amortised.
    pub(crate) fn first(&mut self) -> Option<(i64, Timer)> {
        self.monotonic.peek()
    }

    /// Removes the first timer of this kind of clock that is due at `until_ms`. O(1) amortised.
    pub(crate) fn pop_due(&mut self, real: bool, until_ms: i64) -> Option<Timer> {
        let timer = self.wheel(real).pop_due(until_ms)?.payload;
        self.counts[timer.kind as usize] -= 1;
        Some(timer)
    }

    pub(crate) fn count(&self, kind: TimerKind) -> usize {
        self.counts[kind as usize]
    }

    /// Returns the number of timers on the monotonic clock.
    pub(crate) fn on_monotonic(&self) -> usize {
        self.monotonic.len()
    }
}

//! Events at deadlines, and their form in the reply to an advance of the clock.

use super::timers::{Timer, TimerKind};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::KeyTimer;

/// An event at a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fired<'a> {
    /// A key expired.
    Expiry(&'a [u8]),
    /// Fields of a hash expired.
    Fields(&'a [u8]),
    /// Another timer of a key was due. `shown` is the name of the key as users know it.
    KeyTimer {
        timer: KeyTimer,
        db: usize,
        key: &'a [u8],
        shown: &'a [u8],
    },
    /// The wait of a client ended.
    Timeout(u64),
    /// The wait of a ticket has timed out.
    Ticket(u64),
    /// A client was idle for too long.
    Idle(u64),
    /// The leases of a client were renewed.
    Renewal(u64),
    /// The fault of a client ended: a delay, a freeze or a loss of the connection.
    Fault(u64),
    PauseEnd,
    /// The time limit for handing over the master's role ended.
    Failover,
    GrantDelay,
    /// The server let clients in again.
    Restart,
    /// Bytes have arrived from another server of this process.
    Arrival,
    /// A sentinel has done its periodic work.
    Sentinel,
    /// A cluster node has done its periodic work.
    Cluster,
}

impl Fired<'_> {
    /// Returns the event of a timer on the monotonic clock.
    pub(crate) fn of(timer: Timer) -> Self {
        match timer.kind {
            TimerKind::Ticket => Fired::Ticket(timer.client),
            TimerKind::Idle => Fired::Idle(timer.client),
            TimerKind::Lease => Fired::Renewal(timer.client),
            TimerKind::Delay | TimerKind::Thaw | TimerKind::Cut => Fired::Fault(timer.client),
            TimerKind::Pause => Fired::PauseEnd,
            TimerKind::Failover => Fired::Failover,
            TimerKind::GrantDelay => Fired::GrantDelay,
            TimerKind::Restart => Fired::Restart,
            TimerKind::Arrival => Fired::Arrival,
            TimerKind::Sentinel => Fired::Sentinel,
            TimerKind::Cluster => Fired::Cluster,
            // Only `Wait` runs on the monotonic clock. The others run in real time and do not come here.
            TimerKind::Wait
            | TimerKind::RealWait
            | TimerKind::Output
            | TimerKind::Save
            | TimerKind::Replication
            | TimerKind::Shutdown
            | TimerKind::Advance => Fired::Timeout(timer.client),
        }
    }

    /// Returns the form for a reply.
    pub(super) fn shown(self) -> ShownFired {
        match self {
            Fired::Expiry(key) => ShownFired::Key("expiry", key.into()),
            Fired::Fields(key) => ShownFired::Key("fields", key.into()),
            Fired::KeyTimer { timer: KeyTimer::Lease, key, .. } => ShownFired::Key("lease", key.into()),
            Fired::KeyTimer { timer: KeyTimer::Jeopardy, shown, .. } => {
                ShownFired::Key("jeopardy", shown.into())
            }
            Fired::KeyTimer { timer: KeyTimer::Retry, shown, .. } => ShownFired::Key("retry", shown.into()),
            Fired::Timeout(client) => ShownFired::Client("timeout", client),
            Fired::Ticket(ticket) => ShownFired::Client("ticket", ticket),
            Fired::Idle(client) => ShownFired::Client("idle", client),
            Fired::Renewal(client) => ShownFired::Client("renewal", client),
            Fired::Fault(client) => ShownFired::Client("fault", client),
            Fired::PauseEnd => ShownFired::Client("pause", 0),
            Fired::Failover => ShownFired::Client("failover", 0),
            Fired::GrantDelay => ShownFired::Client("handoff", 0),
            Fired::Restart => ShownFired::Client("restart", 0),
            Fired::Arrival => ShownFired::Client("arrival", 0),
            Fired::Sentinel => ShownFired::Client("sentinel", 0),
            Fired::Cluster => ShownFired::Client("cluster", 0),
        }
    }
}

/// A fired deadline in its form for a reply: the kind, and the key or the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShownFired {
    Key(&'static str, Box<[u8]>),
    Client(&'static str, u64),
}

impl ShownFired {
    pub(super) fn write(&self, reply: &mut dyn Reply) {
        reply.array(2);
        match self {
            ShownFired::Key(kind, key) => {
                reply.bulk(kind.as_bytes());
                reply.bulk(key);
            }
            ShownFired::Client(kind, client) => {
                reply.bulk(kind.as_bytes());
                reply.integer(*client as i64);
            }
        }
    }
}

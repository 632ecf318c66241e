//! Events at deadlines, and the form in which an advance of the clock shows them.

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
    /// Something else about a key of a database was due. `shown` is the name that users know it by.
    KeyTimer { timer: KeyTimer, db: usize, key: &'a [u8], shown: &'a [u8] },
    /// The wait of a client ended.
    Timeout(u64),
    /// The wait of a ticket has timed out.
    Ticket(u64),
    /// A client had been idle for too long.
    Idle(u64),
    /// The leases of a client were renewed.
    Renewal(u64),
    /// A fault of a client ended: what was delayed goes on, what was frozen thaws, what was lost is cut.
    Fault(u64),
    /// Clients were no longer paused.
    PauseEnd,
    /// The time was over in which the master's part was handed over.
    Failover,
    /// The waiters of a lock were held back no longer.
    GrantDelay,
    /// The server let clients in again.
    Restart,
    /// Something has arrived from another server of this process.
    Arrival,
    /// A sentinel has looked at what it watches.
    Sentinel,
    /// A node of a cluster has looked at the others.
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
            // Timers in real time are not among them.
            TimerKind::Wait
            | TimerKind::RealWait
            | TimerKind::Output
            | TimerKind::Save
            | TimerKind::Replication
            | TimerKind::Shutdown
            | TimerKind::Advance => Fired::Timeout(timer.client),
        }
    }

    /// Returns the form in which a reply shows it.
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

/// A fired deadline as a reply shows it: its kind, and the key or the client that it belonged to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShownFired {
    Key(&'static str, Box<[u8]>),
    Client(&'static str, u64),
}

impl ShownFired {
    /// Writes it.
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

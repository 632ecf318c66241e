//! The state of a master's part that is handed over to one of its replicas (FAILOVER).

use crate::clock::TimerKey;

/// The progress of a hand-over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CoordinatedFailoverState {
    /// Nothing is written any more; the heir is to say that it has everything.
    WaitsForSync,
    /// The server is a replica of the heir, which is to become a master.
    InProgress,
}

/// The hand-over of a master's part.
#[derive(Debug)]
pub(super) struct CoordinatedFailover {
    /// Its progress.
    pub(super) state: CoordinatedFailoverState,
    /// The heir's address; none: whoever has everything first.
    pub(super) to: Option<(String, u16)>,
    /// When its time is over the heir takes over with what it has; otherwise the master stays the master.
    pub(super) is_forced: bool,
    /// The timer that ends its time, if it has not as long as it needs.
    pub(super) timeout: Option<TimerKey>,
}

/// The next step in handing a master's part over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FailoverEffect {
    /// The server becomes a replica of the heir at this address.
    Follow { host: String, port: u16 },
    /// The hand-over has ended: paused clients go on. `unfollows`: the server is a replica of the heir and stays the
    /// master.
    End { unfollows: bool },
}

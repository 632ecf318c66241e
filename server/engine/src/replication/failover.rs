//! The state of a coordinated failover: a master hands its role over to a replica (FAILOVER).

use crate::clock::TimerKey;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CoordinatedFailoverState {
    /// No client can write; the successor must still acknowledge the whole stream.
    WaitsForSync,
    /// The server is a replica of the successor, which is to become a master.
    InProgress,
}

#[derive(Debug)]
pub(super) struct CoordinatedFailover {
    pub(super) state: CoordinatedFailoverState,
    /// The address of the successor. `None`: the first replica that has the whole stream.
    pub(super) to: Option<(String, u16)>,
    /// Whether the successor takes over when the time is over, or else the master stays the master.
    pub(super) is_forced: bool,
    /// The timer that limits the failover. `None`: there is no limit.
    pub(super) timeout: Option<TimerKey>,
}

/// The next step of a failover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FailoverEffect {
    /// The server becomes a replica of the successor at this address.
    Follow { host: String, port: u16 },
    /// The failover has ended, and paused clients resume. `unfollows`: the server is the master again.
    End { unfollows: bool },
}

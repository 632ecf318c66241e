//! A master's part is handed over to one of its replicas (FAILOVER).

use crate::clock::TimerKey;

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoordinatedFailoverState {
    /// Nothing is written any more; the heir is to say that it has everything.
    WaitsForSync,
    /// The server is a replica of the heir, which is to become a master.
    InProgress,
}

impl CoordinatedFailoverState {
    /// As INFO names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CoordinatedFailoverState::WaitsForSync => "waiting-for-sync",
            CoordinatedFailoverState::InProgress => "failover-in-progress",
        }
    }
}

/// What is handed over to whom.
#[derive(Debug)]
pub(crate) struct CoordinatedFailover {
    /// How far it is.
    pub(crate) state: CoordinatedFailoverState,
    /// The heir's address; none: whoever has everything first.
    pub(crate) to: Option<(String, u16)>,
    /// When its time is over the heir takes over with what it has; otherwise the master stays the master.
    pub(crate) is_forced: bool,
    /// The timer that ends its time, if it has not as long as it needs.
    pub(crate) timeout: Option<TimerKey>,
}

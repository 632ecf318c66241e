//! What a client asks that servers of one process do together, and what it is answered.

use super::faults::NodeFault;
use crate::locks::MergingHistory;

/// What is answered where a server is named.
pub(crate) const ALONE: &str = "ERR this server is by itself: there are no others in its process";
/// What is answered to who would kill the last server.
pub(crate) const LAST: &str = "ERR no other server is left that could be asked to bring it back";
pub(crate) const NO_SUCH_SERVER: &str = "ERR there is no such server in this topology: *";

/// A request of a client to all servers of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TogetherId {
    pub(crate) client: u64,
    /// Its number among those that clients of the same server have made.
    pub(super) number: u64,
}

/// What a client asks of all servers.
#[derive(Debug)]
pub(crate) enum Together {
    /// A fault of some of them, or between them.
    Fault(NodeFault),
    /// What a command says of the history of locks, of all of them.
    History,
    /// What is due next on the clock of all, and how much.
    Clock,
}

/// What a request to all servers is answered.
#[derive(Debug)]
pub(crate) enum TogetherAnswer {
    /// It is done.
    Ok,
    /// It concerns so many.
    Count(usize),
    /// What the command says of this history of locks; none: of its own, which is off.
    History(Option<MergingHistory>),
    /// In how many milliseconds something is due next, and how much is pending.
    Clock(Option<i64>, usize),
}

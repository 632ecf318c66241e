//! Requests of clients that all servers of the process carry out, and their answers.

use crate::faults::NodeFault;
use crate::locks::MergingHistory;

/// The error where a server is named.
pub(crate) const ALONE: &str = "ERR this server is by itself: there are no others in its process";
/// The error for a request that would kill the last server.
pub(crate) const LAST: &str = "ERR no other server is left that could be asked to bring it back";
pub(crate) const NO_SUCH_SERVER: &str = "ERR there is no such server in this topology: *";

/// A request of a client to all servers of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BroadcastId {
    pub(crate) client: u64,
    /// Its number among those that clients of the same server have made.
    pub(crate) number: u64,
}

/// A request for all servers of the process.
#[derive(Debug)]
pub(crate) enum Broadcast {
    /// A fault of some of them, or between them.
    Fault(NodeFault),
    /// The history of locks of all of them, which a command reads.
    History,
    /// The next deadline on the clock of all, and how many are pending.
    Clock,
}

/// The answer to such a request.
#[derive(Debug)]
pub(crate) enum BroadcastAnswer {
    /// It is done.
    Ok,
    /// It concerns so many.
    Count(usize),
    /// The history of locks that the command reads. `None`: that of its own server, which is off.
    History(Option<MergingHistory>),
    /// The milliseconds until the next deadline, and how many are pending.
    Clock(Option<i64>, usize),
}

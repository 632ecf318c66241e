//! What a test does to servers that share a process.

use super::partition::Link;

/// Whether the numbers of grants begin anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrantNumbers {
    /// They go on.
    GoOn,
    /// They begin anew.
    Restart,
}

/// Whether the data of a server that is killed stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataFate {
    /// They are gone, as with a process that has kept nothing.
    Lost,
    /// They stay, with all that replicas have to go on from.
    Kept,
}

/// A fault of servers that share a process, each by its place.
#[derive(Debug)]
pub(crate) enum NodeFault {
    /// One is killed, and comes back after so many milliseconds, if it does; with its data or without.
    Down { node: usize, ms: Option<u64>, data: DataFate },
    /// One that was killed comes back.
    Up { node: usize },
    /// Replicas are told everything so many milliseconds later; none: never.
    Lag { ms: Option<u64> },
    /// A replica takes over as it is: this one, or the first that can.
    FailOver { node: Option<usize>, numbers: GrantNumbers },
    /// Some are cut off.
    Part { nodes: Vec<usize>, from: Apart, link: Link },
    /// All partitions end.
    Heal,
}

/// From whom servers are cut off.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Apart {
    /// From these servers.
    Nodes(Vec<usize>),
    /// From all others.
    Others,
    /// From their clients.
    Clients,
}

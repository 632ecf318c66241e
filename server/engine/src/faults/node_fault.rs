//! Faults of servers that share a process.

use super::partition::Link;

/// Whether grant numbers start again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrantNumbers {
    /// The numbers continue.
    GoOn,
    /// The numbers start again.
    Restart,
}

/// Whether the data of a killed server are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataFate {
    /// The data are lost, as with a process that has stored nothing.
    Lost,
    /// The data are kept, together with the state that replicas need to continue.
    Kept,
}

/// A fault of servers that share a process. Each server is named by its index.
#[derive(Debug)]
pub(crate) enum NodeFault {
    /// A server is killed, and comes back after `ms` milliseconds, or never, with or without its data.
    Down { node: usize, ms: Option<u64>, data: DataFate },
    /// A killed server comes back.
    Up { node: usize },
    /// Replicas receive every write this number of milliseconds later. `None`: never.
    Lag { ms: Option<u64> },
    /// A replica takes over as it is: the given one, or the first that can.
    FailOver { node: Option<usize>, numbers: GrantNumbers },
    /// Some servers are cut off.
    Part { nodes: Vec<usize>, from: Apart, link: Link },
    /// All partitions end.
    Heal,
}

/// The peers from which servers are cut off.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Apart {
    /// The servers with these indices.
    Nodes(Vec<usize>),
    /// All other servers.
    Others,
    Clients,
}

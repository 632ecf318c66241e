//! The parts of the engine that a CLUSTER command sees, and the effects that it asks for.

use super::gossip::GossipMessage;
use super::node::{NodeId, NodeNumber};
use super::slot_keys::SlotKeys;
use super::state::Cluster;
use crate::clients::Sessions;
use crate::config::Config;
use crate::member::TopologyMember;
use crate::spec::{Args, CommandError, CommandTable, Outcome};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::time::Now;

/// The error of a command that runs only on a node of a cluster.
pub(crate) const DISABLED: CommandError =
    CommandError::text("ERR This instance has cluster support disabled");

/// The parts of the engine that a cluster query sees.
#[derive(Clone, Copy)]
pub(crate) struct ClusterReport<'e> {
    pub(crate) cluster: &'e Cluster,
    pub(crate) config: &'e Config,
    pub(crate) keys: Option<&'e SlotKeys>,
    pub(crate) commands: &'e CommandTable,
    /// The replication offset of the data.
    pub(crate) offset: u64,
    pub(crate) now: Now,
}

/// The parts of the engine that a change of the cluster sees. The engine carries out what follows from the change.
pub(crate) struct ClusterControl<'e> {
    pub(crate) cluster: &'e mut Cluster,
    pub(crate) config: &'e Config,
    pub(crate) keyspace: &'e mut Keyspace,
    pub(crate) sessions: &'e Sessions,
    /// The node's connection to the other servers of the process.
    pub(crate) member: &'e mut TopologyMember,
    /// The id of the session that made the request.
    pub(crate) session: u64,
    /// Whether a script made the request.
    pub(crate) is_of_script: bool,
    pub(crate) now: Now,
}

pub(crate) type ClusterOutcome = Result<ClusterRequest, CommandError>;

pub(crate) type ClusterChangeHandler = fn(&mut ClusterControl<'_>, Args<'_>) -> ClusterOutcome;
pub(crate) type ClusterReportHandler = fn(ClusterReport<'_>, Args<'_>, &mut dyn Reply) -> Outcome;

#[derive(Clone, Copy, Debug)]
pub(crate) enum ClusterHandler {
    /// A handler that only reads the state.
    Report(ClusterReportHandler),
    Change(ClusterChangeHandler),
}

/// The effect that a CLUSTER command asks the engine for, besides its own change.
#[derive(Debug)]
pub(crate) enum ClusterRequest {
    /// No effect; the reply is OK.
    Done,
    /// The view has changed; the reply is OK.
    ViewChanged,
    /// The view has changed; the reply is this status.
    ViewChangedTo(String),
    /// The view has changed because a slot has arrived, which other nodes learn at once; the reply is OK.
    SlotArrived,
    /// The node becomes a replica of another node and announces it to all nodes; the reply is OK.
    Replicate(NodeNumber),
    /// The node takes over from its master.
    FailOver {
        /// Whether the failover starts without the agreement of the master, whatever data it has.
        forced: bool,
        /// Whether the node takes over without asking the masters for votes.
        takes_over: bool,
    },
    /// The node forgets the cluster. It takes the new name if one is given.
    Reset(Option<NodeId>),
    /// The view is written to its file.
    Save,
    /// Handles a message from another node. The reply is the answer to the message, if it has one.
    Hear {
        message: Box<GossipMessage>,
        /// The address of the sender; empty if it is unknown.
        ip: String,
    },
}

//! The parts that a command on the cluster sees, and what it asks for.

use super::gossip::Message;
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

/// The error of a command that only a node of a cluster can run.
pub(crate) const DISABLED: CommandError =
    CommandError::text("ERR This instance has cluster support disabled");

/// The parts of the engine that a question about the cluster sees.
#[derive(Clone, Copy)]
pub(crate) struct ClusterReport<'e> {
    /// The node.
    pub(crate) cluster: &'e Cluster,
    /// The parameters in force.
    pub(crate) config: &'e Config,
    /// The keys of each slot.
    pub(crate) keys: Option<&'e SlotKeys>,
    /// Every command.
    pub(crate) commands: &'e CommandTable,
    /// How far the data are in the stream of replication.
    pub(crate) offset: u64,
    /// The present instant.
    pub(crate) now: Now,
}

/// The parts of the engine that a change of the cluster sees. The engine follows what it has changed.
pub(crate) struct ClusterControl<'e> {
    /// The node.
    pub(crate) cluster: &'e mut Cluster,
    /// The parameters in force.
    pub(crate) config: &'e Config,
    /// The keys.
    pub(crate) keyspace: &'e mut Keyspace,
    /// The clients.
    pub(crate) sessions: &'e Sessions,
    /// The other servers of the process.
    pub(crate) member: &'e mut TopologyMember,
    /// The number of the session whose request it is.
    pub(crate) session: u64,
    /// Whether a script makes it.
    pub(crate) is_of_script: bool,
    /// The present instant.
    pub(crate) now: Now,
}

/// The end of a change of the cluster.
pub(crate) type ClusterOutcome = Result<ClusterRequest, CommandError>;

/// The handler of a command that changes the cluster.
pub(crate) type ClusterChangeHandler = fn(&mut ClusterControl<'_>, Args<'_>) -> ClusterOutcome;
/// The handler of a question about the cluster.
pub(crate) type ClusterReportHandler = fn(ClusterReport<'_>, Args<'_>, &mut dyn Reply) -> Outcome;

/// The handler of a command on the cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ClusterHandler {
    /// A handler that answers from what is known.
    Report(ClusterReportHandler),
    /// A handler that changes the cluster, and asks for more.
    Change(ClusterChangeHandler),
}

/// The effect that a command on the cluster asks for, beyond what it has changed.
#[derive(Debug)]
pub(crate) enum ClusterRequest {
    /// Nothing; the reply is OK.
    Done,
    /// The view has changed; the reply is OK.
    ViewChanged,
    /// The view has changed; the reply is this status.
    ViewChangedTo(String),
    /// The view has changed, as a slot has come, and the other nodes hear of it as soon as possible; the reply is OK.
    SlotArrived,
    /// The node becomes a replica of another, and tells all; the reply is OK.
    Replicate(NodeNumber),
    /// The node takes over from its master.
    FailOver {
        /// Whether it takes over whatever data the master has.
        forced: bool,
        /// Whether it asks no masters.
        takes_over: bool,
    },
    /// The node forgets the cluster, and takes a new name, if there is one.
    Reset(Option<NodeId>),
    /// The view is written into its file.
    Save,
    /// Another node says something; the reply is what it is answered, if anything.
    Hear {
        /// The message.
        message: Box<Message>,
        /// The address from which it comes; empty: it has none.
        ip: String,
    },
}

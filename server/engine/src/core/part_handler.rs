//! Handlers that see one part of the engine: they change it, or say what it is to do, and the rest of the engine
//! follows.

use crate::acl::{AclLog, AclView, UserEffect};
use crate::clients::Session;
use crate::cluster::ClusterHandler;
use crate::faults::{FaultControl, FaultOutcome};
use crate::member::TopologyMember;
use crate::pauses::Pauses;
use crate::replication::{Acknowledgement, ReplicaWait, Replication, ReplicationView, Requested};
use crate::shutdown::ShutdownRequest;
use crate::spec::{Args, CommandError, Outcome, TimeoutRule};
use crate::tracking::Tracking;
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Rng;
use lockwheel_store::time::Now;

/// The handler of a command that sees the users, and asks for changes of them.
pub(crate) type UsersHandler = fn(AclView<'_>, Args<'_>, &mut dyn Reply) -> Result<UserEffect, CommandError>;

/// The handler of a command that sees both parts of replication, and asks for changes of them.
pub(crate) type ReplicationHandler =
    for<'a> fn(ReplicationView<'_>, &Session, Args<'a>, &mut dyn Reply) -> Requested<'a>;
/// The handler of REPLCONF.
pub(crate) type ReplconfHandler = fn(
    &mut Replication,
    &mut Session,
    Args<'_>,
    &mut dyn Reply,
) -> Result<Option<Acknowledgement>, CommandError>;
/// The handler of a command whose client, a session of this id, waits for replicas.
pub(crate) type ReplicaWaitHandler =
    fn(ReplicationView<'_>, u64, TimeoutRule, Args<'_>) -> Result<(ReplicaWait, Option<u64>), CommandError>;

/// The client of a command on faults.
#[derive(Clone, Copy)]
pub(crate) struct FaultCaller<'e> {
    /// The number of its session.
    pub(crate) client: u64,
    /// Its server, as one of several of the process.
    pub(crate) member: &'e TopologyMember,
}

/// The handler of a command on faults.
pub(crate) type FaultHandler =
    fn(&mut FaultControl<'_>, FaultCaller<'_>, Args<'_>, &mut dyn Reply) -> FaultOutcome;

/// The handler of a command of one part.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PartHandler {
    /// A handler that changes the pauses of clients.
    Pauses(fn(&mut Pauses, TimeoutRule, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler that sees the users, and asks for changes of them.
    Users(UsersHandler),
    /// A handler that changes the log of what was refused to users.
    AclLog(fn(&mut AclLog, Now, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler that takes random choices.
    Random(fn(&mut Rng, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler that changes how its client tracks keys.
    Tracking(fn(&mut Tracking<'_>, &Session, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler that sees both parts of replication, and asks for changes of them.
    Replication(ReplicationHandler),
    /// A handler that records what a replica tells of itself. It returns how far the replica is, if it says that.
    Replconf(ReplconfHandler),
    /// A handler that says how many replicas its client waits for, and for how many milliseconds at most.
    ReplicaWait(ReplicaWaitHandler),
    /// A handler that changes faults, and asks for more.
    Faults(FaultHandler),
    /// A handler that answers from what is known of the cluster, or changes it and asks for more.
    Cluster(ClusterHandler),
    /// A handler that says how the server is to end.
    Shutdown(fn(Args<'_>) -> Result<ShutdownRequest, CommandError>),
}

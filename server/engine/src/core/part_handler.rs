//! Handlers that see one part of the engine: they change it, or say what it is to do, and the rest of the engine
//! follows.

use super::call::Origin;
use crate::acl::{AclLog, AclView, UserEffect};
use crate::client_list::ClientListHandler;
use crate::clients::{Session, Sessions, Slot, Subscriptions};
use crate::cluster::ClusterHandler;
use crate::config::Config;
use crate::faults::{FaultControl, FaultOutcome};
use crate::latency::Latency;
use crate::member::TopologyMember;
use crate::pauses::Pauses;
use crate::persistence::{SaveRequest, SavesView};
use crate::replication::{Acknowledgement, ReplicaWait, Replication, ReplicationView, Requested};
use crate::sentinel_server::SentinelHandler;
use crate::shutdown::ShutdownRequest;
use crate::spec::{Args, CommandError, CommandTable, Outcome, TimeoutRule};
use crate::statistics::Stats;
use crate::tracking::Tracking;
use crate::waits::StateHandler;
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Keyspace, Rng};
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

/// The view that LATENCY has of what took long.
pub(crate) struct LatencyView<'e> {
    /// The events that took long.
    pub(crate) latency: &'e mut Latency,
    /// The counters of commands.
    pub(crate) stats: &'e Stats,
    /// The rows of all commands.
    pub(crate) commands: &'e CommandTable,
    /// The parameters in force.
    pub(crate) config: &'e Config,
    /// The present instant, in seconds of the system's wall clock.
    pub(crate) now_s: i64,
}

/// The handler of a command on saves.
pub(crate) type SavesHandler =
    fn(SavesView<'_>, Args<'_>, &mut dyn Reply) -> Result<SaveRequest, CommandError>;

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
    /// A handler that sees the present instant. Time goes on in slow scripts, so that polling loops end; until then a
    /// script has one instant.
    Instant(fn(Now, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler that changes the log of what was refused to users.
    AclLog(fn(&mut AclLog, Now, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler that takes random choices.
    Random(fn(&mut Rng, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler that sees both parts of replication, and asks for changes of them.
    Replication(ReplicationHandler),
    /// A handler that records what a replica tells of itself. It returns how far the replica is, if it says that.
    Replconf(ReplconfHandler),
    /// A handler that says how many replicas its client waits for, and for how many milliseconds at most.
    ReplicaWait(ReplicaWaitHandler),
    /// A handler that says for which state of the server its client waits.
    State(StateHandler),
    /// A handler that changes faults, and asks for more.
    Faults(FaultHandler),
    /// A handler that answers from what is known of the cluster, or changes it and asks for more.
    Cluster(ClusterHandler),
    /// A handler that sees what took long, and may forget it.
    Latency(fn(LatencyView<'_>, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler that sees what was saved, and asks for a save.
    Saves(SavesHandler),
    /// A handler that sees what a sentinel knows, and asks for more.
    Sentinel(SentinelHandler),
    /// A handler that says how the server is to end.
    Shutdown(fn(Args<'_>) -> Result<ShutdownRequest, CommandError>),
}

/// The handler of a command on its own client, or on others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ClientHandler {
    /// A handler that changes the subscriptions of its client.
    Subscriptions(fn(&mut Subscriptions<'_>, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler that changes how its client tracks keys.
    Tracking(fn(&mut Tracking<'_>, &Session, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler that sees its session, and the keyspace to watch keys in it.
    Watching(fn(&mut Session, &mut Keyspace, Args<'_>, &mut dyn Reply) -> Outcome),
    /// The command runs the queued requests of its client: there is no more to it.
    Exec,
    /// A handler that gives its client a name.
    Naming(fn(&mut Sessions, Slot, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A check of a request whose client begins anew.
    Reset(fn(&Session) -> Outcome),
    /// A check of a request whose client is shown every call from now on.
    Monitor(fn(Origin) -> Outcome),
    /// A handler that sees all clients, and asks for something to be done to some.
    List(ClientListHandler),
}

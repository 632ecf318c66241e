//! Handlers with access to one part of the engine. They change it or return a request, and the rest of the engine
//! follows.

use super::call::Origin;
use crate::acl::{AclLog, AclView, UserEffect};
use crate::client_list::ClientListHandler;
use crate::clients::{LoginControl, LoginEffect, LoginError, Session, Sessions, Slot, Subscriptions};
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
use lockwheel_store::keyspace::{Keyspace, Rng, Tx};
use lockwheel_store::time::Now;

/// The handler of a command that reads users and asks for changes of them.
pub(crate) type UsersHandler = fn(AclView<'_>, Args<'_>, &mut dyn Reply) -> Result<UserEffect, CommandError>;

/// The handler of a command that reads both sides of replication and asks for changes of them.
pub(crate) type ReplicationHandler =
    for<'a> fn(ReplicationView<'_>, &Session, Args<'a>, &mut dyn Reply) -> Requested<'a>;
/// The handler of REPLCONF.
pub(crate) type ReplconfHandler = fn(
    &mut Replication,
    &mut Session,
    Args<'_>,
    &mut dyn Reply,
) -> Result<Option<Acknowledgement>, CommandError>;
/// The handler of a command whose client waits for replicas. The number is the id of its session.
pub(crate) type ReplicaWaitHandler =
    fn(ReplicationView<'_>, u64, TimeoutRule, Args<'_>) -> Result<(ReplicaWait, Option<u64>), CommandError>;

/// The data that LATENCY reads.
pub(crate) struct LatencyView<'e> {
    /// The events that took long.
    pub(crate) latency: &'e mut Latency,
    /// The counters of commands.
    pub(crate) stats: &'e Stats,
    /// The rows of all commands.
    pub(crate) commands: &'e CommandTable,
    /// The parameters in force.
    pub(crate) config: &'e Config,
    /// The current time, in seconds of the system's wall clock.
    pub(crate) now_s: i64,
}

/// The handler of a command on saves.
pub(crate) type SavesHandler =
    fn(SavesView<'_>, Args<'_>, &mut dyn Reply) -> Result<SaveRequest, CommandError>;

/// The client of a command on faults.
#[derive(Clone, Copy)]
pub(crate) struct FaultCaller<'e> {
    /// The id of its session.
    pub(crate) client: u64,
    /// The server, as one of several of the process.
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
    /// A handler that reads users and asks for changes of them.
    Users(UsersHandler),
    /// A handler that reads the current time. In slow scripts the time advances, so that polling loops end; until then
    /// a script runs at a single instant.
    Instant(fn(Now, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler that changes the log of denied requests.
    AclLog(fn(&mut AclLog, Now, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler that makes random choices.
    Random(fn(&mut Rng, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler that reads both sides of replication and asks for changes of them.
    Replication(ReplicationHandler),
    /// A handler that records what a replica announces. It returns the replica's offsets if they are acknowledged.
    Replconf(ReplconfHandler),
    /// A handler that returns the number of replicas for which its client waits, and the limit in milliseconds.
    ReplicaWait(ReplicaWaitHandler),
    /// A handler that returns the state of the server for which its client waits.
    State(StateHandler),
    /// A handler that changes faults and asks for effects.
    Faults(FaultHandler),
    /// A handler that reads or changes the cluster and asks for effects.
    Cluster(ClusterHandler),
    /// A handler that reads the slow events and may clear them.
    Latency(fn(LatencyView<'_>, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler that reads the results of saves and asks for a save.
    Saves(SavesHandler),
    /// A handler that reads or changes the sentinel and asks for effects.
    Sentinel(SentinelHandler),
    /// A handler that returns how the server must end.
    Shutdown(fn(Args<'_>) -> Result<ShutdownRequest, CommandError>),
}

/// The handler of AUTH and HELLO.
pub(crate) type LoginHandler =
    fn(LoginControl<'_>, Args<'_>, &mut dyn Reply) -> Result<LoginEffect, LoginError>;

/// The waits that end with an error.
#[derive(Debug)]
pub(crate) struct Cancellation {
    /// The numbers of the waits.
    pub(crate) waiters: Vec<u64>,
    /// The error.
    pub(crate) error: CommandError,
}

/// The handler of a command on its own client, or on others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ClientHandler {
    /// A handler that changes the subscriptions of its client.
    Subscriptions(fn(&mut Subscriptions<'_>, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler that changes how its client tracks keys.
    Tracking(fn(&mut Tracking<'_>, &Session, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler that has access to its session, and to the keyspace for watched keys.
    Watching(fn(&mut Session, &mut Keyspace, Args<'_>, &mut dyn Reply) -> Outcome),
    /// The command runs the queued requests of its client and does nothing else.
    Exec,
    /// A handler that gives its client a name.
    Naming(fn(&mut Sessions, Slot, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A check of a request that resets its client.
    Reset(fn(&Session) -> Outcome),
    /// A check of a request that turns its client into a monitor.
    Monitor(fn(Origin) -> Outcome),
    /// A handler that logs its client in.
    Login(LoginHandler),
    /// A handler that names waits that end with an error. The reply is the number of those that were not over.
    Cancel(fn(&Tx<'_>, Args<'_>) -> Cancellation),
    /// A handler that reads all clients and asks for an effect on some.
    List(ClientListHandler),
}

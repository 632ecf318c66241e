//! Handlers with access to one part of the engine, whose changes and requests the rest of the engine follows.

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

pub(crate) type UsersHandler = fn(AclView<'_>, Args<'_>, &mut dyn Reply) -> Result<UserEffect, CommandError>;

/// A handler that reads both sides of replication and asks for changes.
pub(crate) type ReplicationHandler =
    for<'a> fn(ReplicationView<'_>, &Session, Args<'a>, &mut dyn Reply) -> Requested<'a>;
pub(crate) type ReplconfHandler = fn(
    &mut Replication,
    &mut Session,
    Args<'_>,
    &mut dyn Reply,
) -> Result<Option<Acknowledgement>, CommandError>;
/// A handler whose client waits for replicas. The number is the id of its session.
pub(crate) type ReplicaWaitHandler =
    fn(ReplicationView<'_>, u64, TimeoutRule, Args<'_>) -> Result<(ReplicaWait, Option<u64>), CommandError>;

pub(crate) struct LatencyView<'e> {
    pub(crate) latency: &'e mut Latency,
    pub(crate) stats: &'e Stats,
    pub(crate) commands: &'e CommandTable,
    pub(crate) config: &'e Config,
    /// The time, in seconds of the system's wall clock.
    pub(crate) now_s: i64,
}

pub(crate) type SavesHandler =
    fn(SavesView<'_>, Args<'_>, &mut dyn Reply) -> Result<SaveRequest, CommandError>;

/// The client of a command on faults.
#[derive(Clone, Copy)]
pub(crate) struct FaultCaller<'e> {
    pub(crate) client: u64,
    pub(crate) member: &'e TopologyMember,
}

pub(crate) type FaultHandler =
    fn(&mut FaultControl<'_>, FaultCaller<'_>, Args<'_>, &mut dyn Reply) -> FaultOutcome;

#[derive(Clone, Copy, Debug)]
pub(crate) enum PartHandler {
    Pauses(fn(&mut Pauses, TimeoutRule, Args<'_>, &mut dyn Reply) -> Outcome),
    Users(UsersHandler),
    /// A handler that reads the time. In a slow script the time advances, so that polling loops end; otherwise a script
    /// runs at one instant.
    Instant(fn(Now, Args<'_>, &mut dyn Reply) -> Outcome),
    AclLog(fn(&mut AclLog, Now, Args<'_>, &mut dyn Reply) -> Outcome),
    Random(fn(&mut Rng, Args<'_>, &mut dyn Reply) -> Outcome),
    Replication(ReplicationHandler),
    /// A handler that records what a replica announces. It returns the replica's offsets if they are acknowledged.
    Replconf(ReplconfHandler),
    /// A handler that returns the number of replicas for which its client waits, and the limit in milliseconds.
    ReplicaWait(ReplicaWaitHandler),
    /// A handler that returns the state of the server for which its client waits.
    State(StateHandler),
    Faults(FaultHandler),
    Cluster(ClusterHandler),
    Latency(fn(LatencyView<'_>, Args<'_>, &mut dyn Reply) -> Outcome),
    Saves(SavesHandler),
    Sentinel(SentinelHandler),
    /// A handler that returns how the server must end.
    Shutdown(fn(Args<'_>) -> Result<ShutdownRequest, CommandError>),
}

/// A handler of AUTH or HELLO.
pub(crate) type LoginHandler =
    fn(LoginControl<'_>, Args<'_>, &mut dyn Reply) -> Result<LoginEffect, LoginError>;

/// Waits that end with this error.
#[derive(Debug)]
pub(crate) struct Cancellation {
    pub(crate) waiters: Vec<u64>,
    pub(crate) error: CommandError,
}

/// A handler for its own client, or for others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ClientHandler {
    Subscriptions(fn(&mut Subscriptions<'_>, Args<'_>, &mut dyn Reply) -> Outcome),
    Tracking(fn(&mut Tracking<'_>, &Session, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler with access to its session, and to the keyspace for watched keys.
    Watching(fn(&mut Session, &mut Keyspace, Args<'_>, &mut dyn Reply) -> Outcome),
    /// The command runs the queued requests of its client and does nothing else.
    Exec,
    Naming(fn(&mut Sessions, Slot, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A check of a request that resets its client.
    Reset(fn(&Session) -> Outcome),
    /// A check of a request that turns its client into a monitor.
    Monitor(fn(Origin) -> Outcome),
    Login(LoginHandler),
    /// A handler that names waits that end with an error. The reply counts those that were not over.
    Cancel(fn(&Tx<'_>, Args<'_>) -> Cancellation),
    List(ClientListHandler),
}

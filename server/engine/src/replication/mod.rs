//! Both sides of replication. The master's has the replicas and the stream that it sends them. The replica's has the
//! link to its master.
//!
//! This module does not know the engine. [`Replication`] owns the master's side, [`ReplicaLink`] the replica's. Command
//! handlers see both as a [`ReplicationView`] and return a [`ReplicationRequest`]. A [`ReplicationControl`] changes
//! both sides, with access to parts of the engine, and returns [`ReplicationEffect`]s. The conductor in
//! [`core`](crate::core) applies these.

mod backlog;
mod catch_up;
mod control;
mod copies;
mod effect;
mod failover;
mod feeding;
mod file_progress;
mod hand_over;
mod last_heard;
mod link;
mod pending_snapshot;
mod replica;
mod replica_link;
mod replica_wait;
mod replid;
mod request;
mod slow_replicas;
mod snapshots;
mod state;
mod stream;
mod streamed;
mod sync;
#[cfg(test)]
mod test_replicas;
mod timer;
mod transfer;
mod view;
mod written_keys;
mod written_offsets;

pub use control::ROLE_CHANGES;
pub(crate) use control::ReplicationControl;
pub(crate) use effect::ReplicationEffect;
pub(crate) use link::LinkState;
pub(crate) use replica::ReplicaState;
pub(crate) use replica_link::{LinkStep, ReplicaLink};
pub(crate) use replica_wait::ReplicaWait;
pub(crate) use replid::ReplicationId;
pub(crate) use request::{
    Acknowledgement, FailoverRequest, NO_MASTER_LINK, ReplicationRequest, Requested, SyncRequest,
};
pub(crate) use state::Replication;
pub(crate) use streamed::{is_streamed, to_be_run};
pub(crate) use sync::SyncPlan;
pub(crate) use timer::ReplicationTimer;
pub(crate) use view::{ReplicationView, SentHistory};

//! Both parts of replication: a master's, with its replicas and the stream that it sends them, and a replica's, with
//! the link to its master.
//!
//! The room does not know the engine. [`Replication`] owns the master's part, [`ReplicaLink`] the replica's. Handlers
//! see both as a [`ReplicationView`] and answer with a [`ReplicationRequest`]. A [`ReplicationControl`] changes both
//! parts, with the parts of the engine that they see, and ends with [`ReplicationEffect`]s. The conductor in
//! [`core`](crate::core) carries these out.

mod backlog;
mod behind;
mod catch_up;
mod control;
mod effect;
mod failover;
mod feed;
mod feeding;
mod hand_over;
mod last_heard;
mod link;
mod pending_snapshot;
mod replica;
mod replica_link;
mod replica_wait;
mod replid;
mod request;
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

pub use control::ROLE_CHANGES;
pub(crate) use control::ReplicationControl;
pub(crate) use effect::ReplicationEffect;
pub(crate) use feed::Feed;
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
pub(crate) use view::{Fed, ReplicationView};

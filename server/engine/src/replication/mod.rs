//! Both parts of replication: a master's, with its replicas and the stream that it sends them, and a replica's, with
//! the link to its master.
//!
//! The room does not know the engine. [`Replication`] owns the master's part, [`ReplicaLink`] the replica's. Handlers
//! see both as a [`ReplicationView`] and answer with a [`ReplicationRequest`]; the conductor in [`core`](crate::core)
//! carries that out.

mod backlog;
mod behind;
mod catch_up;
mod failover;
mod feed;
mod feeding;
mod hand_over;
mod last_heard;
mod link;
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
mod timer;
mod transfer;
mod view;
mod written_keys;

pub(crate) use failover::FailoverEffect;
pub(crate) use feed::Feed;
pub(crate) use feeding::FeedEffect;
pub(crate) use last_heard::{LastHeard, LinkClocks};
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

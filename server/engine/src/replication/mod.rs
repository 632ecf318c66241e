//! A master and its replicas: what a server knows of those that follow it, the stream that it sends them, and what it
//! says to a master whose replica it is. Pure state: it knows no sessions and no sockets.

mod backlog;
mod behind;
mod catch_up;
mod failover;
mod feed;
mod last_heard;
mod link;
mod replica;
mod replid;
mod snapshots;
mod state;
mod stream;
mod streamed;
mod transfer;

pub(crate) use catch_up::CatchUp;
pub(crate) use failover::{CoordinatedFailover, CoordinatedFailoverState};
pub(crate) use feed::{Feed, Unit};
pub(crate) use last_heard::{LastHeard, LinkClocks};
pub(crate) use link::{Link, LinkEvent, LinkParameters, LinkState};
pub(crate) use replica::{Announced, Replica, ReplicaState};
pub(crate) use replid::ReplicationId;
pub(crate) use snapshots::SnapshotPlace;
pub(crate) use state::{Replication, Resync};
pub(crate) use stream::{StreamWriter, is_newer_request};
pub(crate) use streamed::to_be_run;

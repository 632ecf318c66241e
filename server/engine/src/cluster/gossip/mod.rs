//! The messages between nodes of a cluster and their effects: membership, ownership of slots, failures and failovers.
//!
//! [`Gossip`] is one node's part: a state without I/O, beside the [`ClusterView`](super::ClusterView) that it changes.
//! Its inputs are the time, the bytes from its connections and the requests of other nodes. Its output is a queue of
//! [`GossipEffect`]s. The rules are those of the cluster bus of Redis: a sign of life each second, failures that most
//! masters report, votes by epochs, and slots that go to the claim with the higher epoch. The encoding differs from
//! Redis: messages are requests over the ports for clients.

mod answer;
mod bytes;
mod claims;
mod counts;
mod effect;
mod election;
mod failures;
mod hearing;
mod links;
mod manual;
mod message;
mod obstacles;
mod peer;
mod periodic;
mod rumours;
mod state;
#[cfg(test)]
mod tests;

pub(crate) use counts::{Tally, by_kind};
pub(crate) use effect::GossipEffect;
pub(crate) use hearing::Speaker;
pub(crate) use message::GossipMessage;
pub(crate) use peer::LinkInfo;
pub(crate) use periodic::TICK_MS;
pub(crate) use state::{Facts, Gossip, MAX_NODES, NodeLogin};

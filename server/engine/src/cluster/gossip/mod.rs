//! What nodes of a cluster tell one another, and what follows from it: who is there, whose slots are whose, who has
//! failed, and which replica takes over.
//!
//! [`Gossip`] is one node's part of it: a state without I/O, beside the [`ClusterView`](super::ClusterView) that it
//! changes. It is told the time, what comes over its connections and what other nodes ask; what it wants done is a
//! queue of [`Effect`]s. The rules are those of the cluster bus of Redis: signs of life each second, a failure that
//! most masters report, votes by epochs, and slots that go to the claim of the higher epoch. The messages are not: they
//! are requests over ports for clients.

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
pub(crate) use effect::Effect;
pub(crate) use hearing::Speaker;
pub(crate) use message::Message;
pub(crate) use peer::LinkInfo;
pub(crate) use periodic::TICK_MS;
pub(crate) use state::{Facts, Gossip, Login, NODES_MAX};

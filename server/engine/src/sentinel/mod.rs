//! A sentinel: which masters it watches, what it knows of them, of their replicas and of other sentinels, whether they
//! are down, who leads a failover, and how far that is.
//!
//! State without I/O and without a clock: instants, bytes and random numbers come in; what is to be connected, sent,
//! closed, published and logged comes out as [`Effect`]s. The order of checks and events is Redis'.

mod address;
mod date;
mod describe;
mod directives;
mod down;
mod effect;
mod failover;
mod hello;
mod info;
mod instance;
mod link;
mod links;
mod periodic;
mod periods;
mod replies;
mod select;
mod set;
mod state;
mod tick;
mod votes;
mod watch;
mod watched;

#[cfg(test)]
mod tests;

pub(crate) use address::Resolve;
pub(crate) use describe::Fields;
pub(crate) use directives::{SentinelLine, WRITTEN, WrittenLine};
pub(crate) use effect::{Effect, Level, LinkId};
pub(crate) use set::SetError;
pub(crate) use state::Sentinel;
pub(crate) use votes::Verdict;

//! The state of a sentinel: the watched masters, their replicas and other sentinels. It detects failures, elects a
//! leader, and carries out failovers. The module has no I/O and no clock: instants, bytes and random numbers come in;
//! requests to connect, send, close, publish and log come out as [`SentinelAction`]s.
//! Checks and events have Redis' order.

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
pub(crate) use describe::InstanceFields;
pub(crate) use directives::{SentinelLine, WRITTEN, WrittenLine};
pub(crate) use effect::{EventLevel, InstanceLinkId, SentinelAction};
pub(crate) use set::SetOptionError;
pub(crate) use state::Sentinel;
pub(crate) use votes::MasterDownAnswer;

//! The points at which faults act: before the handler of a request, at its reply, at messages, and on connections.
//!
//! [`Faults`](crate::faults::Faults) holds the state. Without rules and held connections, each point tests one flag.

mod acted;
mod conductor;
mod holding;
mod links;
mod nodes;
mod replies;
mod requests;
mod restart;

pub(super) use acted::ActedOn;

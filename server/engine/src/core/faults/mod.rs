//! How faults reach a request's way: before its handler, at its reply, at messages, and on connections.
//!
//! [`Faults`](crate::faults::Faults) is what the engine keeps of them. While no rule can act and no connection is held,
//! each seam tests one flag of it.

mod acted;
mod conductor;
mod holding;
mod links;
mod nodes;
mod replies;
mod requests;
mod restart;

pub(super) use acted::ActedOn;

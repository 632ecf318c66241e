//! How faults reach a request's way: before its handler, at its reply, at messages, and on connections.
//!
//! [`Faults`] is what the engine keeps of them. While no rule can act and no connection is held, each seam tests one
//! flag of it.

mod acted;
mod causes;
mod failover;
mod held;
mod holding;
mod links;
mod messages;
mod nodes;
mod replies;
mod requests;
mod state;
mod steering;
mod subject;

pub(super) use held::Held;
pub(crate) use links::{PARTITIONS_MAX, TOO_MANY};
pub(crate) use nodes::Fed;
pub(super) use state::Faults;

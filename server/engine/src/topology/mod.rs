//! Several servers of one process: their exchange of messages, and their common clock.
//!
//! Each is an [`Engine`](crate::Engine). There is no socket between two: bytes are delivered once both can be reached,
//! or after a lag by their clock. The order depends only on the earlier requests of clients.

mod faults;
mod left_out;
mod link;
mod missed;
mod network;
mod nodes;
#[cfg(test)]
mod tests;

pub use crate::locks::StampSource;
pub use crate::member::TopologyMember;
pub use network::{Network, Outside};

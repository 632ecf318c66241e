//! Several servers of one process: what they send one another, and the clock that they share.
//!
//! Each server is an [`Engine`](crate::Engine) of its own. Between two of them there is no socket: what one sends is
//! given to the other as soon as both can be reached, or after a lag by their clock, in an order that depends on
//! nothing but what clients sent before.

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

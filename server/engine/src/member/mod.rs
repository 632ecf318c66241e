//! A server as one of several in its process: its knowledge of the others, and its requests to all of them.

mod address;
mod broadcast;
mod request;
mod topology_member;

pub(crate) use address::{MemberAddress, place_of};
pub(crate) use broadcast::{ALONE, Broadcast, BroadcastAnswer, BroadcastId, LAST, NO_SUCH_SERVER};
pub(crate) use request::{Promotion, TopologyRequest};
pub use topology_member::TopologyMember;

//! Requests of a server to the driver of all servers of its process.

use super::broadcast::{Broadcast, BroadcastId};
use crate::clock::{AdvanceOwner, PlannedAdvance};
use crate::replication::ReplicationId;

/// A request of a server to the driver of all servers of its process, which share a clock.
#[derive(Debug)]
pub(crate) enum TopologyRequest {
    /// The server was reset, and its clock with it. The other servers adopt the new time.
    ClockChanged,
    /// The server may announce a new address.
    Announced,
    /// The server has become a master with the data that it has.
    Promoted(Promotion),
    /// A client of the server moves a slot from one cluster node to another.
    SlotsMove,
    /// A client of the server has moved keys to the server at this place.
    Moved(usize),
    /// The server has refused a client, because the server is down and the clock stands still.
    Refused,
    /// The server is reset. All faults of servers and between servers end.
    Reset,
    /// The instant has come at which a message from another server arrives.
    Arrival,
    /// An advance that has stopped within an instant has not continued for a long time. Its server may hang.
    Look,
    /// An advance of the clock that has stopped, or has not begun, continues.
    Advance(AdvanceOwner),
    /// A script or a transaction of the server has asked for an advance.
    Planned(PlannedAdvance),
    /// A client of the server waits for a request that all servers carry out.
    Broadcast(BroadcastId, Broadcast),
}

/// The data of a replica that became a master: its old master, the replication id, and its offset in that history.
#[derive(Clone, Debug)]
pub(crate) struct Promotion {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) id: ReplicationId,
    pub(crate) offset: i64,
}

//! Requests of a server to the driver of all servers of its process.

use super::broadcast::{Broadcast, BroadcastId};
use crate::clock::{AdvanceOwner, PlannedAdvance};
use crate::replication::ReplicationId;

/// A request of a server to whoever drives all servers of its process, which share a clock.
#[derive(Debug)]
pub(crate) enum TopologyRequest {
    /// The server has begun anew, and its clock with it: the others follow that.
    ClockChanged,
    /// The server may announce another address now.
    Announced,
    /// The server no longer follows its master, with the data that it has.
    Promoted(Promotion),
    /// A client of it moves a slot from one node of a cluster to another.
    SlotsMove,
    /// A client of it has had keys moved to the server at this place.
    Moved(usize),
    /// The server has refused a client, since it is down, and the clock stands.
    Refused,
    /// The server begins anew: faults of servers and between them end.
    Reset,
    /// Something arrives from another server.
    Arrival,
    /// An advance that has stopped amid an instant has not gone on for long: its server may hang.
    Look,
    /// An advance of the clock goes on that has stopped, or has not begun.
    Advance(AdvanceOwner),
    /// A script or a transaction of it has asked for an advance.
    Planned(PlannedAdvance),
    /// A client of it waits for something that all servers do.
    Broadcast(BroadcastId, Broadcast),
}

/// The data of a replica that became a master: its old master, the history, and how far it had that.
#[derive(Clone, Debug)]
pub(crate) struct Promotion {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) id: ReplicationId,
    pub(crate) offset: i64,
}

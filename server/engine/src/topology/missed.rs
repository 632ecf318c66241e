//! Events that a server misses while it is left out of exchanges.

use crate::clients::Slot;
use crate::member::Promotion;
use crate::outbound::OutboundId;

/// Something that a server missed while it was left out.
#[derive(Debug)]
pub(super) enum Missed {
    /// A connection that it has accepted has ended.
    Disconnected(Slot),
    /// A connection that it has made has ended, for this reason.
    Closed(OutboundId, &'static str),
    /// The server at this place follows it no longer.
    Lost(usize, Promotion),
    /// The server at an address has taken over from the one at this place, which spares one of its clients.
    Replaced { master: usize, address: (String, u16), spared: u64 },
    /// Another server has begun anew.
    Reset,
}

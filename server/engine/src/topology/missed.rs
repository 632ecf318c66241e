//! Events that a server misses while it is left out of exchanges.

use crate::clients::Slot;
use crate::member::Promotion;
use crate::outbound::OutboundId;

/// An event that a server missed while it was left out.
#[derive(Debug)]
pub(super) enum Missed {
    /// A connection that the server had accepted has ended.
    Disconnected(Slot),
    /// A connection that the server had made has ended, for this reason.
    Closed(OutboundId, &'static str),
    /// The server at this place no longer follows the server, because it was promoted.
    Lost(usize, Promotion),
    /// The server at `address` has taken over from the one at place `master`. One client of the old master is spared.
    Replaced { master: usize, address: (String, u16), spared: u64 },
    /// Another server was reset.
    Reset,
}

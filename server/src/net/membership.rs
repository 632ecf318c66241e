//! What a server of several in one process does for the others, as its loops see it.

use super::shutdown::MemberEnd;
use lockwheel_engine::Engine;
use lockwheel_engine::clock::{AdvanceProgress, ClockAdvance};
use lockwheel_engine::outbound::OutboundId;
use lockwheel_store::time::Now;

/// A server's place among those of its process.
pub(crate) trait Membership: Send + Sync {
    /// Follows the clock of all at this instant, if the server hung while others advanced it; whether it did.
    fn catch_up(&self, engine: &mut Engine, now: Now) -> bool;

    /// Keeps what a batch of this server leaves for the others, and notes whether there is something; `woken`: sessions
    /// with output that have no connection and are no callers.
    fn note(&self, engine: &Engine, outbound: &mut Vec<OutboundId>, woken: bool);

    /// This server ends: for the others it is gone.
    fn leave(&self);

    /// The ends of all servers of the process.
    fn ends(&self) -> Vec<MemberEnd>;

    /// Lets what the servers have sent one another arrive, if there is something. Called while no engine is held.
    fn exchange(&self);

    /// Continues an advance of the clock of all servers.
    fn continue_advance(&self, advance: &mut ClockAdvance) -> AdvanceProgress;
}

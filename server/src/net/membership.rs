//! The duties of one of several servers in a process towards the others, as its loops see them.

use super::shutdown::MemberEnd;
use lockwheel_engine::Engine;
use lockwheel_engine::clock::{AdvanceProgress, ClockAdvance};
use lockwheel_engine::outbound::OutboundId;
use lockwheel_store::time::Now;

pub(crate) trait Membership: Send + Sync {
    /// Adopts the common clock at this instant, if the server hung while others advanced it. Returns whether it had to.
    fn catch_up(&self, engine: &mut Engine, now: Now) -> bool;

    /// Stores the outgoing work of a batch for the other servers, if any. `woken`: output waits in sessions that have
    /// neither a connection nor a caller.
    fn note(&self, engine: &Engine, outbound: &mut Vec<OutboundId>, woken: bool);

    /// Removes this server, which ends: for the others it is gone.
    fn leave(&self);

    /// Returns the ends of all servers of the process.
    fn ends(&self) -> Vec<MemberEnd>;

    fn exchange(&self);

    /// Continues an advance of the clock of all servers.
    fn continue_advance(&self, advance: &mut ClockAdvance) -> AdvanceProgress;
}

//! Connections that are frozen, cut off or lost.

use super::super::engine::Engine;
use crate::clients::Slot;
use crate::faults::Link;

impl Engine {
    /// What becomes of the bytes of a session's connection. O(1) while all are carried as they are.
    #[inline]
    pub fn link(&self, slot: Slot) -> Link {
        if self.faults.connections.has_any() {
            self.faults.connections.link(self.sessions.get(slot))
        } else {
            Link::default()
        }
    }

    /// While a script runs: ends all partitions before the FAULT.HEAL that waits for its end. A client that connects
    /// from now on may kill the script, which nobody could before. What becomes of the bytes of each client, by its
    /// id; of none if no script runs.
    pub fn heal_ahead(&mut self) -> Vec<(u64, Link)> {
        if !self.scripts.is_running() {
            return Vec::new();
        }
        self.change_faults(|control, _| control.faults.connections.heal_ahead(&mut control.step));
        let link = |session| self.faults.connections.link(session);
        self.sessions.live().map(|session| (session.id, link(session))).collect()
    }
}

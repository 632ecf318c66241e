//! Frozen, cut-off and lost connections.

use super::super::engine::Engine;
use crate::clients::Slot;
use crate::faults::Link;

impl Engine {
    /// Returns how a session's connection carries its bytes. O(1) while no fault affects a connection.
    #[inline]
    pub fn link(&self, slot: Slot) -> Link {
        if self.faults.connections.has_any() {
            self.faults.connections.link(self.sessions.get(slot))
        } else {
            Link::default()
        }
    }

    /// Ends all partitions early while a script runs, since FAULT.HEAL would wait for it, and a new client may kill it.
    /// Returns the link of each client by its id, or nothing if no script runs.
    pub fn heal_ahead(&mut self) -> Vec<(u64, Link)> {
        if !self.scripts.is_running() {
            return Vec::new();
        }
        self.change_faults(|control, _| control.faults.connections.heal_ahead(&mut control.step));
        let link = |session| self.faults.connections.link(session);
        self.sessions.live().map(|session| (session.id, link(session))).collect()
    }
}

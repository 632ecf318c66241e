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

    /// Whether a session is sent nothing any more.
    #[inline]
    pub(in crate::core) fn is_lost(&self, slot: Slot) -> bool {
        self.faults.connections.has_any() && self.faults.connections.is_lost(self.sessions.get(slot))
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

    /// A connection becomes a black hole, which is cut after so many milliseconds. That of a server of the same process
    /// is cut at the latest when a replica would give it up: there is no other sign of its silence.
    pub(super) fn lose_connection(&mut self, slot: Slot, cut_after_ms: Option<u64>) {
        let patience_ms = self.config.replication.timeout.max(1).unsigned_abs().saturating_mul(1000);
        self.change_faults(|control, _| {
            let session = control.sessions.get(slot);
            let cut_after_ms = match session.peer.in_process {
                true => Some(cut_after_ms.map_or(patience_ms, |ms| ms.min(patience_ms))),
                false => cut_after_ms,
            };
            control.faults.connections.lose(session, cut_after_ms, &mut control.step);
        });
    }
}

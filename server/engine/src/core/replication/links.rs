//! The clocks that links of replication go by, and what is told of a link between two servers of this process.

use super::super::engine::Engine;
use crate::clients::Slot;
use crate::outbound::OutboundId;
use crate::replication::LinkClocks;

impl Engine {
    /// The present instant on the clocks that links go by.
    pub(crate) fn link_clocks(&self) -> LinkClocks {
        let (real_ms, shared_ms) = (self.clock.system().monotonic_ms(), self.clock.now().monotonic_ms());
        LinkClocks { real_ms, shared_ms }
    }

    /// The milliseconds for which the end of the stream is kept without replicas: of the clock that all servers of this
    /// process share, if there are others.
    pub(super) fn alone_clock_ms(&self) -> i64 {
        let clocks = self.link_clocks();
        if self.member.is_joined() { clocks.shared_ms } else { clocks.real_ms }
    }

    /// Whether a server of this process listens there.
    pub(super) fn is_in_process(&self, host: &str, port: u16) -> bool {
        self.member.place_of(host, port).is_some()
    }

    /// Whether the replica whose session this is, if it is one, is cut off from this server.
    pub(crate) fn replica_is_cut(&mut self, slot: Slot, is_cut: bool) {
        let (now, id) = (self.link_clocks(), self.session(slot).id);
        if let Some(replica) = self.replication.replicas.get_mut(&id) {
            replica.heard.set_cut(is_cut, now);
        }
    }

    /// Whether the master is cut off from this server, if this is the connection to it.
    pub(crate) fn master_is_cut(&mut self, id: OutboundId, is_cut: bool) {
        let now = self.link_clocks();
        let Some(following) = &mut self.following else { return };
        if following.link.as_ref().is_some_and(|(its, _)| *its == id) {
            following.heard.set_cut(is_cut, now);
        }
    }
}

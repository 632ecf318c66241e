//! Both parts of replication, to look at, and what is told of a link between two servers of this process.

use super::super::engine::Engine;
use crate::clients::Slot;
use crate::outbound::OutboundId;
use crate::replication::{LinkClocks, ReplicationView};

impl Engine {
    /// Both parts of replication, to look at.
    pub(crate) fn replication(&self) -> ReplicationView<'_> {
        ReplicationView::new(&self.replication, self.following.as_ref(), &self.config, &self.clock)
    }

    /// Whether the replica whose session this is, if it is one, is cut off from this server.
    pub(crate) fn replica_is_cut(&mut self, slot: Slot, is_cut: bool) {
        let (now, id) = (LinkClocks::of(&self.clock), self.session(slot).id);
        self.replication.set_cut(id, is_cut, now);
    }

    /// Whether the master is cut off from this server, if this is the connection to it.
    pub(crate) fn master_is_cut(&mut self, id: OutboundId, is_cut: bool) {
        let now = LinkClocks::of(&self.clock);
        self.following.iter_mut().for_each(|following| following.set_cut(id, is_cut, now));
    }
}

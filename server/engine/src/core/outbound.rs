//! Connections to other servers: what the engine wants of its driver, and whom what comes concerns.

use super::engine::Engine;
use crate::outbound::{Endpoint, OutboundId, Outgoing, Purpose};

/// What happens to a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OutboundEvent<'a> {
    /// It is open.
    Opened,
    /// Bytes have come.
    Received(&'a [u8]),
    /// It could not be opened, or has ended; the name is free again.
    Closed {
        /// The system's reason; none when the other side has closed it.
        reason: &'a str,
    },
}

impl Engine {
    /// Where a connection is wanted to, before [`Engine::take_outgoing`] says so.
    pub(crate) fn wanted_endpoint(&self, id: OutboundId) -> Option<&Endpoint> {
        self.outbound.wanted(id)
    }

    /// What is to be done next for a connection that [`super::Output::Outbound`] has named; to be asked until there is
    /// nothing.
    pub fn take_outgoing(&mut self, id: OutboundId) -> Option<Outgoing> {
        self.outbound.take(id)
    }

    /// The address at this end of a connection, in text, for who tells others: before [`Engine::outbound_opened`].
    pub fn outbound_local_ip(&mut self, id: OutboundId, ip: &str) {
        self.outbound.set_local_ip(id, ip);
    }

    /// The driver has connected.
    pub fn outbound_opened(&mut self, id: OutboundId) {
        self.outbound_event(id, OutboundEvent::Opened);
        self.outbound.opened(id);
    }

    /// Bytes have come over a connection, in their order, in pieces of any length.
    pub fn outbound_received(&mut self, id: OutboundId, bytes: &[u8]) {
        self.outbound_event(id, OutboundEvent::Received(bytes));
    }

    /// A connection could not be opened, or has ended, for this reason.
    pub fn outbound_closed(&mut self, id: OutboundId, reason: &str) {
        self.outbound_event(id, OutboundEvent::Closed { reason });
        self.outbound.remove(id);
    }

    /// Nothing comes from a connection that the engine has closed.
    fn outbound_event(&mut self, id: OutboundId, event: OutboundEvent<'_>) {
        match self.outbound.purpose(id) {
            Some(Purpose::Master) => self.master_link(id, event),
            Some(Purpose::Sentinel(link)) => self.sentinel_link(link, id, event),
            Some(Purpose::Cluster(link)) => self.cluster_link(link, event),
            None => {}
        }
    }
}

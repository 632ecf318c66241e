//! Connections to other servers: their events are passed to the part that owns them.

use super::engine::Engine;
use crate::outbound::{Outbound, OutboundEvent, OutboundId, Purpose};
use crate::sentinel_server::SentinelServer;

impl Engine {
    /// Returns the connections to other servers, for the driver that makes them.
    pub fn outbound_mut(&mut self) -> &mut Outbound {
        &mut self.outbound
    }

    /// Handles an event of a connection that the engine has not closed.
    pub fn outbound_event(&mut self, id: OutboundId, event: OutboundEvent<'_>) {
        let has_ended = matches!(event, OutboundEvent::Closed { .. });
        match self.outbound.purpose(id) {
            Some(Purpose::Master) => self.master_link(id, event),
            Some(Purpose::Sentinel(link)) => {
                let local_ip = self.outbound.local_ip(id).map(str::to_owned);
                self.with_sentinel(|state| {
                    SentinelServer::follow_link(state, link, event, local_ip.as_deref())
                });
                let sentinel = self.sentinel.iter_mut().filter(|_| has_ended);
                sentinel.for_each(|sentinel| sentinel.forget_link(link));
            }
            Some(Purpose::Cluster(link)) => {
                self.with_gossip(|gossip, view| gossip.follow_link(view, link, event));
                let cluster = self.cluster.iter_mut().filter(|_| has_ended);
                cluster.for_each(|cluster| cluster.forget_link(link));
                self.commit();
            }
            None => {}
        }
        match event {
            OutboundEvent::Opened => self.outbound.opened(id),
            OutboundEvent::Received(_) => {}
            OutboundEvent::Closed { .. } => self.outbound.remove(id),
        }
    }
}

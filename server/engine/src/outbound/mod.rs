//! Connections that the engine makes to other servers. The module only records what the engine requests and which bytes
//! to send: the driver connects, sends and closes without blocking it, and reports events.

mod connection;
mod event;

pub use connection::{Endpoint, Outgoing};
pub use event::OutboundEvent;

use connection::Connection;
use std::collections::{BTreeMap, VecDeque};

/// The id of a connection; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OutboundId(pub u64);

/// The purpose of a connection, which decides the receiver of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The link of this replica to its master.
    Master,
    /// The connection of this sentinel to a server that it monitors, with the sentinel's id for the connection.
    Sentinel(u64),
    /// The connection of this cluster node to another node, with this node's id for the connection.
    Cluster(u64),
}

/// The connections that the engine makes to other servers.
#[derive(Debug, Default)]
pub struct Outbound {
    connections: BTreeMap<OutboundId, Connection>,
    last: u64,
    /// The connections that need an action of the driver, each once.
    pending: VecDeque<OutboundId>,
}

impl Outbound {
    /// Requests a connection. O(log n).
    pub(crate) fn connect(&mut self, endpoint: Endpoint, purpose: Purpose) -> OutboundId {
        self.last += 1;
        let id = OutboundId(self.last);
        self.connections.insert(id, Connection::new(endpoint, purpose));
        self.pending.push_back(id);
        id
    }

    /// Sends bytes once the connection is open; drops those for one that has ended. O(log n + bytes).
    pub(crate) fn send(&mut self, id: OutboundId, bytes: &[u8]) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if connection.append(bytes) {
            self.pending.push_back(id);
        }
    }

    /// Ends a connection. No more events of it are delivered.
    pub(crate) fn close(&mut self, id: OutboundId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if connection.end() {
            self.pending.push_back(id);
        }
    }

    /// Returns the purpose of a connection that has not ended.
    pub(crate) fn purpose(&self, id: OutboundId) -> Option<Purpose> {
        self.connections.get(&id).filter(|connection| !connection.has_ended()).map(|one| one.purpose)
    }

    /// Returns the target of a connection that the driver has not started yet.
    pub(crate) fn wanted(&self, id: OutboundId) -> Option<&Endpoint> {
        self.connections.get(&id)?.wanted()
    }

    /// Records the local address of a connection, as text. To be called before the event that the connection is open.
    pub fn set_local_ip(&mut self, id: OutboundId, ip: &str) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.local_ip = Some(ip.into());
        }
    }

    /// Returns the local address of an open connection, if the driver has reported it.
    pub(crate) fn local_ip(&self, id: OutboundId) -> Option<&str> {
        self.connections.get(&id)?.local_ip.as_deref()
    }

    /// Records that a connection is open, and releases the bytes to send.
    pub(crate) fn opened(&mut self, id: OutboundId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if connection.open() {
            self.pending.push_back(id);
        }
    }

    /// Forgets all connections; the driver has closed them.
    pub(crate) fn forget_all(&mut self) {
        self.connections.clear();
        self.pending.clear();
    }

    /// Forgets a connection that the driver has closed.
    pub(crate) fn remove(&mut self, id: OutboundId) {
        self.connections.remove(&id);
    }

    /// Takes the next connection that needs an action of the driver.
    #[inline]
    pub(crate) fn next_pending(&mut self) -> Option<OutboundId> {
        self.pending.pop_front()
    }

    /// Takes the driver's next action for a connection that [`Output::Outbound`](crate::core::Output::Outbound) has
    /// named. Call it until it returns `None`.
    pub fn take(&mut self, id: OutboundId) -> Option<Outgoing> {
        let connection = self.connections.get_mut(&id)?;
        let outgoing = connection.take();
        if let Some(Outgoing::Close) = outgoing {
            self.connections.remove(&id);
        }
        outgoing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint() -> Endpoint {
        Endpoint { host: "localhost".into(), port: 6379 }
    }

    #[test]
    fn output_before_the_connection_opens_is_kept() {
        let mut outbound = Outbound::default();
        let id = outbound.connect(endpoint(), Purpose::Master);
        outbound.send(id, b"PI");
        outbound.send(id, b"NG");
        assert_eq!(outbound.next_pending(), Some(id));
        assert_eq!(outbound.next_pending(), None);
        assert_eq!(outbound.take(id), Some(Outgoing::Connect(endpoint())));
        assert_eq!(outbound.take(id), None);
        outbound.opened(id);
        assert_eq!(outbound.next_pending(), Some(id));
        assert_eq!(outbound.take(id), Some(Outgoing::Send(b"PING".to_vec())));
        assert_eq!(outbound.take(id), None);
        outbound.send(id, b"!");
        assert_eq!((outbound.next_pending(), outbound.next_pending()), (Some(id), None));
        assert_eq!(outbound.take(id), Some(Outgoing::Send(b"!".to_vec())));
    }

    #[test]
    fn a_closed_connection_flushes_its_output_and_is_removed() {
        let mut outbound = Outbound::default();
        let id = outbound.connect(endpoint(), Purpose::Master);
        outbound.take(id);
        outbound.opened(id);
        outbound.send(id, b"x");
        outbound.close(id);
        assert_eq!(outbound.purpose(id), None);
        outbound.send(id, b"late");
        assert_eq!(outbound.take(id), Some(Outgoing::Send(b"x".to_vec())));
        assert_eq!(outbound.take(id), Some(Outgoing::Close));
        assert_eq!(outbound.take(id), None);
        let other = outbound.connect(endpoint(), Purpose::Master);
        assert!(other > id);
        outbound.close(other);
        assert_eq!(outbound.take(other), Some(Outgoing::Close));
    }
}

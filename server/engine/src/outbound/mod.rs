//! Connections that the engine itself makes to other servers: what it wants of each, and what is to be sent.
//!
//! Nothing here waits, and nothing knows a socket: the engine's driver connects, sends and closes as it is told, and
//! tells what has come.

mod connection;
mod event;

pub use connection::{Endpoint, Outgoing};
pub use event::OutboundEvent;

use connection::Connection;
use std::collections::{BTreeMap, VecDeque};

/// The name of a connection; never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OutboundId(pub u64);

/// What a connection is for: who is told what comes over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// This server is a replica, and it leads to its master.
    Master,
    /// This server is a sentinel, and it leads to a server that it watches: its own name of it.
    Sentinel(u64),
    /// This server is a node of a cluster, and it leads to another one: its own name of it.
    Cluster(u64),
}

/// All connections.
#[derive(Debug, Default)]
pub struct Outbound {
    connections: BTreeMap<OutboundId, Connection>,
    last: u64,
    /// Those that the driver has to look at, each once.
    pending: VecDeque<OutboundId>,
}

impl Outbound {
    /// Wants a connection. O(log n).
    pub(crate) fn connect(&mut self, endpoint: Endpoint, purpose: Purpose) -> OutboundId {
        self.last += 1;
        let id = OutboundId(self.last);
        self.connections.insert(id, Connection::new(endpoint, purpose));
        self.pending.push_back(id);
        id
    }

    /// Sends bytes, once the connection is open; to one that has ended, nothing. O(log n) and the bytes.
    pub(crate) fn send(&mut self, id: OutboundId, bytes: &[u8]) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if connection.append(bytes) {
            self.pending.push_back(id);
        }
    }

    /// Ends a connection; nothing more comes from it.
    pub(crate) fn close(&mut self, id: OutboundId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if connection.end() {
            self.pending.push_back(id);
        }
    }

    /// The purpose of a connection that has not ended.
    pub(crate) fn purpose(&self, id: OutboundId) -> Option<Purpose> {
        self.connections.get(&id).filter(|connection| !connection.has_ended()).map(|one| one.purpose)
    }

    /// Where a connection is wanted to, before the driver knows of it.
    pub(crate) fn wanted(&self, id: OutboundId) -> Option<&Endpoint> {
        self.connections.get(&id)?.wanted()
    }

    /// Records the address at this end of a connection, in text: before the engine is told that it is open.
    pub fn set_local_ip(&mut self, id: OutboundId, ip: &str) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.local_ip = Some(ip.into());
        }
    }

    /// The address at this end of an open connection, if the driver has told it.
    pub(crate) fn local_ip(&self, id: OutboundId) -> Option<&str> {
        self.connections.get(&id)?.local_ip.as_deref()
    }

    /// It is open: what was to be sent goes out.
    pub(crate) fn opened(&mut self, id: OutboundId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if connection.open() {
            self.pending.push_back(id);
        }
    }

    /// There are none any more; who drives them has closed all.
    pub(crate) fn forget_all(&mut self) {
        self.connections.clear();
        self.pending.clear();
    }

    /// The driver has closed it.
    pub(crate) fn remove(&mut self, id: OutboundId) {
        self.connections.remove(&id);
    }

    /// The next one that the driver has to look at.
    #[inline]
    pub(crate) fn next_pending(&mut self) -> Option<OutboundId> {
        self.pending.pop_front()
    }

    /// Returns what the driver has to do next for a connection that
    /// [`Output::Outbound`](crate::core::Output::Outbound) has named; to be asked until there is nothing.
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
    fn what_is_sent_before_it_is_open_waits() {
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
    fn a_closed_one_sends_what_it_has_and_is_forgotten() {
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

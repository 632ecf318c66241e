//! What a replica knows of the master that it follows.

use super::last_heard::{LastHeard, LinkClocks};
use super::link::{Link, LinkState};
use super::replid::ReplicationId;
use crate::clients::Slot;
use crate::outbound::OutboundId;

/// What a replica knows of its master.
#[derive(Debug)]
pub(crate) struct ReplicaLink {
    /// Where the master is.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The connection, and what is said over it.
    pub(crate) link: Option<(OutboundId, Link)>,
    /// The session that runs what the master sends.
    pub(crate) slot: Slot,
    /// Whether it may go on from the data that it has: they are of a history, perhaps of its own.
    pub(crate) knows_history: bool,
    /// The history that the snapshot on its way belongs to, and its offset.
    pub(crate) expected: Option<(ReplicationId, i64)>,
    /// What has come of a transaction that has not ended.
    pub(crate) unapplied: Vec<u8>,
    /// Whether Redis 7.0 could not read that.
    pub(crate) has_newer_forms: bool,
    /// Whether there was no memory for a request of the master.
    pub(crate) lacks_change: bool,
    /// The master is told how far this replica is.
    pub(crate) owes_answer: bool,
    /// When the link was last used.
    pub(crate) heard: LastHeard,
    /// Since when it is down, in milliseconds of the clock that it goes by; none: it is not, or has never been up.
    pub(crate) down_since_ms: Option<i64>,
}

impl ReplicaLink {
    /// The master at this place, of which nothing has come.
    pub(crate) fn new(host: String, port: u16, slot: Slot, heard: LastHeard) -> Self {
        ReplicaLink {
            host,
            port,
            link: None,
            slot,
            knows_history: true,
            expected: None,
            unapplied: Vec::new(),
            has_newer_forms: false,
            lacks_change: false,
            owes_answer: false,
            heard,
            down_since_ms: None,
        }
    }

    /// For how many milliseconds the link has been down, if it is and was up.
    pub(crate) fn down_ms(&self, now: LinkClocks) -> Option<i64> {
        Some(self.heard.clock_ms(now) - self.down_since_ms?)
    }

    /// Whether the master is heard: the link is up, and nothing is between the two servers.
    pub(crate) fn hears_master(&self) -> bool {
        self.is_connected() && !matches!(self.heard, LastHeard::Until(_))
    }

    /// Whether it leads to the master at this address.
    pub(crate) fn is_to(&self, host: &str, port: u16) -> bool {
        self.host == host && self.port == port
    }

    /// Bytes of the snapshot that have arrived, and how many there will be if that is known.
    pub(crate) fn progress(&self) -> Option<(usize, Option<usize>)> {
        self.link.as_ref().map(|(_, link)| link.progress())
    }

    /// How far the link is; none: there is none.
    pub(crate) fn state(&self) -> Option<LinkState> {
        self.link.as_ref().map(|(_, link)| link.state())
    }

    /// Whether what the master does is known at once.
    pub(crate) fn is_connected(&self) -> bool {
        self.state() == Some(LinkState::Connected) && self.expected.is_none()
    }
}

//! What a replica knows of the master that it follows.

use crate::clients::Slot;
use crate::outbound::OutboundId;
use crate::replication::{LastHeard, Link, LinkClocks, LinkState, ReplicationId};

/// What a replica knows of its master.
#[derive(Debug)]
pub(crate) struct Following {
    /// Where the master is.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The connection, and what is said over it.
    pub(crate) link: Option<(OutboundId, Link)>,
    /// The session that runs what the master sends.
    pub(crate) slot: Slot,
    /// Whether it may go on from the data that it has: they are of a history, perhaps of its own.
    pub(super) knows_history: bool,
    /// The history that the snapshot on its way belongs to, and its offset.
    pub(super) expected: Option<(ReplicationId, i64)>,
    /// What has come of a transaction that has not ended.
    pub(super) unapplied: Vec<u8>,
    /// Whether Redis 7.0 could not read that.
    pub(super) has_newer_forms: bool,
    /// Whether there was no memory for a request of the master.
    pub(super) lacks_change: bool,
    /// The master is told how far this replica is.
    pub(super) owes_answer: bool,
    /// When the link was last used.
    pub(crate) heard: LastHeard,
    /// Since when it is down, in milliseconds of the clock that it goes by; none: it is not, or has never been up.
    pub(crate) down_since_ms: Option<i64>,
}

impl Following {
    /// The master at this place, of which nothing has come.
    pub(super) fn new(host: String, port: u16, slot: Slot, heard: LastHeard) -> Self {
        Following {
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

    /// How far the link is; none: there is none.
    pub(crate) fn state(&self) -> Option<LinkState> {
        self.link.as_ref().map(|(_, link)| link.state())
    }

    /// Whether what the master does is known at once.
    pub(crate) fn is_connected(&self) -> bool {
        self.state() == Some(LinkState::Connected) && self.expected.is_none()
    }
}

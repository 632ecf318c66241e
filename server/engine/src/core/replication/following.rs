//! What a replica knows of the master that it follows.

use crate::clients::Slot;
use crate::outbound::OutboundId;
use crate::replication::{Link, LinkState, ReplicationId};

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
    /// The history that the snapshot on its way belongs to, and its offset.
    pub(super) expected: Option<(ReplicationId, i64)>,
    /// What has come of a transaction that has not ended.
    pub(super) unapplied: Vec<u8>,
    /// The master is told how far this replica is.
    pub(super) owes_answer: bool,
    /// When the link was last used, in real monotonic milliseconds.
    pub(crate) heard_ms: i64,
    /// Since when it is down; none: it is not, or has never been up.
    pub(crate) down_since_ms: Option<i64>,
}

impl Following {
    /// The master at this place, of which nothing has come.
    pub(super) fn new(host: String, port: u16, slot: Slot, now_ms: i64) -> Self {
        Following {
            host,
            port,
            link: None,
            slot,
            expected: None,
            unapplied: Vec::new(),
            owes_answer: false,
            heard_ms: now_ms,
            down_since_ms: None,
        }
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

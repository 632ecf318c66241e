//! The state that a node keeps of another one besides its view: the connection, and the signs of life.

use super::super::node::NodeNumber;
use super::effect::PeerLinkId;
use lockwheel_resp::ReplyStream;
use std::collections::{BTreeMap, VecDeque};

/// The maximum number of bytes of unanswered messages, above which a connection is closed.
pub(super) const MAX_UNANSWERED_BYTES: usize = 64 << 20;

/// The request that an outstanding reply answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// The request is AUTH.
    Login,
    /// The request is a message of this many bytes.
    Message(usize),
}

/// A connection to another node.
#[derive(Debug)]
pub(super) struct PeerLink {
    pub(super) id: PeerLinkId,
    pub(super) is_open: bool,
    /// The instant at which the connection was started.
    pub(super) since: i64,
    pub(super) awaited: VecDeque<Awaited>,
    /// The number of bytes of messages without an answer.
    pub(super) unanswered: usize,
    pub(super) incoming: ReplyStream,
}

/// Another node. Instants are monotonic milliseconds without the leaps of [`Gossip::leap`](super::Gossip::leap).
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) link: Option<PeerLink>,
    /// The instant at which the node became known.
    pub(super) since: i64,
    /// Whether to greet the node with MEET in place of PING.
    pub(super) meets: bool,
    /// The instant of the first request for a sign of life that has no answer.
    pub(super) ping_sent: Option<i64>,
    /// The instant of the last sign of life, to this node or as another node reports.
    pub(super) pong_received: i64,
    /// The instant of the last message of any kind.
    pub(super) heard: i64,
    /// The masters that report the node as failing, and the instant of each one's last report.
    pub(super) reports: BTreeMap<NodeNumber, i64>,
    /// The instant at which most masters were found to agree.
    pub(super) failed: i64,
    /// The instant of this node's last vote for one of the node's replicas.
    pub(super) voted: Option<i64>,
    /// The node's replication offset.
    pub(super) offset: u64,
}

impl Peer {
    pub(super) fn new(now: i64) -> Self {
        Peer {
            link: None,
            since: now,
            meets: false,
            ping_sent: None,
            pong_received: 0,
            heard: 0,
            reports: BTreeMap::new(),
            failed: 0,
            voted: None,
            offset: 0,
        }
    }
}

/// A connection, as CLUSTER LINKS shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkInfo {
    /// Whether this node opened the connection, rather than the other one.
    pub(crate) is_to: bool,
    pub(crate) node: NodeNumber,
    /// The age of the connection, in milliseconds.
    pub(crate) age_ms: i64,
    /// The number of bytes that wait for an answer.
    pub(crate) unanswered: usize,
}

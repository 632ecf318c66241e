//! What a node knows of another one beside its view: the connection to it, and its signs of life.

use super::super::node::NodeNumber;
use super::effect::LinkId;
use lockwheel_resp::ReplyStream;
use std::collections::{BTreeMap, VecDeque};

/// How many bytes of messages a node may leave unanswered before its connection is given up.
pub(super) const UNANSWERED_MAX: usize = 64 << 20;

/// What a reply answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// It is that of AUTH.
    Login,
    /// It is that of a message of so many bytes.
    Message(usize),
}

/// A connection to another node.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) id: LinkId,
    pub(super) is_open: bool,
    /// When it was wanted.
    pub(super) since: i64,
    pub(super) awaited: VecDeque<Awaited>,
    /// Bytes of messages that have no answer yet.
    pub(super) unanswered: usize,
    pub(super) incoming: ReplyStream,
}

/// Another node. Instants are those of the clock that turns all of this, in milliseconds.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) link: Option<Link>,
    /// Since when it is known.
    pub(super) since: i64,
    /// It is to make this node's acquaintance.
    pub(super) meets: bool,
    /// When a sign of life was asked for that has not come.
    pub(super) ping_sent: Option<i64>,
    /// When the last sign of life came, here or at another node that tells.
    pub(super) pong_received: i64,
    /// When anything came from it.
    pub(super) heard: i64,
    /// The masters that report it as failing, and when they last have.
    pub(super) reports: BTreeMap<NodeNumber, i64>,
    /// When it was found that most masters do.
    pub(super) failed: i64,
    /// When this node last voted for one of its replicas.
    pub(super) voted: Option<i64>,
    /// How far it is in the stream of replication.
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
    /// To this node, or from it.
    pub(crate) is_to: bool,
    pub(crate) node: NodeNumber,
    /// How many milliseconds ago it was made.
    pub(crate) age_ms: i64,
    /// Bytes that wait for an answer.
    pub(crate) unanswered: usize,
}

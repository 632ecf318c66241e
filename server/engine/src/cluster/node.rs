//! One node of a cluster.

use super::node_flags::NodeFlags;
use lockwheel_store::keyspace::Rng;
use std::fmt;
use std::num::NonZeroU32;

/// The name of a node: 40 letters and digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeId([u8; NodeId::LEN]);

impl NodeId {
    pub(crate) const LEN: usize = 40;

    /// Parses a name. Returns `None` if the text is not one.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let fine = text.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        text.try_into().ok().filter(|_| fine).map(NodeId)
    }

    pub(crate) fn random(rng: &mut Rng) -> Self {
        NodeId(std::array::from_fn(|_| b"0123456789abcdef"[rng.below(16) as usize]))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{}", char::from(*byte)))
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The number of a node in one view. It is not sent to other nodes and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeNumber(NonZeroU32);

impl NodeNumber {
    pub(super) const FIRST: NodeNumber = NodeNumber(NonZeroU32::MIN);

    pub(super) fn next(self) -> Self {
        NodeNumber(self.0.saturating_add(1))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) id: NodeId,
    /// The address; empty if the node does not know its own yet.
    pub(crate) ip: String,
    pub(crate) port: u16,
    pub(crate) tls_port: u16,
    /// The port for other nodes.
    pub(crate) bus_port: u16,
    /// The host name, if the node announces one.
    pub(crate) hostname: String,
    /// The fields after the host name, which later releases write. They are kept unchanged.
    pub(crate) extra: String,
    pub(crate) flags: NodeFlags,
    pub(crate) master: Option<NodeNumber>,
    /// The instant of the last request for a sign of life that has no answer, in wall milliseconds; 0 if there is none.
    pub(crate) ping_sent_ms: i64,
    /// The instant of the last sign of life, in wall milliseconds.
    pub(crate) pong_received_ms: i64,
    /// The epoch of its claim to its slots.
    pub(crate) config_epoch: u64,
    pub(crate) is_linked: bool,
    pub(crate) replication_offset: Option<u64>,
    /// The number of slots that the node owns.
    pub(crate) slots: usize,
}

impl Node {
    /// Returns a node of which only the name is known.
    pub(crate) fn new(id: NodeId) -> Self {
        Node {
            id,
            ip: String::new(),
            port: 0,
            tls_port: 0,
            bus_port: 0,
            hostname: String::new(),
            extra: String::new(),
            flags: NodeFlags::empty(),
            master: None,
            ping_sent_ms: 0,
            pong_received_ms: 0,
            config_epoch: 0,
            is_linked: false,
            replication_offset: None,
            slots: 0,
        }
    }

    pub(crate) fn is_master(&self) -> bool {
        self.flags.contains(NodeFlags::MASTER)
    }

    pub(crate) fn is_replica(&self) -> bool {
        self.flags.contains(NodeFlags::REPLICA)
    }

    /// Whether most masters cannot reach the node.
    pub(crate) fn has_failed(&self) -> bool {
        self.flags.contains(NodeFlags::FAILED)
    }

    /// Returns the name of the node's shard: the one that a file of a later release has stated, else the master's.
    pub(crate) fn shard_id(&self) -> Option<&str> {
        self.extra.split(',').find_map(|field| field.strip_prefix("shard-id="))
    }

    /// Whether reads may be sent to the node as a replica.
    pub(crate) fn is_available(&self) -> bool {
        !self.has_failed() && self.replication_offset != Some(0)
    }

    pub(crate) fn client_port(&self, tls: bool) -> u16 {
        if tls && self.tls_port != 0 { self.tls_port } else { self.port }
    }
}

//! One node of a cluster.

use super::node_flags::NodeFlags;
use lockwheel_store::keyspace::Rng;
use std::fmt;
use std::num::NonZeroU32;

/// The name of a node: forty letters and digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeId([u8; NodeId::LEN]);

impl NodeId {
    /// Bytes of a name.
    pub(crate) const LEN: usize = 40;

    /// The name that a text is; `None`: it is none.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let fine = text.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        text.try_into().ok().filter(|_| fine).map(NodeId)
    }

    /// A name chosen at random.
    pub(crate) fn random(rng: &mut Rng) -> Self {
        NodeId(std::array::from_fn(|_| b"0123456789abcdef"[rng.below(16) as usize]))
    }

    /// Its text.
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

/// The number of a node in one view: it is not told to others, and never given again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeNumber(NonZeroU32);

impl NodeNumber {
    pub(super) const FIRST: NodeNumber = NodeNumber(NonZeroU32::MIN);

    pub(super) fn next(self) -> Self {
        NodeNumber(self.0.saturating_add(1))
    }
}

/// A node, as another one or it itself sees it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// Its name.
    pub(crate) id: NodeId,
    /// Its address; empty: it does not know its own yet.
    pub(crate) ip: String,
    /// The port for clients.
    pub(crate) port: u16,
    /// The port for clients over TLS.
    pub(crate) tls_port: u16,
    /// The port for other nodes.
    pub(crate) bus_port: u16,
    /// The name of its host, if it has told one.
    pub(crate) hostname: String,
    /// What else its line says behind the host's name, from later releases: kept as it is.
    pub(crate) extra: String,
    /// What it is.
    pub(crate) flags: NodeFlags,
    /// Whose replica it is.
    pub(crate) master: Option<NodeNumber>,
    /// When it was last asked for a sign of life that it has not given, in wall milliseconds; 0: it owes none.
    pub(crate) ping_sent_ms: i64,
    /// When it last gave one.
    pub(crate) pong_received_ms: i64,
    /// The epoch of what it says of its slots.
    pub(crate) config_epoch: u64,
    /// Whether there is a way to it.
    pub(crate) is_linked: bool,
    /// How far it has come in replication, if that is known.
    pub(crate) replication_offset: Option<u64>,
    /// How many slots it has.
    pub(crate) slots: usize,
}

impl Node {
    /// A node of which only the name is known.
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

    /// Whether it may have slots.
    pub(crate) fn is_master(&self) -> bool {
        self.flags.contains(NodeFlags::MASTER)
    }

    /// Whether it copies another one.
    pub(crate) fn is_replica(&self) -> bool {
        self.flags.contains(NodeFlags::REPLICA)
    }

    /// Whether most masters cannot reach it.
    pub(crate) fn has_failed(&self) -> bool {
        self.flags.contains(NodeFlags::FAILED)
    }

    /// The name of its shard, as a file of a later release says; else it is called as its master is.
    pub(crate) fn shard_id(&self) -> Option<&str> {
        self.extra.split(',').find_map(|field| field.strip_prefix("shard-id="))
    }

    /// Whether reads may be sent to it as a replica.
    pub(crate) fn is_available(&self) -> bool {
        !self.has_failed() && self.replication_offset != Some(0)
    }

    /// The port for clients that come over TLS, or for others.
    pub(crate) fn client_port(&self, tls: bool) -> u16 {
        if tls && self.tls_port != 0 { self.tls_port } else { self.port }
    }
}

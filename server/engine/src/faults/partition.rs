//! Partitions: the traffic that a connection carries, by direction.

use super::group::{Client, Group};

/// The faults on the traffic of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Whether the server reads nothing from the client; the bytes stay in the network.
    pub holds_input: bool,
    /// Whether the server writes nothing to the client; the bytes stay in the server.
    pub holds_output: bool,
    /// Whether input is read and ignored, and output is discarded.
    pub is_lost: bool,
    /// Whether the client is frozen, rather than the network cut.
    pub is_frozen: bool,
}

impl Link {
    /// A link that holds both directions.
    pub(crate) const HELD: Link =
        Link { holds_input: true, holds_output: true, is_lost: false, is_frozen: false };

    /// The link of a frozen client, which behaves like a paused process.
    pub(crate) const FROZEN: Link = Link { is_frozen: true, ..Link::HELD };

    /// Whether this request is executed if no other request waits before it. `FAULT.HEAL` passes a partition. So the
    /// server can be reached again after the client that has asked for the partition is gone.
    pub fn carries(self, argv: &[impl AsRef<[u8]>]) -> bool {
        let heals = || matches!(argv, [name] if name.as_ref().eq_ignore_ascii_case(b"fault.heal"));
        !self.holds_input || (!self.is_frozen && !self.is_lost && heals())
    }

    /// Combines two links: holds and loses the traffic that either holds or loses.
    pub(crate) fn and(self, other: Link) -> Link {
        Link {
            holds_input: self.holds_input | other.holds_input,
            holds_output: self.holds_output | other.holds_output,
            is_lost: self.is_lost | other.is_lost,
            is_frozen: self.is_frozen | other.is_frozen,
        }
    }
}

/// A group of clients from which the server is cut off.
#[derive(Clone, Debug)]
pub(crate) struct Partition {
    pub(crate) group: Group,
    /// The affected directions.
    pub(crate) link: Link,
    /// The client that has asked for the partition; it stays connected.
    pub(crate) spared: u64,
}

impl Partition {
    pub(crate) fn link_of(&self, client: Client<'_>) -> Link {
        let is_cut_off = client.id != self.spared && self.group.has(client);
        if is_cut_off { self.link } else { Link::default() }
    }

    pub(crate) fn memory(&self) -> usize {
        size_of::<Partition>() + self.group.text_len()
    }
}

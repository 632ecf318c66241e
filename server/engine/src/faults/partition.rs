//! Partitions: what a connection carries, and in which direction.

use super::group::{Client, Group};

/// What becomes of the bytes of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Nothing that the client sends is read; it stays in the network.
    pub holds_input: bool,
    /// Nothing is written to the client; it stays with the server.
    pub holds_output: bool,
    /// What the client sends is read and ignored; what it would be sent is forgotten.
    pub is_lost: bool,
    /// It is the client that stands still, not the network.
    pub is_frozen: bool,
}

impl Link {
    /// Both directions are held.
    pub(crate) const HELD: Link =
        Link { holds_input: true, holds_output: true, is_lost: false, is_frozen: false };

    /// The same of a client that is as a paused process.
    pub(crate) const FROZEN: Link = Link { is_frozen: true, ..Link::HELD };

    /// Whether this request is run if nothing waits before it. One gets through a partition: that which ends it, so
    /// that a server can be reached again when the client that has asked for the partition is gone.
    pub fn carries(self, argv: &[impl AsRef<[u8]>]) -> bool {
        let heals = || matches!(argv, [name] if name.as_ref().eq_ignore_ascii_case(b"fault.heal"));
        !self.holds_input || (!self.is_frozen && !self.is_lost && heals())
    }

    /// What is held or lost by either.
    pub(crate) fn and(self, other: Link) -> Link {
        Link {
            holds_input: self.holds_input | other.holds_input,
            holds_output: self.holds_output | other.holds_output,
            is_lost: self.is_lost | other.is_lost,
            is_frozen: self.is_frozen | other.is_frozen,
        }
    }
}

/// Clients from which the server is cut off.
#[derive(Clone, Debug)]
pub(crate) struct Partition {
    /// Who.
    pub(crate) group: Group,
    /// In which direction.
    pub(crate) link: Link,
    /// The client that has asked for it, and is spared.
    pub(crate) spared: u64,
}

impl Partition {
    /// What it does to the connection of a client.
    pub(crate) fn link_of(&self, client: Client<'_>) -> Link {
        let is_cut_off = client.id != self.spared && self.group.has(client);
        if is_cut_off { self.link } else { Link::default() }
    }

    /// Bytes of memory that it takes.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Partition>() + self.group.text_len()
    }
}

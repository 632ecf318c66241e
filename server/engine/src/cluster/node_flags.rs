//! The role and state of a node, with the words of CLUSTER NODES.

use std::fmt;

bitflags::bitflags! {
    /// The role and state of a node.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct NodeFlags: u16 {
        const MYSELF = 1;
        /// A master, which may own slots.
        const MASTER = 1 << 1;
        /// A replica, which copies its master's keys.
        const REPLICA = 1 << 2;
        /// A node that this node cannot reach.
        const MAY_HAVE_FAILED = 1 << 3;
        /// A node that most masters cannot reach.
        const FAILED = 1 << 4;
        /// A node that has not answered its handshake yet.
        const HANDSHAKE = 1 << 5;
        /// A node with an unknown address.
        const NO_ADDRESS = 1 << 6;
        /// A replica that does not take over.
        const NO_FAILOVER = 1 << 7;
    }
}

/// The words, in the order in which they are written.
const NAMES: [(NodeFlags, &str); 8] = [
    (NodeFlags::MYSELF, "myself"),
    (NodeFlags::MASTER, "master"),
    (NodeFlags::REPLICA, "slave"),
    (NodeFlags::MAY_HAVE_FAILED, "fail?"),
    (NodeFlags::FAILED, "fail"),
    (NodeFlags::HANDSHAKE, "handshake"),
    (NodeFlags::NO_ADDRESS, "noaddr"),
    (NodeFlags::NO_FAILOVER, "nofailover"),
];

/// The word for a node without flags.
const NONE: &str = "noflags";

impl NodeFlags {
    /// Parses a list of words, separated by commas. Returns `None` if one is unknown.
    pub(super) fn parse(words: &str) -> Option<Self> {
        words.split(',').filter(|word| !word.eq_ignore_ascii_case(NONE)).try_fold(
            NodeFlags::empty(),
            |flags, word| {
                let known = NAMES.iter().find(|(_, name)| word.eq_ignore_ascii_case(name));
                known.map(|(flag, _)| flags | *flag)
            },
        )
    }
}

impl fmt::Display for NodeFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set: Vec<&str> =
            NAMES.iter().filter(|(flag, _)| self.contains(*flag)).map(|(_, name)| *name).collect();
        f.write_str(if set.is_empty() { NONE.to_owned() } else { set.join(",") }.as_str())
    }
}

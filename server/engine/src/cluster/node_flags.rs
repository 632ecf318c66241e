//! What a node is, in the words of CLUSTER NODES.

use std::fmt;

bitflags::bitflags! {
    /// What a node is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct NodeFlags: u16 {
        /// The node whose view it is.
        const MYSELF = 1;
        /// It may have slots.
        const MASTER = 1 << 1;
        /// It has a copy of its master's keys.
        const REPLICA = 1 << 2;
        /// This node cannot reach it.
        const MAY_HAVE_FAILED = 1 << 3;
        /// Most masters cannot reach it.
        const FAILED = 1 << 4;
        /// It has been met and has not answered yet.
        const HANDSHAKE = 1 << 5;
        /// Its address is unknown.
        const NO_ADDRESS = 1 << 6;
        /// As a replica it does not take over.
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

/// What is written when there is none.
const NONE: &str = "noflags";

impl NodeFlags {
    /// The flags of a list of words, parted by commas; `None`: one is unknown.
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

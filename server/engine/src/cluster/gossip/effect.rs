//! The effects that a node's [`Gossip`](super::Gossip) asks its server to carry out.

/// The id of a connection; never reused.
pub(crate) type PeerLinkId = u64;

/// An effect to carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GossipEffect {
    Connect {
        link: PeerLinkId,
        ip: String,
        port: u16,
    },
    /// Send bytes over a connection, once it is open.
    Send {
        link: PeerLinkId,
        bytes: Vec<u8>,
    },
    Close {
        link: PeerLinkId,
    },
    Changed,
    /// Deliver a message that a client of another node has published.
    Publish {
        channel: Vec<u8>,
        message: Vec<u8>,
        is_shard: bool,
    },
    /// Pause the clients' writes for this many milliseconds, because a replica takes over.
    PauseWrites {
        ms: i64,
    },
    /// Let the clients write again.
    Unpause,
    /// Delete the keys of these slots, which now belong to another node.
    LoseSlots(Vec<u16>),
    /// Log a message at warning level.
    Log(String),
    /// Log a message at notice level.
    Notice(String),
}

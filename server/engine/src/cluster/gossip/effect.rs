//! What a node wants done outside of what it knows.

/// The name of a connection; never given twice.
pub(crate) type LinkId = u64;

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Connect to another node.
    Connect { link: LinkId, ip: String, port: u16 },
    /// Send bytes over a connection, once it is open.
    Send { link: LinkId, bytes: Vec<u8> },
    /// Close a connection.
    Close { link: LinkId },
    /// The view has changed.
    Changed,
    /// Another node's clients have published a message.
    Publish { channel: Vec<u8>, message: Vec<u8>, is_shard: bool },
    /// Clients may not write for so many milliseconds: a replica takes over.
    PauseWrites { ms: i64 },
    /// They may.
    Unpause,
    /// These slots have gone to another node, though this one may have keys of them.
    LoseSlots(Vec<u16>),
    /// Log a sentence, as a warning.
    Log(String),
    /// Log a sentence, as a notice.
    Notice(String),
}

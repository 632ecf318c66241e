//! Replies received over a connection to another node.

use lockwheel_resp::{ReplyLimits, Value};

/// The maximum length and nesting depth of a reply: a flat description of 1,000 nodes is far shorter.
pub(super) const LIMITS: ReplyLimits = ReplyLimits { max_len: 1 << 20, max_depth: 2 };

/// A reply, reduced to what a node needs from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PeerReply {
    /// The bytes of a message.
    Message(Vec<u8>),
    /// The other node is alive; the reply says nothing else.
    Alive,
    /// The other node refused the request.
    Refused(String),
}

impl PeerReply {
    pub(super) fn of(value: Value<'_>) -> Self {
        match value {
            Value::Bulk(bytes) => PeerReply::Message(bytes.to_vec()),
            // The other node runs a slow script or loads its data, so it is alive.
            Value::Error(text) if [&b"BUSY"[..], b"LOADING"].iter().any(|word| text.starts_with(word)) => {
                PeerReply::Alive
            }
            Value::Error(text) => PeerReply::Refused(String::from_utf8_lossy(text).into_owned()),
            _ => PeerReply::Alive,
        }
    }
}

//! Replies that come over a connection to another node.

use lockwheel_resp::{ReplyLimits, Value};

/// The longest reply, in bytes, and how deep it may nest: a description of a thousand nodes is far shorter, and none
/// nests.
pub(super) const LIMITS: ReplyLimits = ReplyLimits { max_len: 1 << 20, max_depth: 2 };

/// A reply, as far as a node looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The bytes of a message.
    Message(Vec<u8>),
    /// The other node is there, but does not answer more than that.
    Alive,
    /// The other node refuses.
    Refused(String),
}

impl Answer {
    pub(super) fn of(value: Value<'_>) -> Self {
        match value {
            Value::Bulk(bytes) => Answer::Message(bytes.to_vec()),
            // Its script is slow, or it reads its data: it is there.
            Value::Error(text) if [&b"BUSY"[..], b"LOADING"].iter().any(|word| text.starts_with(word)) => {
                Answer::Alive
            }
            Value::Error(text) => Answer::Refused(String::from_utf8_lossy(text).into_owned()),
            _ => Answer::Alive,
        }
    }
}

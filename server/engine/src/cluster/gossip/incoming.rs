//! Replies that come over a connection to another node.

use lockwheel_resp::{Replies, ReplyLimits, ReplyParser, Value};

/// The longest reply, in bytes: a description of a thousand nodes is far shorter.
const REPLY_MAX: usize = 1 << 20;
/// How deep a reply may nest: none does.
const DEPTH_MAX: usize = 2;

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

/// What has come over a connection.
#[derive(Default)]
pub(super) struct Incoming {
    parser: ReplyParser,
    replies: Replies,
    buffer: Vec<u8>,
}

impl std::fmt::Debug for Incoming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Incoming").field("bytes", &self.buffer.len()).finish_non_exhaustive()
    }
}

impl Incoming {
    /// The replies that are complete with these bytes, and whether the stream can be read on.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> (Vec<Answer>, bool) {
        self.buffer.extend_from_slice(bytes);
        let limits = ReplyLimits { max_len: REPLY_MAX, max_depth: DEPTH_MAX };
        let readable = self.parser.parse(&self.buffer, &limits, &mut self.replies).is_ok();
        let answers = (0..self.replies.len()).map(|at| answer(self.replies.value(at, &self.buffer)));
        let answers = answers.collect();
        self.buffer.drain(..self.replies.consumed());
        (answers, readable)
    }
}

fn answer(value: Value<'_>) -> Answer {
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

//! Replies that arrive in pieces.

use super::{Replies, ReplyLimits, ReplyParser, Value};
use std::fmt;

/// The replies of a stream whose bytes arrive in pieces of any length. Keeps the incomplete part.
#[derive(Default)]
pub struct ReplyStream {
    parser: ReplyParser,
    replies: Replies,
    buffer: Vec<u8>,
}

impl fmt::Debug for ReplyStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyStream").field("bytes", &self.buffer.len()).finish_non_exhaustive()
    }
}

impl ReplyStream {
    /// Receives bytes. Returns the replies that are now complete, each converted by `read`, and whether the stream can
    /// be read on.
    pub fn receive<T>(
        &mut self,
        bytes: &[u8],
        limits: &ReplyLimits,
        read: impl Fn(Value<'_>) -> T,
    ) -> (Vec<T>, bool) {
        self.buffer.extend_from_slice(bytes);
        let is_readable = self.parser.parse(&self.buffer, limits, &mut self.replies).is_ok();
        let read = (0..self.replies.len()).map(|at| read(self.replies.value(at, &self.buffer))).collect();
        self.buffer.drain(..self.replies.consumed());
        (read, is_readable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_whole_in_whatever_pieces_they_come() {
        let (mut stream, limits) = (ReplyStream::default(), ReplyLimits::default());
        let number = |value: Value<'_>| matches!(value, Value::Integer(7));
        let mut seen = Vec::new();
        for byte in b":7\r\n:8\r\n:7\r\n" {
            let (read, is_readable) = stream.receive(&[*byte], &limits, number);
            assert!(is_readable);
            seen.extend(read);
        }
        assert_eq!(seen, [true, false, true]);
        assert_eq!(stream.receive(b":7\r\n?", &limits, number), (vec![true], false));
    }
}

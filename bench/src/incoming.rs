//! The replies in the bytes that a server has sent.

use lockwheel_resp::{InvalidReply, Replies, ReplyLimits, ReplyParser, Value};

/// The limits of replies. No server nests replies deeper here, so they may be walked recursively.
const LIMITS: ReplyLimits = ReplyLimits { max_len: 1024 * 1024 * 1024, max_depth: 8 };

/// Bytes that have been read from a server, and the replies in them.
#[derive(Debug, Default)]
pub struct Incoming {
    bytes: Vec<u8>,
    parser: ReplyParser,
    /// The complete replies at the front of `bytes`, and the number of those that have been taken.
    replies: Replies,
    taken: usize,
}

/// A reply that has been taken.
#[derive(Debug)]
pub struct Received<'a> {
    /// The parsed reply.
    pub value: Value<'a>,
    /// The bytes of the reply, as on the wire.
    pub bytes: &'a [u8],
}

impl Incoming {
    /// Appends bytes that have been read.
    pub fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the next reply; `None` if it is not complete.
    ///
    /// # Errors
    /// Returns an error if the next bytes are no reply, or a reply that is nested too deeply.
    pub fn take(&mut self) -> Result<Option<Received<'_>>, InvalidReply> {
        if self.taken == self.replies.len() {
            self.bytes.drain(..self.replies.consumed());
            self.taken = 0;
            let result = self.parser.parse(&self.bytes, &LIMITS, &mut self.replies);
            if self.replies.is_empty() {
                return result.map(|()| None);
            }
        }
        let i = self.taken;
        self.taken += 1;
        let bytes = &self.bytes[self.replies.range(i)];
        Ok(Some(Received { value: self.replies.value(i, &self.bytes), bytes }))
    }

    /// Returns the bytes that have been read but not taken, for a message.
    pub fn rest(&self) -> &[u8] {
        let taken = self.taken.checked_sub(1).map_or(0, |last| self.replies.range(last).end);
        &self.bytes[taken..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_taken_one_by_one_and_an_error_comes_after_them() {
        let mut incoming = Incoming::default();
        assert!(incoming.take().unwrap().is_none());
        incoming.append(b"+a\r\n:1\r\n$3\r\nab");
        assert_eq!(incoming.take().unwrap().unwrap().bytes, b"+a\r\n");
        assert_eq!(incoming.rest(), b":1\r\n$3\r\nab");
        incoming.append(b"c\r\n*1\r\n");
        assert!(matches!(incoming.take().unwrap().unwrap().value, Value::Integer(1)));
        assert_eq!(incoming.take().unwrap().unwrap().bytes, b"$3\r\nabc\r\n");
        assert!(incoming.take().unwrap().is_none());
        incoming.append(b"+b\r\n?");
        assert_eq!(incoming.take().unwrap().unwrap().bytes, b"*1\r\n+b\r\n");
        for _ in 0..2 {
            assert_eq!(incoming.take().unwrap_err(), InvalidReply::Type(b'?'));
            assert_eq!(incoming.rest(), b"?");
        }
    }
}

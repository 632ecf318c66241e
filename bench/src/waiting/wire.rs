//! RESP2 replies that outlive the bytes from which they were read. They serve connections that mostly wait; the load
//! generator compares bytes instead.

use crate::incoming::Incoming;
use lockwheel_resp::Value;
use std::io;

/// A reply, or a message on a channel, which has the same form in RESP2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// `+OK`.
    Simple(Vec<u8>),
    /// `-ERR …`, without the minus sign.
    Error(Vec<u8>),
    /// `:1`.
    Integer(i64),
    /// `$…`.
    Bulk(Vec<u8>),
    /// `*…`.
    Array(Vec<Reply>),
    /// `$-1` or `*-1`.
    Null,
}

impl Reply {
    /// Returns the text of a simple or bulk string; `None` for another reply.
    pub fn text(&self) -> Option<&[u8]> {
        match self {
            Reply::Simple(text) | Reply::Bulk(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the elements of an array; empty for another reply.
    pub fn elements(&self) -> &[Reply] {
        match self {
            Reply::Array(elements) => elements,
            _ => &[],
        }
    }

    /// Returns the channel and the payload, if this is a message published on a channel.
    pub fn message(&self) -> Option<(&[u8], &[u8])> {
        let Reply::Array(parts) = self else { return None };
        match parts.as_slice() {
            [kind, channel, payload] if kind.text() == Some(b"message") => {
                Some((channel.text()?, payload.text()?))
            }
            _ => None,
        }
    }
}

/// Takes the next reply that has been read; `None` if it is incomplete.
///
/// # Errors
/// Returns an error if the bytes are not RESP2.
pub fn take(incoming: &mut Incoming) -> io::Result<Option<Reply>> {
    let reply = match incoming.take() {
        Ok(None) => return Ok(None),
        Ok(Some(reply)) => owned(reply.value),
        Err(_) => None,
    };
    let malformed = || {
        let bytes = incoming.rest();
        let line = bytes.split(|&byte| byte == b'\r').next().unwrap_or(bytes);
        io::Error::other(format!("the server sent `{}`, which is no RESP2", line.escape_ascii()))
    };
    reply.map(Some).ok_or_else(malformed)
}

/// Copies a reply into owned memory. Returns `None` for types that only RESP3 has. The depth is limited.
fn owned(value: Value<'_>) -> Option<Reply> {
    Some(match value {
        Value::Simple(text) => Reply::Simple(text.to_vec()),
        Value::Error(text) => Reply::Error(text.to_vec()),
        Value::Integer(value) => Reply::Integer(value),
        Value::Bulk(bytes) => Reply::Bulk(bytes.to_vec()),
        Value::Array(elements) => Reply::Array(elements.map(owned).collect::<Option<_>>()?),
        Value::Null => Reply::Null,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Reply {
        for cut in 0..bytes.len() {
            let mut incoming = Incoming::default();
            incoming.append(&bytes[..cut]);
            assert_eq!(take(&mut incoming).unwrap(), None, "cut at {cut}");
        }
        let mut incoming = Incoming::default();
        incoming.append(bytes);
        let reply = take(&mut incoming).unwrap().unwrap();
        assert_eq!(incoming.rest(), b"");
        reply
    }

    #[test]
    fn each_kind_is_read_whole_or_not_at_all() {
        assert_eq!(all(b"+OK\r\n").text(), Some(&b"OK"[..]));
        assert_eq!(all(b"-ERR no\r\n"), Reply::Error(b"ERR no".to_vec()));
        assert_eq!(all(b":-12\r\n"), Reply::Integer(-12));
        assert_eq!(all(b"$4\r\na\r\nb\r\n").text(), Some(&b"a\r\nb"[..]));
        assert_eq!(all(b"$-1\r\n"), Reply::Null);
        assert_eq!(all(b"*-1\r\n"), Reply::Null);
        let message = all(b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n0\r\n");
        assert_eq!(message.message(), Some((&b"c"[..], &b"0"[..])));
        assert_eq!(all(b"*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n").message(), None);
    }

    #[test]
    fn what_is_no_resp_is_an_error() {
        for bytes in [&b"hello\r\n"[..], b":x\r\n", b"$x\r\n", b"\r\n", b"#t\r\n", &b"*1\r\n".repeat(10)] {
            let mut incoming = Incoming::default();
            incoming.append(bytes);
            assert!(take(&mut incoming).is_err(), "{}", bytes.escape_ascii());
        }
    }
}

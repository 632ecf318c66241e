//! RESP2 as a client speaks it: requests written, replies read. For connections that wait more than they work; the
//! load generator compares bytes instead.

use std::io;

/// A reply, or a message on a channel, which RESP2 writes alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// `+OK`.
    Simple(Vec<u8>),
    /// `-ERR …`, without the sign.
    Error(Vec<u8>),
    /// `:1`.
    Integer(i64),
    /// `$…`; `None` is a null.
    Bulk(Option<Vec<u8>>),
    /// `*…`; `None` is a null.
    Array(Option<Vec<Reply>>),
}

/// Replies nested deeper than this are refused: no server sends them here.
const DEPTH_MAX: u32 = 8;

impl Reply {
    /// The text of a simple or bulk string, if it is one.
    pub fn text(&self) -> Option<&[u8]> {
        match self {
            Reply::Simple(text) | Reply::Bulk(Some(text)) => Some(text),
            _ => None,
        }
    }

    /// The elements of an array; none when it is something else.
    pub fn elements(&self) -> &[Reply] {
        match self {
            Reply::Array(Some(elements)) => elements,
            _ => &[],
        }
    }

    /// Whether it is a null of either kind.
    pub fn is_null(&self) -> bool {
        matches!(self, Reply::Bulk(None) | Reply::Array(None))
    }

    /// The channel and the payload, when it is a message published on a channel.
    pub fn message(&self) -> Option<(&[u8], &[u8])> {
        let Reply::Array(Some(parts)) = self else { return None };
        match parts.as_slice() {
            [kind, channel, payload] if kind.text() == Some(b"message") => {
                Some((channel.text()?, payload.text()?))
            }
            _ => None,
        }
    }
}

/// Appends a request to `out`.
pub fn encode(arguments: &[&[u8]], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("*{}\r\n", arguments.len()).as_bytes());
    for argument in arguments {
        out.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        out.extend_from_slice(argument);
        out.extend_from_slice(b"\r\n");
    }
}

/// The first reply in `bytes` and its length; `None` while it is incomplete.
///
/// # Errors
/// When the bytes are no RESP2.
pub fn decode(bytes: &[u8]) -> io::Result<Option<(Reply, usize)>> {
    decode_at(bytes, 0, DEPTH_MAX)
}

fn decode_at(bytes: &[u8], start: usize, depth: u32) -> io::Result<Option<(Reply, usize)>> {
    let Some((line, mut at)) = line_at(bytes, start) else { return Ok(None) };
    let (&kind, text) = line.split_first().ok_or_else(|| malformed(line))?;
    let reply = match kind {
        b'+' => Reply::Simple(text.to_vec()),
        b'-' => Reply::Error(text.to_vec()),
        b':' => Reply::Integer(number(text)?),
        b'$' => match usize::try_from(number(text)?) {
            Err(_) => Reply::Bulk(None),
            Ok(length) => {
                let Some(body) = bytes.get(at..at + length + 2) else { return Ok(None) };
                at += length + 2;
                Reply::Bulk(Some(body[..length].to_vec()))
            }
        },
        b'*' => match usize::try_from(number(text)?) {
            Err(_) => Reply::Array(None),
            Ok(_) if depth == 0 => return Err(malformed(line)),
            Ok(length) => {
                let mut parts = Vec::new();
                for _ in 0..length {
                    let Some((part, end)) = decode_at(bytes, at, depth - 1)? else { return Ok(None) };
                    parts.push(part);
                    at = end;
                }
                Reply::Array(Some(parts))
            }
        },
        _ => return Err(malformed(line)),
    };
    Ok(Some((reply, at)))
}

/// The line that begins at `start`, without its end, and where the next begins.
fn line_at(bytes: &[u8], start: usize) -> Option<(&[u8], usize)> {
    let rest = bytes.get(start..)?;
    let end = rest.windows(2).position(|two| two == b"\r\n")?;
    Some((&rest[..end], start + end + 2))
}

fn number(text: &[u8]) -> io::Result<i64> {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or_else(|| malformed(text))
}

fn malformed(line: &[u8]) -> io::Error {
    io::Error::other(format!("the server sent `{}`, which is no RESP2", line.escape_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Reply {
        let (reply, length) = decode(bytes).unwrap().unwrap();
        assert_eq!(length, bytes.len());
        for cut in 0..bytes.len() {
            assert_eq!(decode(&bytes[..cut]).unwrap(), None, "cut at {cut}");
        }
        reply
    }

    #[test]
    fn each_kind_is_read_whole_or_not_at_all() {
        assert_eq!(all(b"+OK\r\n").text(), Some(&b"OK"[..]));
        assert_eq!(all(b"-ERR no\r\n"), Reply::Error(b"ERR no".to_vec()));
        assert_eq!(all(b":-12\r\n"), Reply::Integer(-12));
        assert_eq!(all(b"$4\r\na\r\nb\r\n").text(), Some(&b"a\r\nb"[..]));
        assert!(all(b"$-1\r\n").is_null());
        assert!(all(b"*-1\r\n").is_null());
        let message = all(b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n0\r\n");
        assert_eq!(message.message(), Some((&b"c"[..], &b"0"[..])));
        assert_eq!(all(b"*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n").message(), None);
    }

    #[test]
    fn what_is_no_resp_is_an_error() {
        for bytes in [&b"hello\r\n"[..], b":x\r\n", b"$x\r\n", b"\r\n", &b"*1\r\n".repeat(10)] {
            assert!(decode(bytes).is_err(), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_request_is_an_array_of_bulk_strings() {
        let mut out = Vec::new();
        encode(&[b"GET", b"a b"], &mut out);
        assert_eq!(out, b"*2\r\n$3\r\nGET\r\n$3\r\na b\r\n");
    }
}

//! A reply as a test sees it: a value, and the one line of text in which tests are written.
//!
//! | reply | text |
//! |---|---|
//! | simple string, error | `+OK`, `-ERR syntax error` |
//! | integer, double, big number | `:1`, `,1.5`, `(12345` |
//! | bulk string, verbatim string | `"v"`, `=txt:"v"`, with redis-cli's escapes |
//! | null, boolean | `(nil)`, `#t`, `#f` |
//! | array, set, push | `[a, b]`, `~[a, b]`, `>[a, b]` |
//! | map | `{k: v, k: v}` |

use redis_protocol::error::RedisProtocolError;
use redis_protocol::resp2::types::RangeFrame as Frame2;
use redis_protocol::resp3::types::{RangeFrame as Frame3, VerbatimStringFormat};
use redis_protocol::{resp2, resp3};
use std::fmt;

/// A reply of either protocol. Maps, sets and arrays keep the order of the wire.
#[derive(Clone, PartialEq)]
pub enum Reply {
    /// A simple string: `+OK`.
    Status(Vec<u8>),
    /// An error, simple or blob, without its `-`: `ERR syntax error`.
    Error(String),
    /// An integer.
    Int(i64),
    /// A bulk string.
    Bulk(Vec<u8>),
    /// A null, whether bulk, array or RESP3's own.
    Null,
    /// An array.
    Array(Vec<Reply>),
    /// RESP3: a map.
    Map(Vec<(Reply, Reply)>),
    /// RESP3: a set.
    Set(Vec<Reply>),
    /// RESP3: a double.
    Double(f64),
    /// RESP3: a boolean.
    Bool(bool),
    /// RESP3: a big number, as its digits.
    BigNumber(Vec<u8>),
    /// RESP3: a verbatim string and its three letters of format.
    Verbatim(&'static str, Vec<u8>),
    /// RESP3: data out of band.
    Push(Vec<Reply>),
}

impl Reply {
    /// Whether this is an error.
    pub fn is_error(&self) -> bool {
        matches!(self, Reply::Error(_))
    }

    /// The integer, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        if let Reply::Int(value) = self { Some(*value) } else { None }
    }

    /// The bytes of a status, bulk, verbatim or error reply.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Reply::Status(bytes) | Reply::Bulk(bytes) | Reply::Verbatim(_, bytes) => Some(bytes),
            Reply::Error(text) => Some(text.as_bytes()),
            _ => None,
        }
    }

    /// Returns the value that a map has under this name.
    pub fn member(&self, name: &str) -> Option<&Reply> {
        let Reply::Map(pairs) = self else { return None };
        pairs.iter().find(|(key, _)| key.as_bytes() == Some(name.as_bytes())).map(|(_, value)| value)
    }

    /// The elements of an array, set or push. A map's keys and values alternate.
    pub fn into_elements(self) -> Option<Vec<Reply>> {
        match self {
            Reply::Array(items) | Reply::Set(items) | Reply::Push(items) => Some(items),
            Reply::Map(pairs) => Some(pairs.into_iter().flat_map(|(key, value)| [key, value]).collect()),
            _ => None,
        }
    }

    /// Returns the reply with the outermost elements in the order of their texts, for replies whose order is not part
    /// of the contract.
    pub fn sorted(mut self) -> Reply {
        match &mut self {
            Reply::Array(items) | Reply::Set(items) => items.sort_by_cached_key(Reply::to_string),
            Reply::Map(pairs) => pairs.sort_by_cached_key(|(key, _)| key.to_string()),
            _ => {}
        }
        self
    }

    /// Works as [`sorted`](Reply::sorted), for a flat array of alternating fields and values. A field and its value
    /// stay together.
    pub fn sorted_pairs(self) -> Reply {
        match self {
            Reply::Array(items) if items.len() % 2 == 0 => {
                let mut pairs: Vec<&[Reply]> = items.chunks(2).collect();
                pairs.sort_by_cached_key(|pair| pair[0].to_string());
                Reply::Array(pairs.concat())
            }
            other => other.sorted(),
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Status(bytes) => write!(f, "+{}", String::from_utf8_lossy(bytes)),
            Reply::Error(text) => write!(f, "-{text}"),
            Reply::Int(value) => write!(f, ":{value}"),
            Reply::Bulk(bytes) => f.write_str(&quoted(bytes)),
            Reply::Null => f.write_str("(nil)"),
            Reply::Array(items) => write_list(f, "[", items),
            Reply::Set(items) => write_list(f, "~[", items),
            Reply::Push(items) => write_list(f, ">[", items),
            Reply::Map(pairs) => {
                f.write_str("{")?;
                for (index, (key, value)) in pairs.iter().enumerate() {
                    write!(f, "{}{key}: {value}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
            // Rust writes `inf` and `-inf` as RESP3 does, but `NaN`.
            Reply::Double(value) if value.is_nan() => f.write_str(",nan"),
            Reply::Double(value) => write!(f, ",{value}"),
            Reply::Bool(value) => f.write_str(if *value { "#t" } else { "#f" }),
            Reply::BigNumber(digits) => write!(f, "({}", String::from_utf8_lossy(digits)),
            Reply::Verbatim(format, bytes) => write!(f, "={format}:{}", quoted(bytes)),
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, open: &str, items: &[Reply]) -> fmt::Result {
    f.write_str(open)?;
    for (index, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if index == 0 { "" } else { ", " })?;
    }
    f.write_str("]")
}

/// Bytes between double quotes, with the escapes that redis-cli writes and [`crate::line::split`] reads.
pub fn quoted(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 2);
    text.push('"');
    for &byte in bytes {
        match byte {
            b'\\' => text.push_str("\\\\"),
            b'"' => text.push_str("\\\""),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            0x07 => text.push_str("\\a"),
            0x08 => text.push_str("\\b"),
            0x20..=0x7e => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text.push('"');
    text
}

/// Decodes the first frame of `bytes` as RESP2. Returns the reply and the number of bytes it took, or `None` if the
/// frame is not complete.
///
/// # Errors
/// Returns the error of the redis-protocol crate if the bytes are not RESP2.
pub fn decode2(bytes: &[u8]) -> Result<Option<(Reply, usize)>, RedisProtocolError> {
    let found = resp2::decode::decode_range(bytes)?;
    Ok(found.map(|(frame, length)| (from_frame2(&frame, bytes), length)))
}

/// Decodes the first frame of `bytes` as RESP3. Returns the reply and the number of bytes it took, or `None` if the
/// frame is not complete.
///
/// # Errors
/// Returns the error of the redis-protocol crate if the bytes are not RESP3.
pub fn decode3(bytes: &[u8]) -> Result<Option<(Reply, usize)>, RedisProtocolError> {
    let found = resp3::decode::complete::decode_range(bytes)?;
    Ok(found.map(|(frame, length)| (from_frame3(&frame, bytes), length)))
}

// The frames hold ranges, not values. Their maps and sets distinguish elements by position, so that a duplicate, which
// no server may send, is kept and not lost.

fn from_frame2(frame: &Frame2, bytes: &[u8]) -> Reply {
    match frame {
        Frame2::SimpleString(range) => Reply::Status(cut(bytes, *range)),
        Frame2::Error(range) => Reply::Error(cut_text(bytes, *range)),
        Frame2::Integer(value) => Reply::Int(*value),
        Frame2::BulkString(range) => Reply::Bulk(cut(bytes, *range)),
        Frame2::Array(items) => Reply::Array(items.iter().map(|item| from_frame2(item, bytes)).collect()),
        Frame2::Null => Reply::Null,
    }
}

fn from_frame3(frame: &Frame3, bytes: &[u8]) -> Reply {
    let convert = |item| from_frame3(item, bytes);
    match frame {
        Frame3::BlobString { data, .. } | Frame3::ChunkedString(data) => Reply::Bulk(cut(bytes, *data)),
        Frame3::SimpleString { data, .. } => Reply::Status(cut(bytes, *data)),
        Frame3::BlobError { data, .. } | Frame3::SimpleError { data, .. } => {
            Reply::Error(cut_text(bytes, *data))
        }
        Frame3::Boolean { data, .. } => Reply::Bool(*data),
        Frame3::Null => Reply::Null,
        Frame3::Number { data, .. } => Reply::Int(*data),
        Frame3::Double { data, .. } => Reply::Double(*data),
        Frame3::BigNumber { data, .. } => Reply::BigNumber(cut(bytes, *data)),
        Frame3::VerbatimString { data, format, .. } => {
            Reply::Verbatim(format_name(format), cut(bytes, *data))
        }
        Frame3::Array { data, .. } => Reply::Array(data.iter().map(convert).collect()),
        Frame3::Set { data, .. } => Reply::Set(data.iter().map(convert).collect()),
        Frame3::Push { data, .. } => Reply::Push(data.iter().map(convert).collect()),
        // The crate fills maps from their end; a test pins that this is the order of the wire.
        Frame3::Map { data, .. } => {
            Reply::Map(data.iter().rev().map(|(key, value)| (convert(key), convert(value))).collect())
        }
        // A client sends HELLO, a server never does. The text shows it, so that a test that meets it reports it.
        Frame3::Hello { .. } => Reply::Error("HELLO sent as a reply".to_string()),
    }
}

fn cut(bytes: &[u8], (start, end): (usize, usize)) -> Vec<u8> {
    bytes[start..end].to_vec()
}

fn cut_text(bytes: &[u8], range: (usize, usize)) -> String {
    String::from_utf8_lossy(&cut(bytes, range)).into_owned()
}

fn format_name(format: &VerbatimStringFormat) -> &'static str {
    match format {
        VerbatimStringFormat::Text => "txt",
        VerbatimStringFormat::Markdown => "mkd",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(wire: &str) -> String {
        let (reply, length) = decode3(wire.as_bytes()).unwrap().unwrap();
        assert_eq!(length, wire.len());
        reply.to_string()
    }

    #[test]
    fn every_type_has_its_text() {
        assert_eq!(text("+OK\r\n"), "+OK");
        assert_eq!(text("-ERR no\r\n"), "-ERR no");
        assert_eq!(text("!6\r\nERR no\r\n"), "-ERR no");
        assert_eq!(text(":-1\r\n"), ":-1");
        assert_eq!(text("$4\r\na\"\r\n\r\n"), "\"a\\\"\\r\\n\"");
        assert_eq!(text("_\r\n"), "(nil)");
        assert_eq!(text("*2\r\n:1\r\n*0\r\n"), "[:1, []]");
        assert_eq!(text("%2\r\n+b\r\n:1\r\n+a\r\n#t\r\n"), "{+b: :1, +a: #t}");
        assert_eq!(text("~3\r\n+b\r\n+a\r\n+c\r\n"), "~[+b, +a, +c]");
        assert_eq!(text(">1\r\n+m\r\n"), ">[+m]");
        assert_eq!(text(",1.5\r\n"), ",1.5");
        assert_eq!(text(",-inf\r\n"), ",-inf");
        assert_eq!(text("#f\r\n"), "#f");
        assert_eq!(text("(123456789012345678901\r\n"), "(123456789012345678901");
        assert_eq!(text("=5\r\ntxt:v\r\n"), "=txt:\"v\"");
    }

    #[test]
    fn duplicates_in_maps_and_sets_are_shown() {
        assert_eq!(text("%2\r\n$1\r\na\r\n:1\r\n$1\r\na\r\n:2\r\n"), r#"{"a": :1, "a": :2}"#);
        assert_eq!(text("~2\r\n$1\r\na\r\n$1\r\na\r\n"), r#"~["a", "a"]"#);
    }

    #[test]
    fn an_incomplete_frame_is_awaited() {
        let wire = b"*2\r\n$1\r\na\r\n:1\r\n";
        for end in 0..wire.len() {
            assert_eq!(decode2(&wire[..end]).unwrap(), None);
            assert_eq!(decode3(&wire[..end]).unwrap(), None);
        }
        assert_eq!(decode2(wire).unwrap(), decode3(wire).unwrap());
        assert!(decode2(b"_\r\n").is_err());
    }

    #[test]
    fn quoting_equals_that_of_redis_cli() {
        assert_eq!(quoted(b"\x00\x07\x08\t\n\r\\\"~\x7f\xff"), r#""\x00\a\b\t\n\r\\\"~\x7f\xff""#);
    }

    #[test]
    fn sorting_moves_pairs_together() {
        let [a, b] = ["a", "b"].map(|name| Reply::Bulk(name.into()));
        let flat = Reply::Array(vec![b.clone(), Reply::Int(1), a.clone(), Reply::Int(2)]);
        assert_eq!(flat.clone().sorted_pairs().to_string(), r#"["a", :2, "b", :1]"#);
        assert_eq!(flat.sorted().to_string(), r#"["a", "b", :1, :2]"#);
        let map = Reply::Map(vec![(b, Reply::Int(1)), (a, Reply::Int(2))]);
        assert_eq!(map.sorted_pairs().to_string(), r#"{"a": :2, "b": :1}"#);
    }
}

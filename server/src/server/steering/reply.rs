//! Replies to requests of this process.

use lockwheel_resp::{Elements, Replies, ReplyLimits, ReplyParser, Value};
use std::error::Error;
use std::fmt;

/// A reply of the server.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Null.
    Null,
    /// An integer.
    Integer(i64),
    /// A double.
    Double(f64),
    /// A boolean.
    Boolean(bool),
    /// A string of any kind.
    Text(Vec<u8>),
    /// An error inside an array.
    Error(Refused),
    /// An array, a set or a message.
    Array(Vec<Reply>),
    /// A map.
    Map(Vec<(Reply, Reply)>),
}

/// An error reply, with the text of the server, for instance `ERR syntax error`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Refused {}

impl Reply {
    /// Parses the single reply in these bytes. Pushes may accompany the reply.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Refused> {
        let mut replies = Replies::new();
        let parsed = ReplyParser::new().parse(bytes, &ReplyLimits::default(), &mut replies);
        if let Err(error) = parsed {
            return Err(Refused(format!("no reply: {error}")));
        }
        if replies.is_empty() {
            return Err(Refused("no whole reply".to_owned()));
        }
        let is_reply = |at: &usize| !matches!(replies.value(*at, bytes), Value::Push(_));
        let at = (0..replies.len()).find(is_reply).unwrap_or(0);
        match Reply::of(&replies.value(at, bytes)) {
            Reply::Error(refused) => Err(refused),
            reply => Ok(reply),
        }
    }

    fn of(value: &Value<'_>) -> Self {
        match value {
            Value::Null => Reply::Null,
            Value::Integer(integer) => Reply::Integer(*integer),
            Value::Double(double) => Reply::Double(*double),
            Value::Boolean(boolean) => Reply::Boolean(*boolean),
            Value::Simple(text) | Value::Bulk(text) | Value::BigNumber(text) | Value::Verbatim(_, text) => {
                Reply::Text(text.to_vec())
            }
            Value::Error(text) | Value::BlobError(text) => {
                Reply::Error(Refused(String::from_utf8_lossy(text).into_owned()))
            }
            Value::Array(elements) | Value::Set(elements) | Value::Push(elements) => {
                Reply::Array(values(elements))
            }
            Value::Map(elements) => {
                let mut pairs = Vec::new();
                let mut values = values(elements).into_iter();
                while let Some(pair) = values.next().zip(values.next()) {
                    pairs.push(pair);
                }
                Reply::Map(pairs)
            }
        }
    }

    /// Returns the value of this field of a map; null if there is none.
    pub(super) fn field(&self, name: &str) -> &Reply {
        let Reply::Map(pairs) = self else { return &Reply::Null };
        let is_it = |key: &Reply| matches!(key, Reply::Text(text) if text == name.as_bytes());
        pairs.iter().find(|(key, _)| is_it(key)).map_or(&Reply::Null, |(_, value)| value)
    }

    /// Returns the integer; 0 if the reply is none.
    pub(super) fn integer(&self) -> i64 {
        self.maybe_integer().unwrap_or(0)
    }

    /// Returns the integer, if the reply is one.
    pub(super) fn maybe_integer(&self) -> Option<i64> {
        if let Reply::Integer(integer) = self { Some(*integer) } else { None }
    }

    /// Returns the string; empty if the reply is none.
    pub(super) fn text(&self) -> String {
        self.maybe_text().unwrap_or_default()
    }

    /// Returns the string, if the reply is one. Invalid UTF-8 is replaced.
    pub(super) fn maybe_text(&self) -> Option<String> {
        if let Reply::Text(text) = self { Some(String::from_utf8_lossy(text).into_owned()) } else { None }
    }

    /// Returns the elements; empty if the reply is no array.
    pub(super) fn items(&self) -> &[Reply] {
        if let Reply::Array(items) = self { items } else { &[] }
    }

    pub(super) fn is_true(&self) -> bool {
        matches!(self, Reply::Boolean(true) | Reply::Integer(1))
    }
}

fn values(elements: &Elements<'_>) -> Vec<Reply> {
    elements.clone().map(|value| Reply::of(&value)).collect()
}

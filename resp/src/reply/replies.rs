//! The complete replies of one read buffer, as ranges into it.

use std::iter::FusedIterator;
use std::ops::Range;

/// The most nodes whose memory is kept for the next buffer.
const KEPT_NODES: usize = 4096;

/// The types whose value is a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text {
    Simple,
    Error,
    Bulk,
    BigNumber,
    BlobError,
    /// A text preceded by its format and a colon.
    Verbatim,
}

/// The types that have elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregate {
    Array,
    Map,
    Set,
    Push,
}

/// One value of a reply. The nodes of a reply are in the order of its bytes, so the nodes of an aggregate follow it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    /// A text. `start` is relative to the reply's first byte.
    Text {
        kind: Text,
        start: usize,
        len: usize,
    },
    Integer(i64),
    Double(f64),
    Boolean(bool),
    Null,
    Aggregate {
        kind: Aggregate,
        /// The number of elements. A map counts its keys and values.
        len: usize,
        /// The index of the first node after the aggregate, from the reply's first node.
        end: usize,
    },
    /// Keys and values like those of a map. They come before the value that they describe, and are not elements.
    Attributes {
        len: usize,
        end: usize,
    },
}

/// The end of a complete reply, at which the next one begins.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    node: usize,
    byte: usize,
}

/// All complete replies that [`ReplyParser::parse`](crate::ReplyParser::parse) found in a read buffer, in order.
///
/// Holds ranges, not bytes: methods that return values take the same buffer again. If it is reused for each read, it
/// allocates nothing.
#[derive(Debug, Default)]
pub struct Replies {
    pub(super) nodes: Vec<Node>,
    ends: Vec<End>,
}

impl Replies {
    /// Makes an empty list of replies. Allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Drops all replies and frees memory that only unusual replies needed.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.ends.clear();
        if self.nodes.capacity() > 2 * KEPT_NODES {
            self.nodes.shrink_to(KEPT_NODES);
        }
        if self.ends.capacity() > 2 * KEPT_NODES {
            self.ends.shrink_to(KEPT_NODES);
        }
    }

    /// The number of complete replies.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no complete reply.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The number of bytes at the front of the buffer that the complete replies cover, to be dropped before the next
    /// parse.
    pub fn consumed(&self) -> usize {
        self.start(self.len()).byte
    }

    /// The range of reply `i` in the buffer, including its attributes: the bytes to pass on. Panics if there is no
    /// reply `i`.
    pub fn range(&self, i: usize) -> Range<usize> {
        self.start(i).byte..self.ends[i].byte
    }

    /// The value of reply `i`. `buf` must be the parsed buffer, with nothing dropped from its front since. Panics if
    /// there is no reply `i` or `buf` is shorter than the parsed buffer. O(1).
    pub fn value<'a>(&'a self, i: usize, buf: &'a [u8]) -> Value<'a> {
        self.reply(i, buf).value_at(0).0
    }

    /// The attributes in front of reply `i`, if it has any: keys and values in turn. `buf` is as for
    /// [`value`](Self::value).
    pub fn attributes<'a>(&'a self, i: usize, buf: &'a [u8]) -> Option<Elements<'a>> {
        self.reply(i, buf).attributes_at(0)
    }

    fn reply<'a>(&'a self, i: usize, buf: &'a [u8]) -> Nodes<'a> {
        Nodes { nodes: &self.nodes[self.start(i).node..self.ends[i].node], bytes: &buf[self.range(i)] }
    }

    /// The start of reply `i`, which may be the next one.
    fn start(&self, i: usize) -> End {
        if i == 0 { End::default() } else { self.ends[i - 1] }
    }

    /// The index of the first node that belongs to an incomplete reply.
    pub(super) fn complete_nodes(&self) -> usize {
        self.start(self.len()).node
    }

    /// Ends the reply whose nodes have been pushed. The next one begins at `byte` in the buffer.
    pub(super) fn finish(&mut self, byte: usize) {
        self.ends.push(End { node: self.nodes.len(), byte });
    }
}

/// A value of a reply: its text, number or elements.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// A simple string: `+text`.
    Simple(&'a [u8]),
    /// An error with its code, without the leading `-`: `-ERR text`.
    Error(&'a [u8]),
    /// An integer: `:n`.
    Integer(i64),
    /// A bulk string: `$`.
    Bulk(&'a [u8]),
    /// Null: `_`, and RESP2's `$-1` and `*-1`.
    Null,
    /// A double: `,n`.
    Double(f64),
    /// A boolean: `#t` or `#f`.
    Boolean(bool),
    /// A big number's digits, with an optional sign: `(n`.
    BigNumber(&'a [u8]),
    /// An error that may have several lines: `!`.
    BlobError(&'a [u8]),
    /// A text and its format, such as `txt` or `mkd`: `=`.
    Verbatim(&'a [u8], &'a [u8]),
    /// An array: `*`.
    Array(Elements<'a>),
    /// A map, its keys and values in turn: `%`.
    Map(Elements<'a>),
    /// A set: `~`.
    Set(Elements<'a>),
    /// An out-of-band message: `>`.
    Push(Elements<'a>),
}

/// The nodes of one reply, and its bytes.
#[derive(Clone, Copy, Debug)]
struct Nodes<'a> {
    nodes: &'a [Node],
    bytes: &'a [u8],
}

impl<'a> Nodes<'a> {
    /// The value that begins at a node, with any attributes, and the index after its last node.
    fn value_at(self, at: usize) -> (Value<'a>, usize) {
        let value = match self.nodes[at] {
            Node::Text { kind, start, len } => text(kind, &self.bytes[start..start + len]),
            Node::Integer(value) => Value::Integer(value),
            Node::Double(value) => Value::Double(value),
            Node::Boolean(value) => Value::Boolean(value),
            Node::Null => Value::Null,
            Node::Aggregate { kind, len, end } => {
                let elements = Elements { reply: self, next: at + 1, left: len };
                let value = match kind {
                    Aggregate::Array => Value::Array(elements),
                    Aggregate::Map => Value::Map(elements),
                    Aggregate::Set => Value::Set(elements),
                    Aggregate::Push => Value::Push(elements),
                };
                return (value, end);
            }
            // The value follows the attributes.
            Node::Attributes { end, .. } => return self.value_at(end),
        };
        (value, at + 1)
    }

    fn attributes_at(self, at: usize) -> Option<Elements<'a>> {
        match self.nodes.get(at) {
            Some(&Node::Attributes { len, .. }) => Some(Elements { reply: self, next: at + 1, left: len }),
            _ => None,
        }
    }
}

fn text(kind: Text, text: &[u8]) -> Value<'_> {
    match kind {
        Text::Simple => Value::Simple(text),
        Text::Error => Value::Error(text),
        Text::Bulk => Value::Bulk(text),
        Text::BigNumber => Value::BigNumber(text),
        Text::BlobError => Value::BlobError(text),
        Text::Verbatim => Value::Verbatim(&text[..3], &text[4..]),
    }
}

/// The elements of an aggregate, in order. Each step is O(1), even if the element is an aggregate.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    reply: Nodes<'a>,
    next: usize,
    left: usize,
}

impl<'a> Elements<'a> {
    /// The attributes in front of the next element, if it has any: keys and values in turn.
    pub fn attributes(&self) -> Option<Elements<'a>> {
        if self.left == 0 { None } else { self.reply.attributes_at(self.next) }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (value, next) = self.reply.value_at(self.next);
        self.next = next;
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Elements<'_> {}

impl FusedIterator for Elements<'_> {}

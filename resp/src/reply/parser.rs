//! The reply parser: RESP2 and RESP3, flat, resumable at every byte.

use super::error::InvalidReply;
use super::replies::{Aggregate, Node, Replies, Text};
use crate::line::{MAX_LINE, usual_header};
use std::{mem, str};

/// The fewest bytes of a value.
const MIN_VALUE: usize = 3;
/// The most nodes and open aggregates whose memory an idle parser keeps.
const KEPT: usize = 32;

/// Limits on the replies of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyLimits {
    /// The longest reply, in bytes as on the wire (by default 1 GiB). A longer one is refused as soon as a header in
    /// it announces more than that.
    pub max_len: usize,
    /// The most levels of nested aggregates (by default 1,024). The parser itself handles any depth, but the code that
    /// uses the reply may be recursive.
    pub max_depth: usize,
}

impl Default for ReplyLimits {
    fn default() -> Self {
        Self { max_len: 1024 * 1024 * 1024, max_depth: 1024 }
    }
}

/// The buffer to parse, and the limits.
#[derive(Clone, Copy, Debug)]
struct Input<'a> {
    buf: &'a [u8],
    limits: &'a ReplyLimits,
}

/// A header's number (`None` if it is invalid), and the length of its line with CR and LF.
type Header = (Option<i64>, usize);

/// An aggregate, or attributes, with elements that have not arrived yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// The index of its node, from the reply's first.
    node: usize,
    missing: usize,
}

/// A text whose header has been read.
#[derive(Clone, Copy, Debug)]
struct Announced {
    kind: Text,
    len: usize,
}

/// The state of one connection's stream of replies: the parsed part of the incomplete reply.
///
/// All positions are relative to the start of the buffer after the [`consumed`](Replies::consumed) bytes have been
/// dropped from its front. So nothing is parsed twice: the work for any split of the input is O(its length). Memory
/// grows with the values that have arrived, never with announced counts, and no depth needs a stack.
#[derive(Debug, Default)]
pub struct ReplyParser {
    /// The start of the reply that is being read; 0 between calls.
    start: usize,
    /// The start of the next header or text.
    pos: usize,
    /// The number of bytes of the line at `pos` that are known not to end it.
    scanned: usize,
    /// The text at `pos`, once its header has been read.
    announced: Option<Announced>,
    /// Whether attributes have just ended at `pos`, whose value must follow.
    attributed: bool,
    /// The incomplete aggregates, outermost first.
    open: Vec<Open>,
    /// The nodes of the partial reply.
    nodes: Vec<Node>,
}

impl ReplyParser {
    /// Makes a parser at the start of a stream. Allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Finds all complete replies in `buf`, and parses the beginning of an incomplete one. `buf` must begin where the
    /// bytes that earlier calls consumed end. Clears `replies` first. Before the next call, the caller must drop the
    /// [`consumed`](Replies::consumed) bytes from the front of the buffer.
    ///
    /// # Errors
    ///
    /// Returns an error if the stream cannot be read on. The replies before the error are in `replies`; later calls
    /// return the same error.
    pub fn parse(
        &mut self,
        buf: &[u8],
        limits: &ReplyLimits,
        replies: &mut Replies,
    ) -> Result<(), InvalidReply> {
        replies.clear();
        if !self.nodes.is_empty() {
            mem::swap(&mut self.nodes, &mut replies.nodes);
        }
        let result = self.parse_values(Input { buf, limits }, replies);
        self.keep_partial(replies);
        result
    }

    fn parse_values(&mut self, input: Input<'_>, replies: &mut Replies) -> Result<(), InvalidReply> {
        loop {
            let read = match self.announced {
                Some(text) => self.announced_text(text, input, replies)?,
                None => self.value(input, replies)?,
            };
            if !read {
                return Ok(());
            }
        }
    }

    /// Reads the header at `pos`, and the value if the header is all of it. Returns false if more bytes are needed.
    #[inline]
    fn value(&mut self, input: Input<'_>, replies: &mut Replies) -> Result<bool, InvalidReply> {
        let Some(&kind) = input.buf.get(self.pos) else { return Ok(false) };
        match kind {
            b'$' => self.text_header(Text::Bulk, input, replies),
            b':' => self.integer(input, replies),
            b'+' => self.line_text(Text::Simple, input, replies),
            b'-' => self.line_text(Text::Error, input, replies),
            b'*' => self.aggregate(Aggregate::Array, input, replies),
            b'%' => self.aggregate(Aggregate::Map, input, replies),
            b'~' => self.aggregate(Aggregate::Set, input, replies),
            b'>' => self.aggregate(Aggregate::Push, input, replies),
            b'|' => self.attributes(input, replies),
            b'!' => self.text_header(Text::BlobError, input, replies),
            b'=' => self.text_header(Text::Verbatim, input, replies),
            b'(' => self.line_text(Text::BigNumber, input, replies),
            b'_' | b'#' | b',' => self.small(kind, input, replies),
            _ => Err(InvalidReply::Type(kind)),
        }
    }

    /// Reads an integer.
    #[inline]
    fn integer(&mut self, input: Input<'_>, replies: &mut Replies) -> Result<bool, InvalidReply> {
        let Some((value, len)) = self.header(input, parse_integer)? else { return Ok(false) };
        let value = value.ok_or(InvalidReply::Value(b':'))?;
        self.advance(len);
        self.push(Node::Integer(value), replies);
        Ok(true)
    }

    /// Reads a null, boolean or double.
    fn small(&mut self, kind: u8, input: Input<'_>, replies: &mut Replies) -> Result<bool, InvalidReply> {
        let Some(end) = self.line_end(input, MAX_LINE)? else { return Ok(false) };
        let text = &input.buf[self.pos + 1..self.pos + end];
        let node = match (kind, text) {
            (b'_', b"") => Some(Node::Null),
            (b'#', b"t") => Some(Node::Boolean(true)),
            (b'#', b"f") => Some(Node::Boolean(false)),
            (b',', text) => parse_as(text).map(Node::Double),
            _ => None,
        };
        let node = node.ok_or(InvalidReply::Value(kind))?;
        self.advance(end + 2);
        self.push(node, replies);
        Ok(true)
    }

    /// Reads a text that ends with its line.
    fn line_text(
        &mut self,
        kind: Text,
        input: Input<'_>,
        replies: &mut Replies,
    ) -> Result<bool, InvalidReply> {
        let Some(end) = self.line_end(input, usize::MAX)? else { return Ok(false) };
        if kind == Text::BigNumber && !is_integer(&input.buf[self.pos + 1..self.pos + end]) {
            return Err(InvalidReply::Value(b'('));
        }
        let start = self.pos + 1 - self.start;
        self.advance(end + 2);
        self.push(Node::Text { kind, start, len: end - 1 }, replies);
        Ok(true)
    }

    /// Reads the length of a text that may contain anything, or a null in its place.
    #[inline]
    fn text_header(
        &mut self,
        kind: Text,
        input: Input<'_>,
        replies: &mut Replies,
    ) -> Result<bool, InvalidReply> {
        let Some((len, header)) = self.header(input, parse_length)? else { return Ok(false) };
        match len.ok_or(InvalidReply::Length)? {
            -1 if kind == Text::Bulk => {
                self.advance(header);
                self.push(Node::Null, replies);
            }
            len => {
                let len = usize::try_from(len).map_err(|_| InvalidReply::Length)?;
                if kind == Text::Verbatim && len < b"txt:".len() {
                    return Err(InvalidReply::Length);
                }
                self.check_room(header, len.saturating_add(2), input.limits)?;
                self.advance(header);
                return self.announced_text(Announced { kind, len }, input, replies);
            }
        }
        Ok(true)
    }

    /// Reads the text at `pos`, whose header has been read. Returns false if more bytes are needed.
    #[inline]
    fn announced_text(
        &mut self,
        text: Announced,
        input: Input<'_>,
        replies: &mut Replies,
    ) -> Result<bool, InvalidReply> {
        let Announced { kind, len } = text;
        let rest = &input.buf[self.pos..];
        if rest.len() < len + 2 {
            self.announced = Some(text);
            return Ok(false);
        }
        if rest[len..len + 2] != *b"\r\n" {
            self.announced = Some(text);
            return Err(InvalidReply::LineEnd);
        }
        if kind == Text::Verbatim && rest[3] != b':' {
            self.announced = Some(text);
            return Err(InvalidReply::Value(b'='));
        }
        let start = self.pos - self.start;
        self.announced = None;
        self.pos += len + 2;
        self.push(Node::Text { kind, start, len }, replies);
        Ok(true)
    }

    /// Reads the header of an array, map, set or push, or a null in place of an array.
    #[inline]
    fn aggregate(
        &mut self,
        kind: Aggregate,
        input: Input<'_>,
        replies: &mut Replies,
    ) -> Result<bool, InvalidReply> {
        let Some((count, header)) = self.header(input, parse_length)? else { return Ok(false) };
        if kind == Aggregate::Array && count == Some(-1) {
            self.advance(header);
            self.push(Node::Null, replies);
            return Ok(true);
        }
        let len = self.elements(count, kind == Aggregate::Map, header, input.limits)?;
        self.advance(header);
        let node = replies.nodes.len() - replies.complete_nodes();
        if len == 0 {
            self.push(Node::Aggregate { kind, len, end: node + 1 }, replies);
        } else {
            // The end is set when the last element has arrived.
            replies.nodes.push(Node::Aggregate { kind, len, end: 0 });
            self.open(node, len);
        }
        Ok(true)
    }

    /// Reads the header of attributes.
    fn attributes(&mut self, input: Input<'_>, replies: &mut Replies) -> Result<bool, InvalidReply> {
        if self.attributed {
            return Err(InvalidReply::Attributes);
        }
        let Some((count, header)) = self.header(input, parse_length)? else { return Ok(false) };
        let len = self.elements(count, true, header, input.limits)?;
        self.advance(header);
        let node = replies.nodes.len() - replies.complete_nodes();
        replies.nodes.push(Node::Attributes { len, end: node + 1 });
        if len == 0 {
            self.attributed = true;
        } else {
            self.open(node, len);
        }
        Ok(true)
    }

    /// The number of elements that a header announces, if it is within the limits.
    #[inline]
    fn elements(
        &self,
        count: Option<i64>,
        pairs: bool,
        header: usize,
        limits: &ReplyLimits,
    ) -> Result<usize, InvalidReply> {
        let count = count.and_then(|count| usize::try_from(count).ok()).ok_or(InvalidReply::Length)?;
        let len = if pairs { count.saturating_mul(2) } else { count };
        if len > 0 && self.open.len() >= limits.max_depth {
            return Err(InvalidReply::TooDeep);
        }
        self.check_room(header, len.saturating_mul(MIN_VALUE), limits)?;
        Ok(len)
    }

    fn open(&mut self, node: usize, missing: usize) {
        self.attributed = false;
        self.open.push(Open { node, missing });
    }

    /// Adds a complete value, and ends the aggregates of which it is the last element.
    #[inline]
    fn push(&mut self, node: Node, replies: &mut Replies) {
        replies.nodes.push(node);
        self.attributed = false;
        match self.open.last_mut() {
            Some(open) if open.missing > 1 => open.missing -= 1,
            Some(_) => self.close(replies),
            None => self.finish(replies),
        }
    }

    /// Ends the innermost aggregate, and the outer ones of which it is the last element.
    fn close(&mut self, replies: &mut Replies) {
        let first = replies.complete_nodes();
        let behind = replies.nodes.len() - first;
        while let Some(open) = self.open.last_mut() {
            open.missing -= 1;
            if open.missing > 0 {
                return;
            }
            let node = &mut replies.nodes[first + open.node];
            self.open.pop();
            match node {
                Node::Aggregate { end, .. } => *end = behind,
                Node::Attributes { end, .. } => {
                    *end = behind;
                    self.attributed = true;
                    return;
                }
                _ => {}
            }
        }
        self.finish(replies);
    }

    #[inline]
    fn finish(&mut self, replies: &mut Replies) {
        replies.finish(self.pos);
        self.start = self.pos;
    }

    /// Checks that `len` bytes may follow a header.
    #[inline]
    fn check_room(&self, header: usize, len: usize, limits: &ReplyLimits) -> Result<(), InvalidReply> {
        let taken = self.pos - self.start + header;
        if len > limits.max_len.saturating_sub(taken) { Err(InvalidReply::TooLong) } else { Ok(()) }
    }

    /// Reads the header at `pos`: the number after the first byte (`None` if it is invalid), and the length of the
    /// line. Returns `None` if the line is incomplete.
    #[inline(always)]
    fn header(
        &mut self,
        input: Input<'_>,
        parse: fn(&[u8]) -> Option<i64>,
    ) -> Result<Option<Header>, InvalidReply> {
        let line = &input.buf[self.pos..];
        match usual_header(line) {
            Some((value, len)) if line[len - 1] == b'\n' => {
                self.check_room(len, 0, input.limits)?;
                Ok(Some((Some(value as i64), len)))
            }
            _ => self.unusual_header(input, parse),
        }
    }

    #[inline(never)]
    fn unusual_header(
        &mut self,
        input: Input<'_>,
        parse: fn(&[u8]) -> Option<i64>,
    ) -> Result<Option<Header>, InvalidReply> {
        let Some(end) = self.line_end(input, MAX_LINE)? else { return Ok(None) };
        Ok(Some((parse(&input.buf[self.pos + 1..self.pos + end]), end + 2)))
    }

    /// The length of the line at `pos` without CR and LF, at most `max` bytes. Returns `None` if the line is
    /// incomplete.
    fn line_end(&mut self, input: Input<'_>, max: usize) -> Result<Option<usize>, InvalidReply> {
        let room = input.limits.max_len.saturating_sub(self.pos - self.start);
        let line = &input.buf[self.pos..];
        let mut at = self.scanned;
        let end = loop {
            let Some(found) = line[at..].iter().position(|&byte| byte == b'\r') else { break None };
            at += found;
            match line.get(at + 1) {
                Some(b'\n') => break Some(at),
                // This byte is examined again, together with the next.
                None => break None,
                Some(_) => at += 1,
            }
        };
        self.scanned = end.unwrap_or(if line.ends_with(b"\r") { line.len() - 1 } else { line.len() });
        if self.scanned > max || self.scanned.saturating_add(2) > room {
            return Err(InvalidReply::TooLong);
        }
        Ok(end)
    }

    /// Skips a line.
    #[inline]
    fn advance(&mut self, len: usize) {
        self.pos += len;
        self.scanned = 0;
    }

    /// Takes the nodes of the partial reply out of the replies. Makes all positions relative to the rest of the buffer
    /// after the replies' bytes have been dropped.
    fn keep_partial(&mut self, replies: &mut Replies) {
        self.pos -= self.start;
        self.start = 0;
        if !replies.is_empty() {
            self.nodes.extend(replies.nodes.drain(replies.complete_nodes()..));
        } else if !replies.nodes.is_empty() {
            // No reply is complete: all nodes are partial, and may be many. Swapping avoids the copy.
            mem::swap(&mut self.nodes, &mut replies.nodes);
        }
        if self.nodes.is_empty() && self.nodes.capacity() > KEPT {
            self.nodes = Vec::new();
        }
        if self.open.is_empty() && self.open.capacity() > KEPT {
            self.open = Vec::new();
        }
    }
}

/// Parses a text that the standard library reads as RESP defines it.
fn parse_as<T: str::FromStr>(text: &[u8]) -> Option<T> {
    str::from_utf8(text).ok()?.parse().ok()
}

/// Parses a signed integer, which may have leading zeros.
fn parse_integer(text: &[u8]) -> Option<i64> {
    parse_as(text)
}

/// Parses a length: digits only, or -1.
fn parse_length(text: &[u8]) -> Option<i64> {
    if text == b"-1" || text.first().is_some_and(u8::is_ascii_digit) { parse_as(text) } else { None }
}

fn is_integer(text: &[u8]) -> bool {
    let digits = match text {
        [b'+' | b'-', digits @ ..] => digits,
        digits => digits,
    };
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests;

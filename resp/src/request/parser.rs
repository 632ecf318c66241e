//! The request parser: flat arrays of bulk strings and inline commands, resumable at every byte.

use super::batch::{Batch, Span};
use crate::Reply;
use crate::line::{MAX_LINE, usual_header};
use std::{fmt, mem};

/// The most arguments of a request before authentication.
const MAX_UNAUTHENTICATED_ARGUMENTS: i64 = 10;
/// The most bytes of an argument before authentication.
const MAX_UNAUTHENTICATED_BULK: i64 = 16_384;
/// The most spans whose memory an idle parser keeps.
const KEPT_SPANS: usize = 32;

/// A header's integer (`None` if it is invalid), and the length of its line with the two bytes that end it.
type Header = (Option<i64>, usize);

/// Limits on the requests of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// The most bytes of an argument (`proto-max-bulk-len`; by default 512 MiB).
    pub max_bulk: usize,
    /// Whether the client has yet to authenticate, which limits requests to 10 arguments of at most 16,384 bytes each.
    pub unauthenticated: bool,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self { max_bulk: 512 * 1024 * 1024, unauthenticated: false }
    }
}

/// The reason why a stream of requests cannot be read any further. The client gets the error, and the connection is
/// closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// A multibulk header is not an integer, or above 2³¹ − 1.
    InvalidMultibulkLength,
    /// A bulk header is not an integer, or negative, or above the limit.
    InvalidBulkLength,
    /// A line that begins with this byte appears in place of a bulk header.
    ExpectedBulk(u8),
    /// A multibulk header whose end has not arrived is longer than [`MAX_LINE`].
    TooBigMultibulkLine,
    /// A bulk header whose end has not arrived is longer than [`MAX_LINE`].
    TooBigBulkLine,
    /// An inline request whose end has not arrived is longer than [`MAX_LINE`].
    TooBigInline,
    /// An inline request has a quote that is not closed, or closed within a word.
    UnbalancedQuotes,
    /// A request has more than 10 arguments before authentication.
    UnauthenticatedMultibulkLength,
    /// An argument has more than 16,384 bytes before authentication.
    UnauthenticatedBulkLength,
}

impl ProtocolError {
    /// Replies the error to the client as Redis does: `-ERR Protocol error: …`.
    pub fn reply(&self, reply: &mut dyn Reply) {
        if let Self::ExpectedBulk(byte) = *self {
            let mut text = *b"ERR Protocol error: expected '$', got '?'";
            let at = text.len() - 2;
            text[at] = byte;
            reply.error(&text);
        } else {
            reply.error(format!("ERR {self}").as_bytes());
        }
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Protocol error: ")?;
        f.write_str(match self {
            Self::InvalidMultibulkLength => "invalid multibulk length",
            Self::InvalidBulkLength => "invalid bulk length",
            Self::ExpectedBulk(byte) => return write!(f, "expected '$', got '{}'", byte.escape_ascii()),
            Self::TooBigMultibulkLine => "too big mbulk count string",
            Self::TooBigBulkLine => "too big bulk count string",
            Self::TooBigInline => "too big inline request",
            Self::UnbalancedQuotes => "unbalanced quotes in request",
            Self::UnauthenticatedMultibulkLength => "unauthenticated multibulk length",
            Self::UnauthenticatedBulkLength => "unauthenticated bulk length",
        })
    }
}

impl std::error::Error for ProtocolError {}

/// The state of one connection's stream of requests: the parsed part of the incomplete request.
///
/// All positions are relative to the start of the buffer after the [`consumed`](Batch::consumed) bytes have been
/// dropped from its front. So nothing is parsed twice: the work for any split of the input is O(its length). Memory
/// grows with the arguments that have arrived, never with announced counts.
#[derive(Debug, Default)]
pub struct RequestParser {
    /// The start of the next header line or argument.
    pos: usize,
    /// The number of bytes of the line at `pos` that are known not to end it.
    scanned: usize,
    /// The number of arguments of the partial request that have not arrived yet; 0 between requests.
    missing: usize,
    /// The length of the argument at `pos`, once its header has been read.
    bulk: Option<usize>,
    /// The arguments of the partial request that have arrived.
    spans: Vec<Span>,
}

impl RequestParser {
    /// Makes a parser at the start of a stream. Allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the partial request: the next [`parse`](RequestParser::parse) begins at the start of its buffer. For a
    /// caller that stops within a batch because its client blocks, and drops only the
    /// [`consumed_by`](Batch::consumed_by) bytes.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// The least length of the buffer once the argument that is arriving is complete. `None` if its header is
    /// incomplete. O(1).
    pub fn wanted(&self) -> Option<usize> {
        self.bulk.map(|bulk| self.pos.saturating_add(bulk).saturating_add(2))
    }

    /// Fills `batch`, which is cleared first, with all complete requests of `buf`.
    ///
    /// `buf` must begin where the last call's consumed bytes ended, and hold everything that the last call saw after
    /// them. After running the batch, the caller drops [`Batch::consumed`] bytes from the front. While
    /// [`Batch::has_more`], it parses again at once, otherwise when more bytes have arrived.
    ///
    /// # Errors
    ///
    /// Returns an error if the stream cannot be read on. The requests before the error are in `batch`. The caller runs
    /// them, replies the error, and closes the connection.
    pub fn parse(
        &mut self,
        buf: &[u8],
        limits: &RequestLimits,
        batch: &mut Batch,
    ) -> Result<(), ProtocolError> {
        batch.clear();
        if !self.spans.is_empty() {
            mem::swap(&mut self.spans, &mut batch.spans);
        }
        let result = self.parse_requests(buf, limits, batch);
        self.keep_partial(batch);
        result
    }

    fn parse_requests(
        &mut self,
        buf: &[u8],
        limits: &RequestLimits,
        batch: &mut Batch,
    ) -> Result<(), ProtocolError> {
        loop {
            if self.missing == 0 {
                let Some(&first) = buf.get(self.pos) else { return Ok(()) };
                if batch.is_full() {
                    batch.has_more = true;
                    return Ok(());
                }
                let read = if first == b'*' {
                    self.multibulk(buf, limits, batch)?
                } else {
                    self.inline(buf, batch)?
                };
                if !read {
                    return Ok(());
                }
                if self.missing == 0 {
                    continue;
                }
            }
            self.usual_arguments(buf, limits, batch);
            while self.missing > 0 {
                if !self.argument(buf, limits, batch)? {
                    return Ok(());
                }
            }
            batch.finish(self.pos);
        }
    }

    /// Reads the header `*n`. Returns false if it must wait, for bytes or for the next batch.
    #[inline]
    fn multibulk(
        &mut self,
        buf: &[u8],
        limits: &RequestLimits,
        batch: &mut Batch,
    ) -> Result<bool, ProtocolError> {
        let Some((count, len)) = self.header(buf, ProtocolError::TooBigMultibulkLine)? else {
            return Ok(false);
        };
        let count = match count {
            Some(count) if count <= i64::from(i32::MAX) => count,
            _ => return Err(ProtocolError::InvalidMultibulkLength),
        };
        if limits.unauthenticated && count > MAX_UNAUTHENTICATED_ARGUMENTS {
            return self.refuse(ProtocolError::UnauthenticatedMultibulkLength, batch);
        }
        // Zero and negative counts are empty requests.
        let count = usize::try_from(count).unwrap_or(0);
        if batch.is_too_full_for(count) {
            batch.has_more = true;
            return Ok(false);
        }
        self.advance(len);
        self.missing = count;
        if count == 0 {
            batch.consumed = self.pos;
        }
        Ok(true)
    }

    /// Reads arguments as long as they are complete and plain, as nearly all are. [`argument`](Self::argument) handles
    /// the rest.
    #[inline]
    fn usual_arguments(&mut self, buf: &[u8], limits: &RequestLimits, batch: &mut Batch) {
        if self.bulk.is_some() {
            return;
        }
        let max = if limits.unauthenticated {
            limits.max_bulk.min(MAX_UNAUTHENTICATED_BULK as usize)
        } else {
            limits.max_bulk
        };
        let (mut pos, mut missing) = (self.pos, self.missing);
        while missing > 0 {
            let Some(line @ [b'$', ..]) = buf.get(pos..) else { break };
            let Some((len, header)) = usual_header(line) else { break };
            if len > max || line.len() < header + len + 2 {
                break;
            }
            batch.spans.push(Span { start: pos + header, len });
            pos += header + len + 2;
            missing -= 1;
        }
        if missing < self.missing {
            (self.pos, self.missing, self.scanned) = (pos, missing, 0);
        }
    }

    /// Reads one argument, its header and its bytes. Returns false if it must wait.
    #[inline]
    fn argument(
        &mut self,
        buf: &[u8],
        limits: &RequestLimits,
        batch: &mut Batch,
    ) -> Result<bool, ProtocolError> {
        let bulk = match self.bulk {
            Some(bulk) => bulk,
            None => {
                let Some((bulk, len)) = self.header(buf, ProtocolError::TooBigBulkLine)? else {
                    return Ok(false);
                };
                if buf[self.pos] != b'$' {
                    return Err(ProtocolError::ExpectedBulk(buf[self.pos]));
                }
                let max = i64::try_from(limits.max_bulk).unwrap_or(i64::MAX);
                let bulk = match bulk {
                    Some(bulk) if (0..=max).contains(&bulk) => bulk,
                    _ => return Err(ProtocolError::InvalidBulkLength),
                };
                if limits.unauthenticated && bulk > MAX_UNAUTHENTICATED_BULK {
                    return self.refuse(ProtocolError::UnauthenticatedBulkLength, batch);
                }
                self.advance(len);
                // No truncation: the length is at most `max_bulk`.
                bulk as usize
            }
        };
        // The two bytes after an argument are skipped unread, as in Redis 7.
        if buf.len() - self.pos < bulk.saturating_add(2) {
            self.bulk = Some(bulk);
            return Ok(false);
        }
        self.bulk = None;
        batch.spans.push(Span { start: self.pos, len: bulk });
        self.pos += bulk + 2;
        self.missing -= 1;
        Ok(true)
    }

    /// Refuses a request that is too big before authentication. If an earlier request of the same buffer may be the
    /// `AUTH`, the decision is left until that has run.
    #[cold]
    fn refuse(&mut self, error: ProtocolError, batch: &mut Batch) -> Result<bool, ProtocolError> {
        if batch.is_empty() {
            return Err(error);
        }
        batch.has_more = true;
        Ok(false)
    }

    /// Reads the header line at `pos`: the integer after the first byte (`None` if it is invalid), and the length of
    /// the line. Returns `None` if the line is incomplete.
    #[inline(always)]
    fn header(&mut self, buf: &[u8], too_big: ProtocolError) -> Result<Option<Header>, ProtocolError> {
        match buf.get(self.pos..).and_then(usual_header) {
            Some((value, len)) => Ok(Some((Some(value as i64), len))),
            None => self.unusual_header(buf, too_big),
        }
    }

    #[cold]
    fn unusual_header(
        &mut self,
        buf: &[u8],
        too_big: ProtocolError,
    ) -> Result<Option<Header>, ProtocolError> {
        let Some(end) = self.line_end(buf, b'\r', too_big)? else { return Ok(None) };
        // The byte after CR belongs to the line end, whichever byte it is, and must have arrived.
        if self.pos + end + 1 >= buf.len() {
            return Ok(None);
        }
        let value = buf.get(self.pos + 1..self.pos + end).and_then(crate::number::parse_i64);
        Ok(Some((value, end + 2)))
    }

    /// Reads the line at `pos` as an inline request. Returns false if the line is incomplete.
    fn inline(&mut self, buf: &[u8], batch: &mut Batch) -> Result<bool, ProtocolError> {
        let Some(end) = self.line_end(buf, b'\n', ProtocolError::TooBigInline)? else { return Ok(false) };
        let line = &buf[self.pos..self.pos + end];
        self.advance(end + 1);
        if batch.push_inline(line, self.pos) { Ok(true) } else { Err(ProtocolError::UnbalancedQuotes) }
    }

    /// The length of the line at `pos` before its end byte. Returns `None` if the line is incomplete.
    ///
    /// A complete line may have any length, as in Redis; an incomplete line may have [`MAX_LINE`] bytes. Redis reads
    /// lines as C strings: a NUL byte hides the end of the line, and the stream then waits until the line is too long.
    fn line_end(
        &mut self,
        buf: &[u8],
        end: u8,
        too_big: ProtocolError,
    ) -> Result<Option<usize>, ProtocolError> {
        let line = &buf[self.pos..];
        let fresh = &line[self.scanned..];
        match fresh.iter().position(|&byte| byte == end || byte == 0) {
            Some(at) if fresh[at] == end => {
                self.scanned += at;
                return Ok(Some(self.scanned));
            }
            // The NUL byte is found again at the next call.
            Some(at) => self.scanned += at,
            None => self.scanned = line.len(),
        }
        if line.len() > MAX_LINE { Err(too_big) } else { Ok(None) }
    }

    /// Skips a line.
    #[inline]
    fn advance(&mut self, len: usize) {
        self.pos += len;
        self.scanned = 0;
    }

    /// Takes the arguments of the partial request out of the batch. Makes all positions relative to the rest of the
    /// buffer after the batch's bytes have been dropped.
    fn keep_partial(&mut self, batch: &mut Batch) {
        let dropped = batch.consumed;
        self.pos -= dropped;
        if dropped > 0 {
            let complete = batch.complete_spans();
            let partial = batch.spans.drain(complete..);
            self.spans.extend(partial.map(|span| Span { start: span.start - dropped, ..span }));
        } else if !batch.spans.is_empty() {
            // No request is complete: all spans are partial, and may be many. Swapping avoids the copy.
            mem::swap(&mut self.spans, &mut batch.spans);
        }
        if self.spans.is_empty() && self.spans.capacity() > KEPT_SPANS {
            self.spans = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests;

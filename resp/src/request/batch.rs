//! The complete requests of one read buffer, as ranges into it.

use super::inline;

/// The most requests of a batch. Further ones are left for the next batch. So a long pipeline yields to other clients,
/// and little is parsed in vain for a client that blocks.
const MAX_REQUESTS: usize = 1024;
/// The number of arguments, over all requests, from which on a batch is full.
const MAX_ARGUMENTS: usize = 4096;
/// The most spans whose memory is kept for the next batch.
const KEPT_SPANS: usize = MAX_ARGUMENTS;
/// The most bytes of scratch memory that are kept for the next batch.
const KEPT_SCRATCH: usize = 16 * 1024;

/// The position of one argument, in the read buffer or in the scratch memory of the batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) len: usize,
}

/// One complete request.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// The index after the request's last span. Its first span follows the previous request's last one.
    spans_end: usize,
    /// The number of bytes of the buffer that this and all earlier requests cover.
    consumed: usize,
    /// Whether the spans point into the scratch memory instead of the read buffer.
    inline: bool,
}

/// Fills the array with the arguments, as many as it has room for; returns the filled part.
#[inline(always)]
fn fill<'s, 'a>(
    array: &'s mut [&'a [u8]],
    arguments: impl ExactSizeIterator<Item = &'a [u8]>,
) -> &'s [&'a [u8]] {
    let len = arguments.len();
    array.iter_mut().zip(arguments).for_each(|(place, argument)| *place = argument);
    &array[..len]
}

/// All complete requests that [`RequestParser::parse`](crate::RequestParser::parse) found in a read buffer, in order.
///
/// Holds ranges, not bytes: [`arguments`](Batch::arguments) takes the same buffer again. If it is reused for each read,
/// it allocates nothing.
#[derive(Debug, Default)]
pub struct Batch {
    pub(crate) spans: Vec<Span>,
    requests: Vec<Request>,
    scratch: Vec<u8>,
    pub(crate) consumed: usize,
    pub(crate) has_more: bool,
}

impl Batch {
    /// Makes an empty batch. Allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Drops all requests and frees memory that only an unusual request needed.
    pub fn clear(&mut self) {
        self.spans.clear();
        self.requests.clear();
        self.scratch.clear();
        if self.spans.capacity() > KEPT_SPANS * 2 {
            self.spans.shrink_to(KEPT_SPANS);
        }
        if self.scratch.capacity() > KEPT_SCRATCH * 2 {
            self.scratch.shrink_to(KEPT_SCRATCH);
        }
        self.consumed = 0;
        self.has_more = false;
    }

    /// The number of complete requests.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether there is no complete request. Even then bytes may have been consumed: empty lines, `*0`.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// The number of bytes at the front of the buffer that the complete requests cover, with the empty requests among
    /// and after them. To be dropped once all requests have run.
    pub fn consumed(&self) -> usize {
        self.consumed
    }

    /// The number of bytes at the front of the buffer that the requests `0..=i` cover. Panics if there is no request
    /// `i`.
    pub fn consumed_by(&self, i: usize) -> usize {
        self.requests[i].consumed
    }

    /// Whether the parser stopped although the buffer may hold further complete requests. Either the batch is full, or
    /// the next request can only be checked after these have run: its size is allowed if one of them is a successful
    /// `AUTH`. The caller runs the batch, drops the [`consumed`](Batch::consumed) bytes and parses again, without
    /// waiting for more bytes.
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// The arguments of request `i`, its name first. `buf` must be the parsed buffer, with nothing dropped from its
    /// front since. Panics if there is no request `i` or `buf` is shorter than the parsed buffer.
    pub fn arguments<'a>(
        &'a self,
        i: usize,
        buf: &'a [u8],
    ) -> impl ExactSizeIterator<Item = &'a [u8]> + DoubleEndedIterator + Clone {
        let request = self.requests[i];
        let bytes = if request.inline { &self.scratch[..] } else { buf };
        let spans = &self.spans[self.first_span(i)..request.spans_end];
        spans.iter().map(move |span| &bytes[span.start..span.start + span.len])
    }

    /// Calls `run` with the arguments of request `i`, its name first. `buf` is as for [`arguments`](Batch::arguments).
    /// Nothing is allocated for a request of up to sixteen arguments.
    #[inline]
    pub fn with_arguments<T>(&self, i: usize, buf: &[u8], run: impl FnOnce(&[&[u8]]) -> T) -> T {
        // Most requests have few arguments. Clearing a longer array first would take as long as filling it.
        let arguments = self.arguments(i, buf);
        match arguments.len() {
            0..=4 => run(fill(&mut [b"".as_slice(); 4], arguments)),
            5..=8 => run(fill(&mut [b"".as_slice(); 8], arguments)),
            9..=16 => run(fill(&mut [b"".as_slice(); 16], arguments)),
            _ => run(&arguments.collect::<Vec<_>>()),
        }
    }

    fn first_span(&self, i: usize) -> usize {
        if i == 0 { 0 } else { self.requests[i - 1].spans_end }
    }

    /// Whether the next request has to wait for the next batch.
    pub(crate) fn is_full(&self) -> bool {
        self.requests.len() >= MAX_REQUESTS
            || (self.spans.len() >= MAX_ARGUMENTS && !self.requests.is_empty())
    }

    /// Whether a request of `arguments` arguments must begin a batch of its own. Then little of it is parsed in vain if
    /// an earlier request blocks.
    pub(crate) fn is_too_full_for(&self, arguments: usize) -> bool {
        arguments > MAX_ARGUMENTS && !self.requests.is_empty()
    }

    /// The index after the last span of a complete request.
    pub(crate) fn complete_spans(&self) -> usize {
        self.requests.last().map_or(0, |request| request.spans_end)
    }

    /// Ends the request whose spans have been pushed. The next one begins at `end` in the buffer.
    pub(crate) fn finish(&mut self, end: usize) {
        self.consumed = end;
        self.requests.push(Request { spans_end: self.spans.len(), consumed: end, inline: false });
    }

    /// Adds the inline request in `line`, if it has any word. The next request begins at `end` in the buffer. Returns
    /// false if the quotes are unbalanced; nothing is added then.
    pub(crate) fn push_inline(&mut self, line: &[u8], end: usize) -> bool {
        let (spans, scratch) = (self.spans.len(), self.scratch.len());
        let whole = inline::split(line, |word| {
            let start = self.scratch.len();
            word.append_to(&mut self.scratch);
            self.spans.push(Span { start, len: self.scratch.len() - start });
        });
        if !whole {
            self.spans.truncate(spans);
            self.scratch.truncate(scratch);
            return false;
        }
        self.consumed = end;
        if self.spans.len() > spans {
            self.requests.push(Request { spans_end: self.spans.len(), consumed: end, inline: true });
        }
        true
    }
}

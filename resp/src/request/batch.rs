//! The complete requests of one read buffer, as ranges into it.

use super::inline;

/// More requests than this are left for the next batch, so that a long pipeline yields to other clients and little is
/// parsed in vain for a client that blocks.
const MAX_REQUESTS: usize = 1024;
/// More arguments than this, over all requests of the batch, likewise begin the next batch.
const MAX_ARGUMENTS: usize = 4096;
/// Memory for at most this many spans is kept for the next batch.
const KEPT_SPANS: usize = MAX_ARGUMENTS;
/// At most this many bytes of scratch memory are kept for the next batch.
const KEPT_SCRATCH: usize = 16 * 1024;

/// Where one argument lies, in the read buffer or in the scratch memory of the batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) len: usize,
}

/// One complete request.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// The index after its last span; it begins where the one before ends.
    spans_end: usize,
    /// The bytes of the buffer that this and all earlier requests cover.
    consumed: usize,
    /// Whether its spans point into the scratch memory and not into the read buffer.
    inline: bool,
}

/// Puts the arguments into the array, as many as it has room for.
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
/// It holds ranges, not bytes: [`arguments`](Batch::arguments) takes the same buffer again. Reused from one read to
/// the next it allocates nothing.
#[derive(Debug, Default)]
pub struct Batch {
    pub(crate) spans: Vec<Span>,
    requests: Vec<Request>,
    scratch: Vec<u8>,
    pub(crate) consumed: usize,
    pub(crate) has_more: bool,
}

impl Batch {
    /// An empty batch. Allocates nothing.
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

    /// Whether there is no complete request. Bytes may have been consumed even so: empty lines, `*0`.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// The bytes at the front of the buffer that the complete requests cover, with the empty requests among and after
    /// them: what to drop once all of them have run.
    pub fn consumed(&self) -> usize {
        self.consumed
    }

    /// The bytes at the front of the buffer that the requests `0..=i` cover. Panics if there is no request `i`.
    pub fn consumed_by(&self, i: usize) -> usize {
        self.requests[i].consumed
    }

    /// Whether the parser stopped although the buffer may hold further complete requests: the batch is full, or the
    /// next request can only be judged after these have run (its size is fine if one of them is the right `AUTH`).
    /// Run the batch, drop what it [`consumed`](Batch::consumed) and parse again, without waiting for more bytes.
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// The arguments of request `i`, its name first; `buf` is the buffer that was parsed, nothing dropped from its
    /// front since. Panics if there is no request `i` or `buf` is shorter than what was parsed.
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

    /// Calls `run` with the arguments of request `i`, its name first; as for [`arguments`](Batch::arguments).
    /// Nothing is allocated for a request of up to sixteen arguments.
    #[inline]
    pub fn with_arguments<T>(&self, i: usize, buf: &[u8], run: impl FnOnce(&[&[u8]]) -> T) -> T {
        // Most requests have few: filling a longer array first would take as long as filling in their arguments.
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

    /// Whether a request of `arguments` arguments has to begin a batch of its own, so that little of it is parsed in
    /// vain when an earlier one blocks.
    pub(crate) fn is_too_full_for(&self, arguments: usize) -> bool {
        arguments > MAX_ARGUMENTS && !self.requests.is_empty()
    }

    /// The index after the last span of a complete request.
    pub(crate) fn complete_spans(&self) -> usize {
        self.requests.last().map_or(0, |request| request.spans_end)
    }

    /// Ends the request whose spans have been pushed; the next one begins at `end` in the buffer.
    pub(crate) fn finish(&mut self, end: usize) {
        self.consumed = end;
        self.requests.push(Request { spans_end: self.spans.len(), consumed: end, inline: false });
    }

    /// Adds the inline request in `line`, if it has any word; the next request begins at `end` in the buffer.
    /// False when its quotes are unbalanced; then nothing is added.
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

//! What a client has sent and what of it is complete.

use bytes::{Buf, BytesMut};
use lockwheel_resp::{Batch, ProtocolError, RequestLimits, RequestParser};
use smallvec::SmallVec;

/// A buffer that has grown beyond this is given back once it is empty.
const KEEP: usize = 64 * 1024;

/// The arguments of one request.
pub(super) type Arguments<'a> = SmallVec<[&'a [u8]; 16]>;

/// Bytes that have been read and not yet run: complete requests, and the beginning of one.
#[derive(Default)]
pub(super) struct Input {
    pub(super) limits: RequestLimits,
    bytes: BytesMut,
    parser: RequestParser,
    /// The complete requests that `bytes` begins with, once parsed.
    batch: Batch,
    parsed: Option<Result<(), ProtocolError>>,
}

impl Input {
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Finds the complete requests, and how many there are: at least one unless there is none, or an error where one
    /// should begin. Nothing is parsed twice.
    pub(super) fn parse(&mut self) -> Result<usize, ProtocolError> {
        if self.parsed.is_none() && !self.bytes.is_empty() {
            self.batch.clear();
            self.parsed = Some(self.parser.parse(&self.bytes, &self.limits, &mut self.batch));
        }
        if !self.batch.is_empty() {
            return Ok(self.batch.len());
        }
        // Empty requests, which nobody answers.
        self.drop_bytes(self.batch.consumed());
        self.batch.clear();
        if let Some(Err(error)) = self.parsed {
            return Err(error);
        }
        self.parsed = None;
        Ok(0)
    }

    /// The complete requests that are known of.
    pub(super) fn requests(&self) -> usize {
        self.batch.len()
    }

    /// The arguments of request `i` of those.
    pub(super) fn arguments(&self, i: usize) -> Arguments<'_> {
        self.batch.arguments(i, &self.bytes).collect()
    }

    /// Calls `run` with the arguments of request `i`: cheaper than to keep them.
    pub(super) fn with_arguments<T>(&self, i: usize, run: impl FnOnce(&[&[u8]]) -> T) -> T {
        self.batch.with_arguments(i, &self.bytes, run)
    }

    /// Drops the first `ran` of them, at least one.
    pub(super) fn drop_requests(&mut self, ran: usize) {
        if ran == self.batch.len() {
            self.drop_bytes(self.batch.consumed());
        } else {
            self.drop_bytes(self.batch.consumed_by(ran - 1));
            self.parser.reset();
        }
        self.batch.clear();
        self.parsed = None;
    }

    fn drop_bytes(&mut self, count: usize) {
        if count < self.bytes.len() {
            return self.bytes.advance(count);
        }
        // The next request begins at the front again, where the memory is warm.
        self.bytes.clear();
        if self.bytes.capacity() > KEEP {
            self.bytes = BytesMut::new();
        }
    }
}

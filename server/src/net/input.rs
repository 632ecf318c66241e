//! Input that has been read and perhaps parsed, but not run.

use lockwheel_engine::clients::ClientBuffers;
use lockwheel_resp::allocation::{self, OutOfMemory};
use lockwheel_resp::{Batch, ProtocolError, RequestLimits, RequestParser};
use smallvec::SmallVec;
use std::sync::Arc;

/// The bytes of capacity beyond which an empty buffer is freed, so that an idle connection holds little.
const KEEP: usize = 16 * 1024;

/// The room for a large argument, as a multiple of the bytes received. It is rarely moved, and a client that announces
/// much and sends little costs no memory.
const AHEAD: usize = 8;

pub(super) type Arguments<'a> = SmallVec<[&'a [u8]; 16]>;

/// Calls `run` with the arguments of the first complete request in these bytes, if there is one.
pub(super) fn with_first_request<T>(bytes: &[u8], run: impl FnOnce(&[&[u8]]) -> T) -> Option<T> {
    let mut batch = Batch::default();
    // A protocol error is answered when it is read.
    let _parsed = RequestParser::default().parse(bytes, &RequestLimits::default(), &mut batch);
    (!batch.is_empty()).then(|| batch.with_arguments(0, bytes, run))
}

/// Bytes that have been read and not yet run: complete requests, and the beginning of the next one.
pub(super) struct Input {
    pub(super) limits: RequestLimits,
    bytes: Vec<u8>,
    /// The number of bytes at the front that have been run.
    done: usize,
    parser: RequestParser,
    /// The complete requests at the front of `bytes`, once parsed.
    batch: Batch,
    parsed: Option<Result<(), ProtocolError>>,
    buffers: Arc<ClientBuffers>,
}

impl Input {
    pub(super) fn new(buffers: Arc<ClientBuffers>) -> Self {
        Input {
            limits: RequestLimits::default(),
            bytes: Vec::new(),
            done: 0,
            parser: RequestParser::default(),
            batch: Batch::default(),
            parsed: None,
            buffers,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.done..]
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.done
    }

    /// Discards all input; later input is discarded, too.
    pub(super) fn clear(&mut self) {
        *self = Input { limits: self.limits, ..Input::new(self.buffers.clone()) };
        self.record_len();
    }

    /// Appends bytes that have been read, or returns their size if there is no memory for it.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), OutOfMemory> {
        let is_full = self.bytes.capacity() - self.bytes.len() < bytes.len();
        // A move copies no more bytes than were run since the last move.
        if is_full && self.done > 0 && self.done >= self.len() {
            self.bytes.drain(..self.done);
            self.done = 0;
        }
        self.make_room(bytes.len());
        allocation::try_reserve(&mut self.bytes, bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Makes room for more bytes of a large argument, but never more than the argument needs.
    fn make_room(&mut self, more: usize) {
        let len = self.bytes.len() + more;
        let Some(wanted) = self.parser.wanted() else { return };
        let room = (self.done + wanted).min(len.saturating_mul(AHEAD));
        if len > self.bytes.capacity() && room > KEEP && room >= len {
            // If there is not enough memory, the vector grows as usual.
            let _refused = self.bytes.try_reserve_exact(room - self.bytes.len());
        }
    }

    pub(super) fn count_partial_read(&self) {
        self.buffers.count_partial_read();
    }

    pub(super) fn record_len(&self) {
        self.buffers.set_query(self.len(), self.bytes.capacity());
    }

    /// Parses the complete requests, none twice, and returns their number. Returns 0 only if none is complete, or an
    /// error if the next request is invalid.
    pub(super) fn parse(&mut self) -> Result<usize, ProtocolError> {
        if self.parsed.is_none() && self.len() > 0 {
            self.batch.clear();
            self.parsed = Some(self.parser.parse(&self.bytes[self.done..], &self.limits, &mut self.batch));
        }
        if !self.batch.is_empty() {
            return Ok(self.batch.len());
        }
        // Only empty requests are left here, which get no reply.
        self.drop_bytes(self.batch.consumed());
        self.batch.clear();
        if let Some(Err(error)) = self.parsed {
            return Err(error);
        }
        self.parsed = None;
        Ok(0)
    }

    /// Returns the number of complete requests found so far.
    pub(super) fn requests(&self) -> usize {
        self.batch.len()
    }

    pub(super) fn arguments(&self, i: usize) -> Arguments<'_> {
        self.batch.arguments(i, &self.bytes[self.done..]).collect()
    }

    /// Calls `run` with the arguments of request `i`, which is cheaper than collecting them.
    pub(super) fn with_arguments<T>(&self, i: usize, run: impl FnOnce(&[&[u8]]) -> T) -> T {
        self.batch.with_arguments(i, &self.bytes[self.done..], run)
    }

    /// Drops the first `ran` requests, at least one.
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

    /// Takes all complete requests, up to the first invalid one.
    pub(super) fn take_requests(&mut self) -> Vec<Vec<Vec<u8>>> {
        let mut taken = Vec::new();
        while self.len() > 0 && matches!(self.parse(), Ok(1..)) {
            let requests = 0..self.requests();
            taken.extend(requests.map(|i| self.arguments(i).iter().map(|arg| arg.to_vec()).collect()));
            self.drop_requests(self.requests());
        }
        taken
    }

    fn drop_bytes(&mut self, count: usize) {
        self.done += count;
        if self.done < self.bytes.len() {
            return;
        }
        // The next request begins at the front again, where the memory is warm.
        self.done = 0;
        self.bytes.clear();
        if self.bytes.capacity() > KEEP {
            self.bytes = Vec::new();
        }
    }
}

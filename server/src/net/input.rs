//! Input of a client: read, parsed, not yet run.

use lockwheel_engine::clients::ClientBuffers;
use lockwheel_resp::allocation::{self, OutOfMemory};
use lockwheel_resp::{Batch, ProtocolError, RequestLimits, RequestParser};
use smallvec::SmallVec;
use std::sync::Arc;

/// A buffer that has grown beyond this is given back once it is empty: a large request pays for its own memory, and a
/// connection that waits after it holds little.
const KEEP: usize = 16 * 1024;

/// A large argument gets room for so many times what has come of it, until it fits: it is rarely moved, and who
/// announces much and sends little takes no memory.
const AHEAD: usize = 8;

/// The arguments of one request.
pub(super) type Arguments<'a> = SmallVec<[&'a [u8]; 16]>;

/// Calls `run` with the arguments of the first of the complete requests in these bytes, if there is one.
pub(super) fn with_first_request<T>(bytes: &[u8], run: impl FnOnce(&[&[u8]]) -> T) -> Option<T> {
    let mut batch = Batch::default();
    // What is wrong is answered when it is read.
    let _parsed = RequestParser::default().parse(bytes, &RequestLimits::default(), &mut batch);
    (!batch.is_empty()).then(|| batch.with_arguments(0, bytes, run))
}

/// Bytes that have been read and not yet run: complete requests, and the beginning of one.
pub(super) struct Input {
    pub(super) limits: RequestLimits,
    bytes: Vec<u8>,
    /// Bytes at the front that have been run.
    done: usize,
    parser: RequestParser,
    /// The complete requests that `bytes` begins with, once parsed.
    batch: Batch,
    parsed: Option<Result<(), ProtocolError>>,
    /// The counters shared with the session.
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

    /// What has not been run.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.done..]
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.done
    }

    /// Forgets everything, as what comes from now on is forgotten.
    pub(super) fn clear(&mut self) {
        *self = Input { limits: self.limits, ..Input::new(self.buffers.clone()) };
        self.record_len();
    }

    /// Appends what has been read.
    ///
    /// # Errors
    /// Returns the size if there is no memory for it.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), OutOfMemory> {
        let is_full = self.bytes.capacity() - self.bytes.len() < bytes.len();
        // Moves no more than what was run since the last move.
        if is_full && self.done > 0 && self.done >= self.len() {
            self.bytes.drain(..self.done);
            self.done = 0;
        }
        self.make_room(bytes.len());
        allocation::try_reserve(&mut self.bytes, bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Makes room for more bytes of a large argument, and for no more than the argument has.
    fn make_room(&mut self, more: usize) {
        let len = self.bytes.len() + more;
        let Some(wanted) = self.parser.wanted() else { return };
        let room = (self.done + wanted).min(len.saturating_mul(AHEAD));
        if len > self.bytes.capacity() && room > KEEP && room >= len {
            // Where there is no such room, it grows as any vector does.
            let _refused = self.bytes.try_reserve_exact(room - self.bytes.len());
        }
    }

    /// Counts a read that completes no request.
    pub(super) fn count_partial_read(&self) {
        self.buffers.count_partial_read();
    }

    /// Records how much it holds.
    pub(super) fn record_len(&self) {
        self.buffers.set_query(self.len(), self.bytes.capacity());
    }

    /// Parses the complete requests, and returns how many there are: at least one unless there is none, or an error
    /// where one should begin. Nothing is parsed twice.
    pub(super) fn parse(&mut self) -> Result<usize, ProtocolError> {
        if self.parsed.is_none() && self.len() > 0 {
            self.batch.clear();
            self.parsed = Some(self.parser.parse(&self.bytes[self.done..], &self.limits, &mut self.batch));
        }
        if !self.batch.is_empty() {
            return Ok(self.batch.len());
        }
        // Empty requests, which get no answer.
        self.drop_bytes(self.batch.consumed());
        self.batch.clear();
        if let Some(Err(error)) = self.parsed {
            return Err(error);
        }
        self.parsed = None;
        Ok(0)
    }

    /// The complete requests found so far.
    pub(super) fn requests(&self) -> usize {
        self.batch.len()
    }

    /// The arguments of request `i` of those.
    pub(super) fn arguments(&self, i: usize) -> Arguments<'_> {
        self.batch.arguments(i, &self.bytes[self.done..]).collect()
    }

    /// Calls `run` with the arguments of request `i`: cheaper than keeping them.
    pub(super) fn with_arguments<T>(&self, i: usize, run: impl FnOnce(&[&[u8]]) -> T) -> T {
        self.batch.with_arguments(i, &self.bytes[self.done..], run)
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

    /// Takes all complete requests, up to the first that is wrong.
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

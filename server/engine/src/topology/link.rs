//! A connection between two servers of one process.

use crate::clients::{Outbox, Slot};
use crate::core::{Engine, Progress};
use lockwheel_resp::{Batch, RequestLimits, RequestParser};

/// A connection, seen from the server that has accepted it.
#[derive(Debug)]
pub(super) struct Link {
    /// The server that has accepted it.
    pub(super) to: usize,
    pub(super) slot: Slot,
    /// What has arrived there and has not been run.
    input: Vec<u8>,
    parser: RequestParser,
    batch: Batch,
}

impl Link {
    pub(super) fn new(to: usize, slot: Slot) -> Self {
        let (parser, batch) = (RequestParser::new(), Batch::new());
        Link { to, slot, input: Vec::new(), parser, batch }
    }

    /// Bytes arrive.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
    }

    /// Runs what has arrived, as far as the session may go; false when the connection is to be closed.
    pub(super) fn run(&mut self, engine: &mut Engine) -> bool {
        let limits = RequestLimits::default();
        while !self.input.is_empty() && self.may_run(engine) {
            let parsed = self.parser.parse(&self.input, &limits, &mut self.batch);
            let (requests, mut ran) = (self.batch.len(), 0);
            let mut progress = Progress::Continue;
            while ran < requests && progress == Progress::Continue {
                let slot = self.slot;
                progress = self.batch.with_arguments(ran, &self.input, |argv| engine.execute(slot, argv));
                ran += 1;
            }
            if ran == requests {
                self.input.drain(..self.batch.consumed());
            } else {
                self.input.drain(..self.batch.consumed_by(ran - 1));
                self.parser.reset();
            }
            if parsed.is_err() && ran == requests {
                return false;
            }
            if requests == 0 {
                break;
            }
        }
        engine.session(self.slot).closing().is_none()
    }

    fn may_run(&self, engine: &Engine) -> bool {
        let session = engine.session(self.slot);
        !session.is_blocked() && session.closing().is_none()
    }

    /// What the session has to say.
    pub(super) fn take_output(&self, engine: &mut Engine) -> Vec<u8> {
        let mut output = Outbox::default();
        engine.take_output(self.slot, &mut output);
        engine.buffers(self.slot).set_unwritten(0);
        output.bytes().to_vec()
    }
}

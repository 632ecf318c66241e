//! A connection between two servers of one process.

use crate::clients::{Outbox, Slot};
use crate::core::{Engine, Progress};
use lockwheel_resp::{Batch, RequestLimits, RequestParser, allocation};
use std::collections::VecDeque;

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
    /// What the other server has answered and has not arrived, with when it does, in milliseconds of the monotonic
    /// clock.
    on_its_way: VecDeque<(i64, Vec<u8>)>,
    /// Who has connected has closed it; the other end learns of it when it can.
    pub(super) has_ended: bool,
}

impl Link {
    pub(super) fn new(to: usize, slot: Slot) -> Self {
        let (parser, batch) = (RequestParser::new(), Batch::new());
        Link { to, slot, input: Vec::new(), parser, batch, on_its_way: VecDeque::new(), has_ended: false }
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
        engine.sessions().get(self.slot).closing().is_none()
    }

    fn may_run(&self, engine: &Engine) -> bool {
        let session = engine.sessions().get(self.slot);
        !session.is_blocked() && session.closing().is_none()
    }

    /// What the session has to say is on its way; what a replica is told takes so many milliseconds.
    pub(super) fn send_output(&mut self, engine: &mut Engine, lag_ms: i64) {
        if lag_ms == i64::MAX && engine.sessions().get(self.slot).is_replica {
            // It never goes: it stays with the session, whose limits count it.
            return;
        }
        let mut output = Outbox::default();
        engine.take_output(self.slot, &mut output);
        engine.sessions().buffers(self.slot).set_unwritten(0);
        if output.is_empty() {
            return;
        }
        let lag_ms = if engine.sessions().get(self.slot).is_replica { lag_ms } else { 0 };
        // Nothing overtakes what was sent before it.
        let last_ms = self.on_its_way.back().map_or(i64::MIN, |(at_ms, _)| *at_ms);
        let at_ms = engine.clock().now().monotonic_ms().saturating_add(lag_ms).max(last_ms);
        match allocation::contain(|| allocation::copy(output.bytes()).into_vec()) {
            Ok(bytes) => self.on_its_way.push_back((at_ms, bytes)),
            // Nothing follows what is lost: the other end connects anew, and asks for what it lacks.
            Err(_) => engine.cut_off(self.slot),
        }
    }

    /// What arrives at this instant, of the monotonic clock in milliseconds.
    pub(super) fn arrived(&mut self, now_ms: i64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while let Some((_, first)) = self.on_its_way.pop_front_if(|(at_ms, _)| *at_ms <= now_ms) {
            bytes.extend_from_slice(&first);
        }
        bytes
    }

    /// What is on its way arrives at that instant at the latest.
    pub(super) fn arrive_by(&mut self, by_ms: i64) {
        self.on_its_way.iter_mut().for_each(|(at_ms, _)| *at_ms = by_ms.min(*at_ms));
    }

    /// When the next of it arrives, if it does.
    pub(super) fn next_arrival(&self) -> Option<i64> {
        self.on_its_way.front().map(|(at_ms, _)| *at_ms).filter(|at_ms| *at_ms != i64::MAX)
    }
}

//! A connection between two servers of one process.

use crate::clients::{Outbox, Slot};
use crate::core::{Engine, Progress};
use lockwheel_resp::{Batch, RequestLimits, RequestParser, allocation};
use std::collections::VecDeque;

/// A connection, as the server that has accepted it sees it.
#[derive(Debug)]
pub(super) struct AcceptedLink {
    /// The place of the server that has accepted it.
    pub(super) to: usize,
    pub(super) slot: Slot,
    /// Bytes that have arrived there and have not been run.
    input: Vec<u8>,
    parser: RequestParser,
    batch: Batch,
    /// Answers that have not arrived yet, each with its instant of arrival in milliseconds of the monotonic clock.
    on_its_way: VecDeque<(i64, Vec<u8>)>,
    /// Whether the other server has closed the connection, which this one learns once it can be reached.
    pub(super) has_ended: bool,
}

impl AcceptedLink {
    pub(super) fn new(to: usize, slot: Slot) -> Self {
        let (parser, batch) = (RequestParser::new(), Batch::new());
        AcceptedLink {
            to,
            slot,
            input: Vec::new(),
            parser,
            batch,
            on_its_way: VecDeque::new(),
            has_ended: false,
        }
    }

    /// Adds bytes that have arrived.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
    }

    /// Runs the requests that have arrived and the session allows. `false`: the connection is to be closed.
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

    /// Takes the output of the session for delivery. Output for a replica is delayed by `lag_ms` milliseconds.
    pub(super) fn send_output(&mut self, engine: &mut Engine, lag_ms: i64) {
        if lag_ms == i64::MAX && engine.sessions().get(self.slot).is_replica {
            // An endless lag: the output stays with the session, so that its limits count it.
            return;
        }
        let mut output = Outbox::default();
        engine.take_output(self.slot, &mut output);
        engine.sessions().buffers(self.slot).set_unwritten(0);
        if output.is_empty() {
            return;
        }
        let lag_ms = if engine.sessions().get(self.slot).is_replica { lag_ms } else { 0 };
        // Bytes stay in order, so none arrive before the last ones that were sent.
        let last_ms = self.on_its_way.back().map_or(i64::MIN, |(at_ms, _)| *at_ms);
        let at_ms = engine.clock().now().monotonic_ms().saturating_add(lag_ms).max(last_ms);
        match allocation::contain(|| allocation::copy(output.bytes()).into_vec()) {
            Ok(bytes) => self.on_its_way.push_back((at_ms, bytes)),
            // After a loss, the connection cannot go on. The other end reconnects and asks for what it lacks.
            Err(_) => engine.cut_off(self.slot),
        }
    }

    /// Takes the bytes that have arrived by this instant, in milliseconds of the monotonic clock.
    pub(super) fn arrived(&mut self, now_ms: i64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while let Some((_, first)) = self.on_its_way.pop_front_if(|(at_ms, _)| *at_ms <= now_ms) {
            bytes.extend_from_slice(&first);
        }
        bytes
    }

    /// Limits the instants of arrival to at most `by_ms`.
    pub(super) fn arrive_by(&mut self, by_ms: i64) {
        self.on_its_way.iter_mut().for_each(|(at_ms, _)| *at_ms = by_ms.min(*at_ms));
    }

    /// Returns the instant of the next arrival, in milliseconds. `None` if there is none.
    pub(super) fn next_arrival(&self) -> Option<i64> {
        self.on_its_way.front().map(|(at_ms, _)| *at_ms).filter(|at_ms| *at_ms != i64::MAX)
    }
}
